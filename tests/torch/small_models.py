"""Networks of usual kinds at a size that a test can train."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


class Bottleneck(nn.Module):
    """Three convolutions beside a shortcut (He et al. 2016)."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = 4 * width
        self.branch = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.branch(x) + self.shortcut(x))


def residual_network(width: int = 8, classes: int = 10) -> nn.Module:
    """ResNet with one block for each of its four widths."""
    layers: list[nn.Module] = [
        nn.Conv2d(3, width, 7, 2, 3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2, 1),
    ]
    inputs = width
    for place in range(4):
        layers.append(Bottleneck(inputs, width << place, 2 if place else 1))
        inputs = 4 * (width << place)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes))


class Attention(nn.Module):
    """Attention with several heads."""

    def __init__(self, width: int, heads: int, *, is_causal: bool = False) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.is_causal = heads, is_causal

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.inner(x).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.is_causal)
        return self.outer(seen.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a network of two layers, each normalised and beside a shortcut."""

    def __init__(self, width: int, heads: int, *, is_causal: bool = False, dropout: float = 0.0) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, is_causal=is_causal)
        gelu = nn.GELU(approximate="tanh" if is_causal else "none")
        self.network = nn.Sequential(
            nn.Linear(width, 4 * width), gelu, nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.first(x), mask)
        return x + self.network(self.second(x))


class Encoder(nn.Module):
    """BERT with two blocks and a classifier."""

    def __init__(self, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.words, self.places, self.kinds = (
            nn.Embedding(50, 32, padding_idx=0),
            nn.Embedding(32, 32),
            nn.Embedding(2, 32),
        )
        self.norm = nn.LayerNorm(32, eps=1e-12)
        self.blocks = nn.ModuleList(Block(32, 4, dropout=dropout) for _ in range(2))
        self.pool, self.classes = nn.Linear(32, 32), nn.Linear(32, 3)

    def forward(self, words: Tensor) -> Tensor:
        batch, length = words.shape
        mask = (words != 0)[:, None, None, :].expand(batch, 1, length, length)
        places = torch.arange(length, device=words.device)[None]
        x = self.norm(self.words(words) + self.places(places) + self.kinds(torch.zeros_like(words)))
        for block in self.blocks:
            x = block(x, mask)
        return self.classes(torch.tanh(self.pool(x[:, 0])))


class Decoder(nn.Module):
    """GPT-2 with two blocks, whose output shares the table of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(50, 32), nn.Embedding(32, 32), nn.LayerNorm(32)
        self.blocks = nn.ModuleList(Block(32, 4, is_causal=True) for _ in range(2))

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words) + self.places(torch.arange(words.shape[1], device=words.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.T


class VisionTransformer(nn.Module):
    """ViT with one block."""

    def __init__(self) -> None:
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.zeros(1, 1, 32))
        self.places, self.block = nn.Parameter(torch.randn(1, 17, 32) * 0.02), Block(32, 4)
        self.norm, self.classes = nn.LayerNorm(32), nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.classes(self.norm(self.block(x))[:, 0])


class Segmentation(nn.Module):
    """U-Net with one step down and up (Ronneberger et al. 2015)."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.middle, self.merged = self._step(3, 8), self._step(8, 16), self._step(24, 8)
        self.up, self.classes = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(8, 2, 1)

    @staticmethod
    def _step(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, 1, 1), nn.GroupNorm(4, outputs), nn.SiLU())

    def forward(self, x: Tensor) -> Tensor:
        fine = self.down(x)
        coarse = self.middle(functional.max_pool2d(fine, 2))
        up = self.up(coarse) + functional.interpolate(coarse, scale_factor=2, mode="nearest")
        return self.classes(self.merged(torch.cat([fine, up], 1)))


class Recurrent(nn.Module):
    """An LSTM over words."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.cells = nn.Embedding(50, 16), nn.LSTM(16, 12, 2, batch_first=True, bidirectional=True)
        self.classes = nn.Linear(24, 3)

    def forward(self, words: Tensor) -> Tensor:
        return self.classes(self.cells(self.words(words))[0][:, -1])


class Denoiser(nn.Module):
    """A block of a diffusion model: convolutions that know the time, and attention."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.time, self.block = nn.GroupNorm(4, 16), nn.Linear(16, 16), Block(16, 2)
        self.first, self.second = nn.Conv2d(16, 16, 3, 1, 1), nn.Conv2d(16, 16, 3, 1, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        angles = time[:, None].to(x.dtype) * torch.exp(-torch.arange(8, device=x.device, dtype=x.dtype))
        moment = self.time(functional.silu(torch.cat([angles.sin(), angles.cos()], -1)))
        x = x + self.second(functional.silu(self.first(functional.silu(self.norm(x))) + moment[:, :, None, None]))
        return self.block(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(x.shape)
