"""`a[...]` and `a[...] = values` against NumPy, on random keys."""

import random

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

SHAPES = [(7,), (4, 5), (3, 4, 5), (2, 0, 3), ()]


def basic_item(chosen, extent):
    kind = chosen.randrange(4)
    if kind == 0 and extent:
        return chosen.randrange(-extent, extent)
    bounds = [None, *range(-extent - 2, extent + 3)]
    step = chosen.choice([None, 1, 2, 3, -1, -2])
    return slice(chosen.choice(bounds), chosen.choice(bounds), step)


def basic_key(chosen, shape):
    key = [basic_item(chosen, extent) for extent in shape[: chosen.randint(0, len(shape))]]
    if chosen.random() < 0.4:
        key.insert(chosen.randint(0, len(key)), None)
    if chosen.random() < 0.4:
        at = chosen.randint(0, len(key))
        axes = sum(one is not None for one in key[at:])
        behind = [basic_item(chosen, extent) for extent in shape[len(shape) - axes :]] if axes else []
        taken = sum(one is not None for one in key[:at])
        if taken + axes <= len(shape):
            key = [*key[:at], ..., *behind]
    return tuple(key)


def array_key(chosen, generator, shape):
    shared = chosen.choice([(), (3,), (2, 3)])
    key = []
    for extent in shape:
        kind = chosen.randrange(4)
        if kind == 0:
            key.append(basic_item(chosen, extent))
        elif kind == 1:
            key.append(chosen.randrange(-extent, extent))
        else:
            key.append(generator.integers(-extent, extent, shared))
        if chosen.random() < 0.15:
            key.append(None)
    if not any(isinstance(one, np.ndarray) for one in key):
        key[0] = generator.integers(-shape[0], shape[0], (2,))
    return tuple(key[: chosen.randint(1, len(key))]) if isinstance(key[0], np.ndarray) else tuple(key)


def ours_of(key):
    return tuple(amdgpu.array(one) if isinstance(one, np.ndarray) else one for one in key)


def check(ours, theirs):
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert (ours.numpy() == theirs).all()


@pytest.mark.parametrize("seed", range(150))
def test_views_are_those_of_numpy(seed):
    chosen = random.Random(seed)
    shape = chosen.choice(SHAPES)
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(chosen.choice(["i8", "f4", "u1"]))
    ours = amdgpu.array(a)
    key = basic_key(chosen, shape)
    check(ours[key], a[key])
    # A view, which sees what is written through it.
    ours[key] = 77
    a[key] = 77
    check(ours, a)


@pytest.mark.parametrize("seed", range(200))
def test_elements_picked_by_arrays_are_those_of_numpy(seed):
    chosen, generator = random.Random(seed), np.random.default_rng(seed)
    shape = chosen.choice([(7,), (4, 5), (3, 4, 5), (2, 3, 4, 5)])
    a = np.arange(np.prod(shape)).reshape(shape).astype(chosen.choice(["i8", "f4", "u1", "f2"]))
    ours = amdgpu.array(a)
    if chosen.random() < 0.3:
        a, ours = a[::-1], ours[::-1]
    key = array_key(chosen, generator, shape)
    picked = a[key]
    check(ours[ours_of(key)], picked)
    # Written values broadcast; one value for all, so that the order of repeated indices does not matter.
    a = a.copy()
    changed = ours.copy()
    a[key] = 3
    changed[ours_of(key)] = 3
    check(changed, a)
    if len(np.unique(np.arange(a.size).reshape(shape)[key])) == picked.size:
        numbers = generator.integers(0, 99, picked.shape)
        a[key] = numbers
        changed[ours_of(key)] = amdgpu.array(numbers)
        check(changed, a)


@pytest.mark.parametrize("seed", range(40))
def test_masks_pick_what_they_are_true_for(seed):
    generator = np.random.default_rng(seed)
    a = generator.integers(0, 100, (4, 5, 3))
    ours = amdgpu.array(a)
    mask = generator.random((4, 5, 3)) < 0.4
    check(ours[amdgpu.array(mask)], a[mask])
    front = mask[:, :, 0]
    check(ours[amdgpu.array(front)], a[front])
    check(ours[..., amdgpu.array(mask[0, 0])], a[..., mask[0, 0]])
    check(ours[ours > 50], a[a > 50])
    a[mask] = -1
    ours[amdgpu.array(mask)] = -1
    check(ours, a)
    a[front] = np.arange(3)
    ours[amdgpu.array(front)] = amdgpu.array(np.arange(3))
    check(ours, a)


def test_lists_and_numpy_arrays_are_indices_too():
    a = np.arange(12).reshape(3, 4)
    ours = amdgpu.array(a)
    check(ours[[2, 0]], a[[2, 0]])
    check(ours[np.array([1]), [3]], a[np.array([1]), [3]])
    check(ours[np.int64(1)], a[1])
    check(ours[[]], a[[]])
    check(ours[[True, False, True]], a[[True, False, True]])


def test_values_are_converted_to_the_dtype_of_the_array():
    ours = amdgpu.zeros((2, 2), "int32")
    ours[0] = [1.9, -1.9]
    ours[1, 0] = True
    ours[1, 1:] = amdgpu.array([3.5])
    assert ours.tolist() == [[1, -1], [1, 3]]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (3, IndexError, "index 3 is out of bounds for axis 0 with size 3"),
        ((0, -5), IndexError, "index -5 is out of bounds for axis 1 with size 4"),
        ((0, 0, 0), IndexError, "too many indices"),
        ((..., ...), ValueError, "one ellipsis"),
        (slice(None, None, 0), ValueError, "cannot be zero"),
        (slice("a", None), TypeError, "integers or None"),
        (1.0, TypeError, "integers or truth values"),
        ([1.0], TypeError, "integers or truth values"),
        ([0, 3], IndexError, "out of bounds for axis 0 with size 3"),
        (([0, 1], [0, 1, 2]), ValueError, "do not broadcast"),
        ([True, False], IndexError, "picks from axes of shape"),
        (2**70, IndexError, "out of bounds"),
        ("text", TypeError, "integers or truth values"),
    ],
)
def test_bad_keys_are_refused_as_numpy_refuses_them(key, error, message):
    ours = amdgpu.array(np.arange(12).reshape(3, 4))
    with pytest.raises(error, match=message):
        ours[key]
    with pytest.raises(error, match=message):
        ours[key] = 0
    assert ours.tolist() == np.arange(12).reshape(3, 4).tolist()


def test_read_only_memory_is_not_written():
    ours = amdgpu.array([1.0, 2.0]).broadcast_to((3, 2))
    with pytest.raises(errors.ReadOnlyError):
        ours[0] = 1
    with pytest.raises(errors.ShapeMismatchError):
        amdgpu.zeros(3)[:2] = amdgpu.zeros(3)


def test_views_share_memory_and_copies_do_not():
    ours = amdgpu.array(np.arange(24).reshape(2, 3, 4))
    for view in (ours[1], ours.T, ours.mT, ours[:, ::2], ours.reshape(6, 4), ours.flip(0), ours.squeeze(), ours[None]):
        ours[1, 0, 0] = 99
        assert (view == 99).any()
        ours[1, 0, 0] = 12
    for copied in (
        ours.copy(),
        ours.flatten(),
        ours[[0, 1]],
        ours[ours >= 0],
        ours.T.reshape(-1),
        ours.astype("int64"),
    ):
        copied[...] = 0
    assert ours.tolist() == np.arange(24).reshape(2, 3, 4).tolist()
    with pytest.raises(ValueError, match="copy=False"):
        ours.T.reshape(-1, copy=False)
