"""Random words in the order in which PyTorch and TensorFlow draw them, and normal numbers of TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.array import dtype_name
from amdgpu.device import default_device

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu._native import Array

__all__ = ["tensorflow_bits", "tensorflow_normal", "tensorflow_stateless_key", "torch_bits", "torch_layout"]

_MOST_WORD = 2**64 - 1
_MOST_COUNTER = 2**128 - 1
_MOST_THREADS = 2**32 - 1


def torch_layout(count: int, multiprocessors: int, *, threads_each: int = 2048, unroll: int = 4) -> tuple[int, int]:
    """How PyTorch spreads a draw over a CUDA device.

    Args:
        count: Elements of the draw.
        multiprocessors: Multiprocessors of the device (132 of an H100).
        threads_each: Threads that each of them holds at most.
        unroll: Elements that a thread makes of a block: 4, or 2 for float64.

    Returns:
        The number of threads of the grid, and what the generator's offset grows by.

    Source: `calc_execution_policy` in PyTorch's `ATen/native/cuda/DistributionTemplates.h`.

    Example:
        >>> import amdgpu
        >>> amdgpu.random.torch_layout(1000, 132)
        (1024, 4)
    """
    return _native.random_torch_layout(
        arguments.count("torch_layout", "count", count),
        arguments.count("torch_layout", "multiprocessors", multiprocessors, 1, _MOST_THREADS),
        arguments.count("torch_layout", "threads_each", threads_each, 256, 65536),
        arguments.count("torch_layout", "unroll", unroll, 1, 4),
    )


def torch_bits(count: int, seed: int, threads: int, *, offset: int = 0, device: Any = None) -> Array:
    """The words that PyTorch's CUDA kernels make numbers of, in the order of the elements.

    Thread t has subsequence t of cuRAND's Philox4x32-10; its word w of iteration i belongs to element `(4 * i + w) * threads + t`.

    Args:
        count: Number of words.
        seed: What `torch.manual_seed` was given, from 0 on below 2**64.
        threads: Threads of the grid, as `torch_layout` says.
        offset: The generator's offset, a multiple of 4.
        device: Where they are drawn; None means the current device.

    Returns:
        uint32 words; `words * 2**-32 + 2**-33`, with 1 replaced by 0, is `torch.rand` in float32.

    Raises:
        InvalidArgumentError: An offset that is no multiple of 4, or a count or number outside of its range.

    Example:
        >>> import amdgpu
        >>> words = amdgpu.random.torch_bits(3, 0, 256)  # torch.manual_seed(0); torch.rand(3, device="cuda")
        >>> [round(x * 2.0**-32, 4) for x in words.tolist()]
        [0.399, 0.5167, 0.0249]
    """
    return _native.random_torch_bits(
        arguments.count("torch_bits", "count", count),
        arguments.count("torch_bits", "seed", seed, 0, _MOST_WORD),
        arguments.count("torch_bits", "offset", offset, 0, _MOST_WORD),
        arguments.count("torch_bits", "threads", threads, 1, _MOST_THREADS),
        default_device(device),
    )


def tensorflow_bits(count: int, key: int, counter: int, *, device: Any = None) -> Array:
    """The words of TensorFlow's `PhiloxRandom`: element i is word i % 4 of the block at `counter + i // 4`.

    Args:
        count: Number of words.
        key: 64 bits.
        counter: 128 bits, the low ones first counted.
        device: Where they are drawn; None means the current device.

    Returns:
        uint32 words.

    Source: `tsl/lib/random/philox_random.h` of TensorFlow.

    Example:
        >>> import amdgpu
        >>> [hex(x) for x in amdgpu.random.tensorflow_bits(2, 0, 0).tolist()]
        ['0x6627e8d5', '0xe169c58d']
    """
    return _native.random_tensorflow_bits(
        arguments.count("tensorflow_bits", "count", count),
        arguments.count("tensorflow_bits", "key", key, 0, _MOST_WORD),
        arguments.count("tensorflow_bits", "counter", counter, 0, _MOST_COUNTER),
        default_device(device),
    )


def tensorflow_normal(
    count: int,
    key: int,
    counter: int,
    *,
    dtype: npt.DTypeLike = "float32",
    truncated: bool = False,
    device: Any = None,
) -> Array:
    """The standard normal numbers that TensorFlow draws from a key and a counter.

    Of 4 million numbers in float32, 98.5 of 100 have the bits of TensorFlow's CPU and none is off by more than 3 units in the last place:
    logarithm, sine and cosine are those of float64, rounded.

    Args:
        count: Number of elements.
        key: 64 bits.
        counter: 128 bits, the low ones first counted.
        dtype: float16, bfloat16 (both rounded from float32), float32 or float64.
        truncated: Whether numbers beyond two standard deviations are drawn again, as for initial weights.
        device: Where they are drawn; None means the current device.

    Returns:
        An array with one axis.

    Raises:
        UnsupportedDtypeError: Another dtype.

    Source: `tsl/lib/random/random_distributions.h` of TensorFlow; Box and Muller, "A note on the generation of random normal
    deviates", 1958.

    Example:
        >>> import amdgpu
        >>> key, counter = amdgpu.random.tensorflow_stateless_key((1, 2))
        >>> numbers = amdgpu.random.tensorflow_normal(3, key, counter)  # tf.random.stateless_normal([3], (1, 2))
        >>> [round(x, 4) for x in numbers.tolist()]
        [0.5441, 0.2074, 0.0736]
    """
    return _native.random_tensorflow_normal(
        arguments.count("tensorflow_normal", "count", count),
        arguments.count("tensorflow_normal", "key", key, 0, _MOST_WORD),
        arguments.count("tensorflow_normal", "counter", counter, 0, _MOST_COUNTER),
        dtype_name(dtype),
        truncated,
        default_device(device),
    )


def tensorflow_stateless_key(seed: tuple[int, int]) -> tuple[int, int]:
    """Key and counter that TensorFlow's stateless operations draw with for a seed of two numbers below 2**64.

    Source: `GenerateKey` in `tensorflow/core/kernels/stateless_random_ops.cc`.

    Example:
        >>> import amdgpu
        >>> key, counter = amdgpu.random.tensorflow_stateless_key((1, 2))
        >>> counter % 2**64
        0
    """
    first, second = seed
    numbers = [arguments.count("tensorflow_stateless_key", "seed", one, 0, _MOST_WORD) for one in (first, second)]
    return _native.random_tensorflow_stateless(numbers, default_device("cpu:0"))
