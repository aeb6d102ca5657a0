"""Attention (Vaswani et al. 2017), computed block by block (Dao et al. 2022): no matrix of queries by keys is in memory."""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = ["scaled_dot_product_attention", "scaled_dot_product_attention_gradient"]


def scaled_dot_product_attention(
    q: Any, k: Any, v: Any, *, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> Any:
    """softmax(q k^T scale + mask) v, as one operation.

    Args:
        q: Queries, floats of shape (batch..., heads, length, size), or (length, size).
        k: Keys of shape (batch..., key heads, keys, size). The heads of q are a multiple of the key heads, each of which
            serves as many.
        v: Values of shape (batch..., key heads, keys, value size).
        mask: Broadcast to (batch..., heads, length, keys): truth values, where True lets a query see a key, or values of
            the dtype of q that are added to the scores. None for every key.
        is_causal: True where query i sees keys 0 to i alone; beside a mask, what both let it see.
        scale: Factor of the scores; None for 1 / sqrt(size).

    Returns:
        Values of the dtype of q, of shape (batch..., heads, length, value size). A query that sees no key gets zeros.
        float16 and bfloat16 are computed in float32 and rounded once.

    Raises:
        InvalidTypeError: `scale` is no number, `is_causal` no truth value.
        ShapeMismatchError: The shapes do not fit.
        UnsupportedDtypeError: Not floats, or floats of two dtypes.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.scaled_dot_product_attention([[0.0], [0.0]], [[1.0], [2.0]], [[4.0], [8.0]], is_causal=True).tolist()
        [[4.0], [6.0]]

    Source: `torch.nn.functional.scaled_dot_product_attention`.
    """
    options = _options("scaled_dot_product_attention", is_causal, scale)
    arrays = (q, k, v, mask)
    return placement.run(("attention", "scaled_dot_product_attention"), arrays, *arrays, **options)


def scaled_dot_product_attention_gradient(
    q: Any, k: Any, v: Any, gradient: Any, *, mask: Any = None, is_causal: bool = False, scale: float | None = None
) -> tuple[Any, Any, Any]:
    """The gradients of `scaled_dot_product_attention` by q, k and v, from that by its result; scores are computed again.

    Args:
        q: Queries; these and the following as for `scaled_dot_product_attention`.
        k: Keys.
        v: Values.
        gradient: Gradient of the result, of its shape and dtype.
        mask: Truth values or addends.
        is_causal: True where query i sees keys 0 to i alone.
        scale: Factor of the scores.

    Returns:
        Gradients of the shapes of q, k and v. Keys and values that serve several heads receive the sum.

    Raises:
        ShapeMismatchError: See `scaled_dot_product_attention`, like the other errors; the gradient is not like the result.

    Example:
        >>> import amdgpu
        >>> by_q, by_k, by_v = amdgpu.ops.scaled_dot_product_attention_gradient([[0.0]], [[1.0], [2.0]], [[4.0], [8.0]], [[1.0]])
        >>> by_q.tolist(), by_v.tolist()
        ([[1.0]], [[0.5], [0.5]])
    """
    name = "scaled_dot_product_attention_gradient"
    options = _options(name, is_causal, scale)
    arrays = (q, k, v, gradient, mask)
    found: tuple[Any, Any, Any] = placement.run(("attention_gradient", name), arrays, *arrays, **options)
    return found


def _options(operation: str, is_causal: Any, scale: Any) -> dict[str, Any]:
    return {
        "is_causal": arguments.truth(operation, "is_causal", is_causal),
        "scale": None if scale is None else arguments.number(operation, "scale", scale),
    }
