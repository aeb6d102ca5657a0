"""Trains ResNet-50 to tell images apart by the pattern in them.

The network is that of He et al. 2016 ("Deep residual learning for image recognition") with the stride in the 3 x 3 convolution. Images are
drawn by the program, so that it needs no files: each class is a pattern of its own under noise.

`python examples/pytorch/resnet50.py --small` prints the loss of each step; `--bf16` computes in mixed precision.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from command_line import conclude, introduce, options_of
from torch import Tensor, nn
from torch.nn import functional

# Blocks of each of the four widths.
BLOCKS = (3, 4, 6, 3)


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.reduce, self.norm1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.filter, self.norm2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.expand, self.norm3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        # A block begins as its shortcut, so that deep networks learn from the first step (Goyal et al. 2017).
        nn.init.zeros_(self.norm3.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Images of shape (batch, inputs, rows, columns) to (batch, 4 width, rows / stride, columns / stride)."""
        y = functional.relu(self.norm1(self.reduce(x)))
        y = functional.relu(self.norm2(self.filter(y)))
        return functional.relu(self.norm3(self.expand(y)) + self.shortcut(x))


class ResNet50(nn.Module):
    """50 layers of convolutions, then one of classes; `width` is that of the first block, 64 in the paper."""

    def __init__(self, classes: int, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        blocks: list[nn.Module] = []
        inputs = width
        for stage, count in enumerate(BLOCKS):
            for place in range(count):
                blocks.append(Bottleneck(inputs, width << stage, 2 if stage and not place else 1))
                inputs = 4 * (width << stage)
        self.blocks, self.classes = nn.Sequential(*blocks), nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Images of shape (batch, 3, rows, columns) to scores of shape (batch, classes)."""
        return self.classes(self.blocks(self.stem(images)).mean((2, 3)))


def images_of(patterns: Tensor, batch: int) -> tuple[Tensor, Tensor]:
    """Images of shape (batch, 3, size, size), and the class of each."""
    classes = torch.randint(len(patterns), (batch,), device=patterns.device)
    return patterns[classes] + torch.randn(batch, *patterns.shape[1:], device=patterns.device), classes


def main(arguments: Sequence[str] | None = None) -> list[float]:
    """Trains, and returns the loss of each step."""
    flags = {"bf16": "compute in mixed precision"}
    options = options_of(__doc__, arguments, flags=flags, steps=20, batch=8, classes=10)
    device = torch.device(options.device)
    torch.manual_seed(options.seed)
    size, width = (32, 8) if options.small else (224, 64)
    model = ResNet50(options.classes, width).to(device)
    patterns = torch.randn(options.classes, 3, size, size, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    introduce(model, device)
    losses: list[float] = []
    start_s = time.perf_counter()
    for step in range(options.steps):
        images, classes = images_of(patterns, options.batch)
        with torch.autocast(device.type, torch.bfloat16, enabled=options.bf16):
            loss = functional.cross_entropy(model(images), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        print(f"step {step + 1}: loss {losses[-1]:.4f}")
    conclude(device, "images", options.steps * options.batch, start_s)
    return losses


if __name__ == "__main__":
    main()
