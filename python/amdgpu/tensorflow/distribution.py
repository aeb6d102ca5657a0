"""Collectives of amdgpu for `tf.distribute`: `tf_rdna.MirroredStrategy()`.

It is `tf.distribute.MirroredStrategy(devices, cross_device_ops=tf_rdna.AllReduce())`. An all-reduce is two operations on each device
(docs/adr/0031-all-reduce-in-two-operations.md): one shares the tensors of a replica and gives a token, the other one takes the tokens of
all replicas and gives the results. TensorFlow carries the tokens, so no kernel waits for another one.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import cross_device_ops as cross_device
from tensorflow.python.distribute import distribute_utils, values
from tensorflow.python.eager import context, execute
from tensorflow.python.framework import op_def_library

from amdgpu.tensorflow.loading import plug_in

# Gradients that are reduced together: as many as come close to this, so that the first ones travel while the last ones are computed. The
# size is that of the buckets of PyTorch's DistributedDataParallel (Li et al., VLDB 2020, section 4.2).
BYTES_PER_PACK = 25 << 20
# Where wheels put NCCL and RCCL, which the loader does not know.
_NCCL_FOLDERS = ("nvidia/nccl/lib", "torch/lib")
_REDUCED = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Collective:
    """Collectives of one engine.

    Attributes:
        engine: "nccl": NCCL, or RCCL on AMD GPUs. "copies": each device copies what the others have, and sums. "direct": several devices of
            TensorFlow over one device, whose kernels read everything. "host": int32 tensors, which TensorFlow keeps in memory of the host.
        collectives: How many all-reduces; one of all replicas counts once.
        tensors: How many tensors a replica gave to them.
        bytes: How many bytes these had.
    """

    engine: str
    collectives: int
    tensors: int
    bytes: int


def collective_report() -> list[Collective]:
    """What collectives of amdgpu did so far, by engine; empty where none ran."""
    name, counts = ctypes.c_char_p(), (ctypes.c_uint64 * 3)()
    report: list[Collective] = []
    place = 0
    while not plug_in().agpu_tensorflow_collectives(ctypes.c_uint64(place), ctypes.byref(name), counts):
        if counts[0] and name.value is not None:
            report.append(Collective(name.value.decode(), *counts))
        place += 1
    return report


def reset_collective_report() -> None:
    """Lets the counts begin again."""
    plug_in().agpu_tensorflow_reset_collectives()


class AllReduce(tf.distribute.CrossDeviceOps):  # type: ignore[misc]
    """All-reduce between devices of type RDNA, for `cross_device_ops` of `tf.distribute.MirroredStrategy`.

    Values of each replica are summed in the order of replicas, so that results have the same bits each time; where NCCL or RCCL is there
    and each replica has a GPU of its own, in the library's order. Sparse gradients (`tf.IndexedSlices`) are gathered. Values that are on
    other devices than RDNA are left to `tf.distribute.ReductionToOneDevice`. `AMDGPU_TENSORFLOW_COLLECTIVES` chooses: `auto`, `nccl` or
    `copies`.

    Args:
        bytes_per_pack: Tensors of a batch are reduced together until they have about so many bytes; `bytes_per_pack` of
            `tf.distribute.experimental.CommunicationOptions` goes before it.

    Raises:
        ValueError: `bytes_per_pack` is negative; when values are reduced: their shapes or dtypes differ between replicas.

    Example:
        strategy = tf.distribute.MirroredStrategy(["RDNA:0", "RDNA:1"], cross_device_ops=tf_rdna.AllReduce())
    """

    def __init__(self, *, bytes_per_pack: int = BYTES_PER_PACK) -> None:
        if bytes_per_pack < 0:
            raise ValueError(
                f"bytes_per_pack is {bytes_per_pack}; give a number of bytes, or 0 for all tensors together"
            )
        super().__init__()
        self._bytes_per_pack = bytes_per_pack

    def reduce_implementation(self, reduce_op: Any, per_replica_value: Any, destinations: Any, options: Any) -> Any:
        """A value of all replicas, reduced; TensorFlow calls it."""
        pair = (per_replica_value, destinations)
        return self.batch_reduce_implementation(reduce_op, [pair], options)[0]

    def batch_reduce_implementation(
        self, reduce_op: Any, value_destination_pairs: Sequence[Any], options: Any
    ) -> list[Any]:
        """Several values of all replicas, reduced together; TensorFlow calls it."""
        devices = _devices_of_all(value_destination_pairs)
        if devices is None:
            others = tf.distribute.ReductionToOneDevice()
            return [others.reduce(reduce_op, value, to, options) for value, to in value_destination_pairs]
        is_mean = reduce_op == tf.distribute.ReduceOp.MEAN
        results: list[Any] = [None] * len(value_destination_pairs)
        dense: dict[int, Sequence[Any]] = {}
        for place, (value, _) in enumerate(value_destination_pairs):
            if any(isinstance(one, tf.IndexedSlices) for one in value.values):
                results[place] = _joined_slices(value.values, devices, is_mean=is_mean)
            else:
                dense[place] = [tf.convert_to_tensor(one) for one in value.values]
        limit = getattr(options, "bytes_per_pack", 0) or self._bytes_per_pack
        for pack in packs_of(dense, limit):
            for place, reduced in zip(
                pack, all_reduce([dense[one] for one in pack], devices, is_mean=is_mean), strict=True
            ):
                results[place] = reduced
        return [_mirrored(one) for one in results]

    def _gather_implementation(self, per_replica_value: Any, destinations: Any, axis: int, options: Any) -> Any:
        del options
        return _mirrored(_gathered(per_replica_value.values, cross_device.get_devices_from(destinations), axis))


class MirroredStrategy(tf.distribute.MirroredStrategy):  # type: ignore[misc]
    """`tf.distribute.MirroredStrategy` over devices of type RDNA, with `AllReduce`.

    Args:
        devices: For example `["RDNA:0", "RDNA:1"]`; None: all that are visible.
        cross_device_ops: Who reduces; None: `AllReduce()`.

    Raises:
        ValueError: `devices` is None, and no device of type RDNA is visible.

    Example:
        with tf_rdna.MirroredStrategy().scope():
            model = keras.Sequential([keras.layers.Dense(10)])
            model.compile("adam", "mse")
    """

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        if devices is None:
            devices = [f"RDNA:{place}" for place in range(len(tf.config.list_logical_devices("RDNA")))]
            if not devices:
                raise ValueError(
                    "no device of type RDNA is visible: amdgpu finds no GPU, or AMDGPU_TENSORFLOW_DEVICE and set_visible_devices leave none"
                )
        super().__init__(devices, cross_device_ops=cross_device_ops or AllReduce())


def _devices_of_all(pairs: Sequence[Any]) -> tuple[str, ...] | None:
    """The devices of all values, where these are also where results belong and of type RDNA."""
    devices: tuple[str, ...] | None = None
    for value, destinations in pairs:
        own = tuple(cross_device.get_devices_from(value))
        if set(own) != set(cross_device.get_devices_from(destinations)) or (devices or own) != own:
            return None
        devices = own
    return devices if devices and all(":RDNA:" in one.upper() for one in devices) else None


def packs_of(dense: dict[int, Sequence[Any]], limit: int) -> list[list[int]]:
    """Places of values that are reduced together, of one dtype each, the last ones first: in this order gradients are computed."""
    packs: list[list[int]] = []
    open_packs: dict[Any, tuple[list[int], int]] = {}
    for place in reversed(dense):
        tensor = dense[place][0]
        pack, filled = open_packs.get(tensor.dtype, ([], 0))
        if not pack:
            packs.append(pack)
        pack.append(place)
        filled += (tensor.shape.num_elements() or 0) * tensor.dtype.size
        open_packs[tensor.dtype] = ([], 0) if limit and filled >= limit else (pack, filled)
    return packs


def all_reduce(tensors: Sequence[Sequence[Any]], devices: tuple[str, ...], *, is_mean: bool) -> list[list[Any]]:
    """Sums or means of tensors over replicas.

    Args:
        tensors: Each tensor as a list, with its value of every replica on the device of that.
        devices: Of the replicas, two at least.
        is_mean: Whether sums are divided by the number of replicas; of integers this gives float64.

    Returns:
        Each tensor as a list, with the result on every device.

    Raises:
        ValueError: Shapes or dtypes differ between replicas, or a dtype is none that is reduced.
    """
    dtype, count, number = tensors[0][0].dtype, len(tensors), next(_numbers)
    if dtype.name not in _REDUCED:
        raise ValueError(f"all_reduce: the dtype is {dtype.name}; known are {', '.join(_REDUCED)}")
    for place, replicas in enumerate(tensors):
        _check_alike(place, replicas)
    _tell_engine(tuple(devices))
    divides = is_mean and dtype.is_floating
    tokens = []
    for rank, device in enumerate(devices):
        own = [replicas[rank] for replicas in tensors]
        with tf.device(device):
            inferred = {"N": count, "T": dtype.as_datatype_enum}
            tokens += run_operation("RdnaAllReduceStart", ("tensors", own), 1, inferred, {"collective": number})
    attributes = {"N": count, "T": dtype.as_datatype_enum, "reduction": "mean" if divides else "sum"}
    results: list[list[Any]] = [[] for _ in tensors]
    for rank, device in enumerate(devices):
        with tf.device(device):
            inferred = {"ranks": len(devices)}
            own = run_operation("RdnaAllReduceDone", ("tokens", tokens), count, inferred, {**attributes, "rank": rank})
            for into, replicas, result in zip(results, tensors, own, strict=True):
                if not context.executing_eagerly():
                    result.set_shape(replicas[rank].shape)
                into.append(result / len(devices) if is_mean and not divides else result)
    return results


def _check_alike(place: int, replicas: Sequence[Any]) -> None:
    first = replicas[0]
    for rank, other in enumerate(replicas):
        if other.dtype != first.dtype or not first.shape.is_compatible_with(other.shape):
            raise ValueError(
                f"all_reduce: tensor {place} is {first.dtype.name}{first.shape} on replica 0 and {other.dtype.name}{other.shape} "
                f"on replica {rank}; give every replica the same shapes, for example with batches of one size (drop_remainder=True)"
            )


def run_operation(
    operation: str, inputs: tuple[str, list[Any]], outputs: int, inferred: dict[str, Any], attributes: dict[str, Any]
) -> list[Any]:
    """An operation of the plug-in, now or as a node of a graph; what follows from its inputs is not given to a node."""
    name, tensors = inputs
    if context.executing_eagerly():
        pairs = itertools.chain.from_iterable({**inferred, **attributes}.items())
        return list(execute.execute(operation, outputs, tensors, tuple(pairs), context.context()))
    made = op_def_library.apply_op(operation, **{name: tensors}, **attributes)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _joined_slices(slices: Sequence[Any], devices: tuple[str, ...], *, is_mean: bool) -> list[Any]:
    """Rows of all replicas one behind the other, on every device."""
    rows = _gathered([one.values for one in slices], devices, 0)
    indices = _gathered([one.indices for one in slices], devices, 0)
    joined = []
    for place, device in enumerate(devices):
        with tf.device(device):
            own = rows[place] / len(devices) if is_mean else rows[place]
            joined.append(tf.IndexedSlices(own, indices[place], slices[place].dense_shape))
    return joined


def _gathered(tensors: Sequence[Any], devices: Iterable[str], axis: int) -> list[Any]:
    """Tensors of all replicas one behind the other, on every device. TensorFlow copies between devices of type RDNA by the plug-in."""
    results = []
    for device in devices:
        with tf.device(device):
            results.append(tf.concat(tensors, axis))
    return results


def _mirrored(replicas: Sequence[Any]) -> Any:
    return distribute_utils.regroup(tuple(replicas), wrap_class=values.Mirrored)


@functools.cache
def _tell_engine(devices: tuple[str, ...]) -> None:
    """Says once that several GPUs reduce without NCCL, and why."""
    physical = tf.config.get_visible_devices("RDNA")
    numbers = [int(physical[int(one.rpartition(":")[2])].name.rpartition(":")[2]) for one in devices]
    found = plug_in().agpu_tensorflow_collective_engine(
        (ctypes.c_int32 * len(numbers))(*numbers), ctypes.c_size_t(len(numbers))
    )
    if found is None:
        raise ValueError(plug_in().agpu_tensorflow_last_error().decode())
    engine, _, reason = found.decode().partition("\t")
    if engine == "copies" and reason:
        warnings.warn(f"all_reduce copies between devices and sums there, as there is no NCCL: {reason}", stacklevel=2)


def install() -> None:
    """Tells the plug-in where wheels put NCCL."""
    folders = [Path(entry) / folder for entry in sys.path for folder in _NCCL_FOLDERS]
    found = "\n".join(str(folder) for folder in folders if folder.is_dir())
    plug_in().agpu_tensorflow_set_nccl_folders(ctypes.c_char_p(found.encode()))


install()
