"""Trains BERT on hidden words, then fine-tunes it to classify texts.

The network is that of Devlin et al. 2019 ("BERT: pre-training of deep bidirectional transformers for language
understanding"): its base size, or with `--small` two layers. Texts are drawn by the program, so that it needs no files:
words come in pairs, of which BERT learns to fill in the hidden one, and a text is of class 1 where first words of the upper
half outnumber those of the lower. `--weights FILE` begins with those that `--save FILE` has written.

`python examples/pytorch/bert.py --small` prints the loss of both parts and how many unseen texts were classified right; chance is 0.5.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from command_line import conclude, introduce, options_of
from torch import Tensor, nn
from torch.nn import functional

# The first words of the vocabulary mean something else: padding, the place that is classified, a hidden word.
PADDING, CLASSIFIED, HIDDEN, FIRST_WORD = 0, 1, 2, 4


@dataclass(frozen=True)
class Size:
    """Sizes of a network; those of the base model unless given."""

    words: int = 30_522
    places: int = 512
    width: int = 768
    layers: int = 12
    heads: int = 12
    dropout: float = 0.1


SMALL = Size(words=36, places=32, width=32, layers=2, heads=4, dropout=0.0)


class Layer(nn.Module):
    """Attention to all words and a network of two layers, each beside a shortcut and normalised behind it."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads, self.dropout = size.heads, size.dropout
        self.inner, self.outer = nn.Linear(size.width, 3 * size.width), nn.Linear(size.width, size.width)
        self.wide, self.narrow = nn.Linear(size.width, 4 * size.width), nn.Linear(4 * size.width, size.width)
        self.norm1, self.norm2 = nn.LayerNorm(size.width, eps=1e-12), nn.LayerNorm(size.width, eps=1e-12)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Texts of shape (batch, words, width); `mask` is true for words that are looked at."""
        batch, count, width = x.shape
        q, k, v = self.inner(x).view(batch, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        rate = self.dropout if self.training else 0.0
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate)
        seen = self.outer(seen.transpose(1, 2).reshape(batch, count, width))
        x = self.norm1(x + functional.dropout(seen, rate))
        return self.norm2(x + functional.dropout(self.narrow(functional.gelu(self.wide(x))), rate))


class Bert(nn.Module):
    """The encoder, with one output for hidden words and one for classes."""

    def __init__(self, size: Size, classes: int) -> None:
        super().__init__()
        self.words = nn.Embedding(size.words, size.width, padding_idx=PADDING)
        self.places, self.norm = nn.Embedding(size.places, size.width), nn.LayerNorm(size.width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(size) for _ in range(size.layers))
        self.pool, self.classes = nn.Linear(size.width, size.width), nn.Linear(size.width, classes)
        self.apply(self._start)

    @staticmethod
    def _start(module: nn.Module) -> None:
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=0.5 / math.sqrt(module.weight.shape[-1]))

    def encoded(self, words: Tensor) -> Tensor:
        """Words of shape (batch, words) to vectors of shape (batch, words, width)."""
        places = torch.arange(words.shape[1], device=words.device)
        x = self.norm(self.words(words) + self.places(places))
        mask = (words != PADDING)[:, None, None, :].expand(-1, 1, words.shape[1], -1)
        for layer in self.layers:
            x = layer(x, mask)
        return x

    def hidden_words(self, words: Tensor) -> Tensor:
        """Scores of every word of the vocabulary at each place: shape (batch, words, vocabulary)."""
        return self.encoded(words) @ self.words.weight.T

    def forward(self, words: Tensor) -> Tensor:
        """Scores of the classes, of what stands at the first place: shape (batch, classes)."""
        return self.classes(torch.tanh(self.pool(self.encoded(words)[:, 0])))


def texts_of(size: Size, batch: int, count: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Texts of pairs of words, the second one the first one's partner, and the class of each; shapes (batch, 1 + count) and (batch,)."""
    half = (size.words - FIRST_WORD) // 2
    # The share of words of the upper half differs from text to text, so that classes are not always close.
    share = torch.rand(batch, 1, device=device)
    first = torch.randint(half // 2, (batch, count // 2), device=device)
    first = first + (torch.rand(batch, count // 2, device=device) < share) * (half // 2)
    words = torch.stack([FIRST_WORD + first, FIRST_WORD + half + first], 2).flatten(1)
    classes = (first >= half // 2).float().mean(1) > 0.5
    start = torch.full((batch, 1), CLASSIFIED, device=device)
    return torch.cat([start, words], 1), classes.long()


def masked_loss(model: Bert, words: Tensor) -> Tensor:
    """How badly hidden words, one in seven, are filled in."""
    is_hidden = (torch.rand(words.shape, device=words.device) < 0.15) & (words >= FIRST_WORD)
    wanted = words.masked_fill(~is_hidden, -100)
    scores = model.hidden_words(words.masked_fill(is_hidden, HIDDEN))
    return functional.cross_entropy(scores.flatten(0, 1), wanted.flatten())


def train(model: Bert, size: Size, count: int, *, steps: int, batch: int, rate: float, is_masked: bool) -> list[float]:
    """The loss of each step; the rate rises over the first tenth of the steps and falls to zero."""
    device = model.pool.weight.device
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=device.type == "rdna")
    rises = max(steps // 10, 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rises, (steps - step) / max(steps - rises, 1))
    )
    losses: list[float] = []
    model.train()
    for step in range(steps):
        words, classes = texts_of(size, batch, count, device)
        loss = masked_loss(model, words) if is_masked else functional.cross_entropy(model(words), classes)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if (step + 1) % max(steps // 5, 1) == 0:
            print(f"{'hidden words' if is_masked else 'classes'}, step {step + 1}: loss {losses[-1]:.4f}")
    return losses


@torch.no_grad()
def accuracy_of(model: Bert, size: Size, count: int) -> float:
    """Share of unseen texts whose class is right."""
    model.eval()
    words, classes = texts_of(size, 128, count, model.pool.weight.device)
    return float((model(words).argmax(1) == classes).float().mean())


def main(arguments: Sequence[str] | None = None) -> float:
    """Trains, and returns the share of unseen texts that were classified right."""
    files = {"weights": "weights to begin with", "save": "where the weights are written"}
    options = options_of(__doc__, arguments, files=files, steps=60, batch=16, length=16)
    device, size = torch.device(options.device), SMALL if options.small else Size()
    torch.manual_seed(options.seed)
    model = Bert(size, classes=2).to(device)
    if options.weights:
        model.load_state_dict(torch.load(options.weights, map_location=device))
    introduce(model, device)
    rate, start_s = 4e-3 if options.small else 1e-4, time.perf_counter()
    common = {"steps": options.steps, "batch": options.batch}
    train(model, size, options.length, rate=rate, is_masked=True, **common)
    train(model, size, options.length, rate=rate / 2, is_masked=False, **common)
    conclude(device, "texts", 2 * options.steps * options.batch, start_s)
    found = accuracy_of(model, size, options.length)
    print(f"{found:.1%} of unseen texts classified right")
    if options.save:
        torch.save(model.state_dict(), options.save)
    return found


if __name__ == "__main__":
    main()
