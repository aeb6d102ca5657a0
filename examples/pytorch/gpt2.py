"""Lets GPT-2 learn a text by heart and write it down again, with a cache of keys and values.

The network is that of Radford et al. 2019 ("Language models are unsupervised multitask learners"), 124 million parameters or with `--small`
two layers; its words are the 256 bytes, so that it needs no table of words. Without a cache every new byte costs attention for all bytes
before it again; with one, each layer keeps keys and values and computes those of the new byte alone. Both ways write the same.

`python examples/pytorch/gpt2.py --small` prints the text and how many bytes a second each way writes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
from command_line import conclude, introduce, options_of
from torch import Tensor, nn
from torch.nn import functional

TEXT = (
    "The quick brown fox jumps over the lazy dog. Pack my box with five dozen liquor jugs. "
    "How vexingly quick daft zebras jump! Sphinx of black quartz, judge my vow. "
)


class Cache:
    """Keys and values of all layers, with room for as many bytes as are written."""

    def __init__(self, model: Gpt2, batch: int, length: int) -> None:
        like = model.words.weight
        shape = (2, len(model.layers), batch, model.heads, length, like.shape[1] // model.heads)
        self.known = torch.zeros(shape, device=like.device, dtype=like.dtype)
        self.length = 0

    def extended(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a layer so far, the given ones behind those that are known; shapes (batch, heads, bytes, width)."""
        end = self.length + keys.shape[2]
        for place, new in enumerate((keys, values)):
            self.known[place, layer, :, :, self.length : end] = new
        return self.known[0, layer, :, :, :end], self.known[1, layer, :, :, :end]


class Layer(nn.Module):
    """Attention to what stands before, and a network of two layers, each normalised and beside a shortcut."""

    def __init__(self, place: int, width: int, heads: int) -> None:
        super().__init__()
        self.place, self.heads = place, heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor, cache: Cache | None) -> Tensor:
        """Vectors of shape (batch, bytes, width), which with a cache go on behind those that it knows."""
        batch, count, width = x.shape
        q, k, v = (
            self.inner(self.norm1(x)).view(batch, count, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        )
        # One byte behind a cache sees all of it; several at once see each other up to their own places.
        is_causal = count > 1
        if cache is not None:
            k, v = cache.extended(self.place, k, v)
        seen = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
        x = x + self.outer(seen.transpose(1, 2).reshape(batch, count, width))
        return x + self.narrow(functional.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """The decoder; scores of the next byte come from the table of bytes itself."""

    def __init__(self, *, width: int = 768, layers: int = 12, heads: int = 12, places: int = 1024) -> None:
        super().__init__()
        self.heads = heads
        self.words, self.places = nn.Embedding(256, width), nn.Embedding(places, width)
        self.layers = nn.ModuleList(Layer(place, width, heads) for place in range(layers))
        self.norm = nn.LayerNorm(width)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, words: Tensor, cache: Cache | None = None) -> Tensor:
        """Bytes of shape (batch, bytes) to scores of the byte behind each: shape (batch, bytes, 256).

        A cache may hold bytes before them; then one byte is given at a time.
        """
        start = 0 if cache is None else cache.length
        places = torch.arange(start, start + words.shape[1], device=words.device)
        x = self.words(words) + self.places(places)
        for layer in self.layers:
            x = layer(x, cache)
        if cache is not None:
            cache.length += words.shape[1]
        return self.norm(x) @ self.words.weight.T


@torch.no_grad()
def written(model: Gpt2, start: Tensor, count: int, *, has_cache: bool) -> Tensor:
    """The likeliest `count` bytes behind those of `start`: shape (batch, bytes + count)."""
    cache = Cache(model, len(start), start.shape[1] + count) if has_cache else None
    words = start
    for _ in range(count):
        given = words if cache is None or cache.length == 0 else words[:, -1:]
        words = torch.cat([words, model(given, cache)[:, -1].argmax(-1, keepdim=True)], 1)
    return words


def learn(model: Gpt2, text: Tensor, *, steps: int, batch: int, length: int) -> float:
    """Learns pieces of the text; returns the last loss."""
    rate = 4e-3 if model.words.weight.shape[1] < 768 else 3e-4
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, fused=text.device.type == "rdna")
    offsets = torch.arange(length + 1, device=text.device)
    loss = text.new_zeros((), dtype=torch.float32)
    for step in range(steps):
        starts = torch.randint(len(text) - length, (batch, 1), device=text.device)
        pieces = text[starts + offsets]
        loss = functional.cross_entropy(model(pieces[:, :-1]).flatten(0, 1), pieces[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % max(steps // 5, 1) == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    return loss.item()


def main(arguments: Sequence[str] | None = None) -> tuple[str, str]:
    """Learns and writes; returns what was written with a cache and without one."""
    options = options_of(__doc__, arguments, steps=400, batch=8, bytes=48)
    device = torch.device(options.device)
    torch.manual_seed(options.seed)
    model = (Gpt2(width=64, layers=2, heads=4, places=256) if options.small else Gpt2()).to(device)
    introduce(model, device)
    text = torch.tensor(list(TEXT.encode()), device=device)
    learn(model, text, steps=options.steps, batch=options.batch, length=64)
    model.eval()
    found = []
    for has_cache in (True, False):
        start_s = time.perf_counter()
        words = written(model, text[None, :16], options.bytes, has_cache=has_cache)
        found.append(bytes(words[0].tolist()).decode(errors="replace"))
        print(f"{'with' if has_cache else 'without'} a cache: {found[-1]!r}")
        conclude(device, "bytes", options.bytes, start_s)
    return found[0], found[1]


if __name__ == "__main__":
    main()
