"""The process of one contender: `python graph_networks_worker.py eager|jit|torch|compile`, commanded by JSON lines.

It needs nothing of this project when it is PyTorch's. Both networks are written once, for either library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HEADS, WIDTH, LAYERS, WORDS, TOKENS = 12, 768, 12, 30_522, 128
# Width of the inner convolutions, blocks, and the stride of the first block of each stage of ResNet-50.
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))


@dataclass(frozen=True)
class Library:
    """What the networks ask of a library of arrays."""

    array: Callable[[Any], Any]
    embedding: Callable[[Any, Any], Any]
    layer_norm: Callable[[Any, Any, Any], Any]
    linear: Callable[[Any, Any, Any], Any]
    attention: Callable[[Any, Any, Any, Any], Any]
    gelu: Callable[[Any], Any]
    transposed: Callable[[Any], Any]
    conv2d: Callable[[Any, Any, int, int], Any]
    batch_norm: Callable[[Any, Any], Any]
    relu: Callable[[Any], Any]
    max_pool: Callable[[Any], Any]
    mean: Callable[[Any], Any]


def as_floats(values: Any, dtype: str) -> Any:
    """Floating-point numbers in `dtype`, others as they are."""
    return values.astype(dtype) if values.dtype.kind == "f" else values


def ours(device: str = "cpu:0", dtype: str = "float32") -> Library:
    """With `amdgpu.ops`; floating-point numbers become `dtype`."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))
    import amdgpu
    from amdgpu import ops

    def attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
        scores = (q @ k.transpose(0, 1, 3, 2)) * (WIDTH // HEADS) ** -0.5 + mask
        return ops.softmax(scores) @ v

    return Library(
        array=lambda values: amdgpu.array(as_floats(values, dtype), device=device),
        embedding=ops.embedding,
        layer_norm=lambda x, g, b: ops.layer_norm(x, WIDTH, g, b, eps=1e-12),
        linear=lambda x, w, b: x @ w + b,
        attention=attention,
        gelu=ops.gelu,
        transposed=lambda x: x.transpose(0, 2, 1, 3),
        conv2d=lambda x, w, stride, padding: ops.conv2d(x, w, stride=stride, padding=padding),
        batch_norm=lambda x, p: ops.batch_norm(x, p[2], p[3], weight=p[0], bias=p[1]),
        relu=ops.relu,
        max_pool=lambda x: ops.max_pool2d(x, 3, stride=2, padding=1),
        mean=lambda x: amdgpu.mean(x, axis=(2, 3)),
    )


def torch(device: str = "cpu", dtype: str = "float32") -> Library:
    """With `torch.nn.functional`, weights as its layers hold them; floating-point numbers become `dtype`."""
    import torch as library
    from torch.nn import functional

    if "OMP_NUM_THREADS" in os.environ:
        library.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    library.set_grad_enabled(False)
    return Library(
        array=lambda values: library.from_numpy(as_floats(values, dtype)).to(device),
        embedding=functional.embedding,
        layer_norm=lambda x, g, b: functional.layer_norm(x, (WIDTH,), g, b, eps=1e-12),
        linear=lambda x, w, b: functional.linear(x, w.T, b),
        attention=lambda q, k, v, mask: functional.scaled_dot_product_attention(q, k, v, attn_mask=mask),
        gelu=functional.gelu,
        transposed=lambda x: x.transpose(1, 2),
        conv2d=lambda x, w, stride, padding: functional.conv2d(x, w, stride=stride, padding=padding),
        batch_norm=lambda x, p: functional.batch_norm(x, p[2], p[3], p[0], p[1]),
        relu=functional.relu,
        max_pool=lambda x: functional.max_pool2d(x, 3, stride=2, padding=1),
        mean=lambda x: x.mean((2, 3)),
    )


def bert(library: Library, batch: int) -> tuple[Callable[..., Any], list[Any]]:
    """BERT-base (Devlin et al. 2019) without its pooler, random weights, 128 tokens."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> Any:
        return library.array((rng.standard_normal(shape) * 0.02).astype(np.float32))

    def norm() -> tuple[Any, Any]:
        return library.array(np.ones(WIDTH, np.float32)), weights(WIDTH)

    words, places, kinds, first = weights(WORDS, WIDTH), weights(512, WIDTH), weights(2, WIDTH), norm()
    layers = [
        {
            **{name: (weights(WIDTH, WIDTH), weights(WIDTH)) for name in "qkvo"},
            "in": (weights(WIDTH, 4 * WIDTH), weights(4 * WIDTH)),
            "out": (weights(4 * WIDTH, WIDTH), weights(WIDTH)),
            "norms": (norm(), norm()),
        }
        for _ in range(LAYERS)
    ]

    def forward(ids: Any, mask: Any) -> Any:
        x = library.layer_norm(library.embedding(ids, words) + places[:TOKENS] + kinds[0], *first)
        for layer in layers:
            q, k, v = (
                library.transposed(library.linear(x, *layer[name]).reshape(batch, TOKENS, HEADS, WIDTH // HEADS))
                for name in "qkv"
            )
            seen = library.transposed(library.attention(q, k, v, mask)).reshape(batch, TOKENS, WIDTH)
            x = library.layer_norm(library.linear(seen, *layer["o"]) + x, *layer["norms"][0])
            inner = library.gelu(library.linear(x, *layer["in"]))
            x = library.layer_norm(library.linear(inner, *layer["out"]) + x, *layer["norms"][1])
        return x

    given = np.random.default_rng(1)
    ids = library.array(given.integers(0, WORDS, (batch, TOKENS)))
    return forward, [ids, library.array(np.zeros((batch, 1, 1, TOKENS), np.float32))]


def resnet(library: Library, batch: int) -> tuple[Callable[..., Any], list[Any]]:
    """ResNet-50 (He et al. 2016) with strides in the 3 x 3 windows, random weights, images of 224 x 224."""
    rng = np.random.default_rng(0)

    def layer(outputs: int, inputs: int, window: int) -> tuple[Any, tuple[Any, ...]]:
        scale = (2 / (inputs * window * window)) ** 0.5
        weight = rng.standard_normal((outputs, inputs, window, window)) * scale
        statistics = (rng.uniform(0.5, 1.5, outputs) for _ in range(4))
        return library.array(weight.astype(np.float32)), tuple(
            library.array(one.astype(np.float32)) for one in statistics
        )

    stem, channels, blocks = layer(64, 3, 7), 64, []
    for width, count, stride in STAGES:
        for place in range(count):
            shortcut = layer(4 * width, channels, 1) if place == 0 else None
            inner = (layer(width, channels, 1), layer(width, width, 3), layer(4 * width, width, 1))
            blocks.append((inner, shortcut, stride if place == 0 else 1))
            channels = 4 * width
    last = library.array((rng.standard_normal((channels, 1000)) * 0.02).astype(np.float32))
    bias = library.array(np.zeros(1000, np.float32))

    def step(x: Any, weights: Any, stride: int = 1, padding: int = 0) -> Any:
        return library.batch_norm(library.conv2d(x, weights[0], stride, padding), weights[1])

    def forward(x: Any) -> Any:
        x = library.max_pool(library.relu(step(x, stem, 2, 3)))
        for (first, second, third), shortcut, stride in blocks:
            y = library.relu(step(x, first))
            y = step(library.relu(step(y, second, stride, 1)), third)
            x = library.relu(y + (x if shortcut is None else step(x, shortcut, stride)))
        return library.linear(library.mean(x), last, bias)

    images = np.random.default_rng(1).standard_normal((batch, 3, 224, 224), dtype=np.float32)
    return forward, [library.array(images)]


MODELS = {"ResNet-50": resnet, "BERT-base": bert}


def prepared(contender: str, command: dict[str, Any]) -> Callable[[], Any]:
    """A call of the network, after one whose result is kept in a file."""
    library = ours() if contender in ("eager", "jit") else torch()
    forward, arguments = MODELS[command["model"]](library, command["batch"])
    if contender == "jit":
        import amdgpu

        forward = amdgpu.jit(forward)
    elif contender == "compile":
        import torch as compiler

        forward = compiler.compile(forward)
    np.save(command["result"], np.asarray(forward(*arguments)))
    return lambda: forward(*arguments)


def main(contender: str) -> None:
    """Answers commands until the input ends."""
    print(json.dumps({"about": contender}), flush=True)
    call: Callable[[], Any] = lambda: None  # noqa: E731  (replaced by the first command)
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any] = {}
        if command["do"] == "prepare":
            call = prepared(contender, command)
        else:
            least = float("inf")
            for _ in range(command["count"]):
                start = time.perf_counter()
                call()
                least = min(least, time.perf_counter() - start)
            answer["seconds"] = least
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
