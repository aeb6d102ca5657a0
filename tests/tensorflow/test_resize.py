"""Images of another size, diagonals and ranks beside TensorFlow's CPU kernels."""

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import compare, values

raw = tf.raw_ops
pytestmark = pytest.mark.usefixtures("hard_placement")
WAYS = [(False, False), (False, True), (True, False)]


@pytest.mark.parametrize(("aligns", "halves"), WAYS)
@pytest.mark.parametrize("size", [(3, 4), (10, 14), (5, 7), (1, 1)])
def test_images_are_resized(size, aligns, halves):
    options = {"size": size, "align_corners": aligns, "half_pixel_centers": halves}
    for dtype in ("float32", "float16", "bfloat16"):
        compare(lambda x: raw.ResizeBilinear(images=x, **options), values((2, 5, 7, 3), dtype), scale=2)
    for dtype in ("float32", "float64"):
        compare(lambda x: raw.ResizeNearestNeighbor(images=x, **options), values((2, 5, 7, 3), dtype))


@pytest.mark.parametrize(("aligns", "halves"), WAYS)
@pytest.mark.parametrize("size", [(3, 4), (10, 14)])
def test_gradients_of_resized_images(size, aligns, halves):
    way = {"align_corners": aligns, "half_pixel_centers": halves}
    gradient, images = values((2, *size, 3), "float32"), values((2, 5, 7, 3), "float32", 1)
    compare(lambda g, x: raw.ResizeBilinearGrad(grads=g, original_image=x, **way), gradient, images, scale=4)
    compare(lambda g: raw.ResizeNearestNeighborGrad(grads=g, size=[5, 7], **way), gradient, scale=4)


def test_wrong_sizes_are_refused():
    with tf.device("RDNA:0"), pytest.raises(tf.errors.InvalidArgumentError, match="must be positive"):
        raw.ResizeBilinear(images=tf.zeros((1, 2, 2, 1)), size=[0, 3])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int32", "bool"])
def test_diagonals(dtype):
    for place in (0, 1, -2):
        compare(
            lambda x, k=place: raw.MatrixDiagPartV3(input=x, k=k, padding_value=tf.zeros((), x.dtype)),
            values((2, 4, 5), dtype),
        )


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_targets_among_the_best(dtype):
    x = np.array(
        [[0.1, 0.5, 0.5, 0.2], [0.9, 0.3, 0.1, 0.0], [np.inf, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]], np.float32
    )
    for k in (1, 2, 3):
        compare(
            lambda x, t, k=k: raw.InTopKV2(predictions=x, targets=t, k=tf.constant(k, t.dtype)),
            x,
            np.array([2, 1, 0, 7], dtype),
        )
