"""Arguments that nobody means: each call of the public API raises an error of amdgpu or computes; nothing else comes out."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops
from awkward import Call, named, strays
from fake_tensor import CPU, FakeTensor

# None is a null pointer, which the kernel leaves alone.
SOURCE = """
__global__ void scale(float* x, float factor, int count) { if (x && threadIdx.x < count) x[threadIdx.x] *= factor; }
"""
X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture(scope="module")
def device() -> Iterator[amdgpu.AMDGPUDevice]:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture(scope="module")
def kernel(device: amdgpu.AMDGPUDevice) -> Any:
    return device.compile_kernel(SOURCE)


def calls_of_operations() -> dict[str, Call]:
    """Functions of `amdgpu.ops` with arguments that they take."""
    square = X[:, :3]
    images, weights = np.ones((1, 2, 5, 5), np.float32), np.ones((3, 2, 2, 2), np.float32)
    found: dict[str, Call] = {
        "matrix_multiply": (ops.matrix_multiply, (X.T, X, 0, "fp32")),
        "conv2d": (ops.conv2d, (images, weights)),
        "max_pool2d": (ops.max_pool2d, (images, 2)),
        "conv1d": (ops.conv1d, (images[:, :, 0], weights[:, :, 0])),
        "conv_transpose2d": (ops.conv_transpose2d, (images[:, :1], weights[:1])),
        "adaptive_avg_pool2d": (ops.adaptive_avg_pool2d, (images, 2)),
        "max_pool1d_with_indices": (ops.max_pool1d_with_indices, (images[:, :, 0], 2)),
        "softmax": (ops.softmax, (X, 1)),
        "layer_norm": (ops.layer_norm, (X, 4, np.ones(4, np.float32), np.ones(4, np.float32), 1e-5)),
        "rms_norm": (ops.rms_norm, (X, 4, np.ones(4, np.float32), 1e-5)),
        "batch_norm": (ops.batch_norm, (X, np.zeros(4), np.ones(4), np.ones(4), np.zeros(4))),
        "batch_norm_training": (ops.batch_norm_training, (X, np.ones(4), np.zeros(4))),
        "batch_norm_gradient": (ops.batch_norm_gradient, (X, X, np.ones(4))),
        "layer_norm_gradient": (ops.layer_norm_gradient, (X, X, 4, np.ones(4, np.float32), 1e-5)),
        "softmax_gradient": (ops.softmax_gradient, (X, X, 1)),
        "sum": (ops.sum, (X, 0)),
        "var": (lambda x, axis, correction: ops.var(x, axis, correction=correction), (X, 0, 1.0)),
        "argmax": (ops.argmax, (X, 1)),
        "cumsum": (ops.cumsum, (X, 1)),
        "top_k": (ops.top_k, (X, 2, 1)),
        "transpose": (ops.transpose, (square, (1, 0))),
        "embedding": (ops.embedding, (np.array([0, 2]), X)),
        "embedding_gradient": (ops.embedding_gradient, (X[:2], np.array([0, 2]), 3, 0, False)),
        "segment_sum": (ops.segment_sum, (X[:2], np.array([0, 2]), 3)),
        "index_add": (ops.index_add, (X, 0, np.array([0, 2]), X[:2])),
        "index_select": (ops.index_select, (X, 0, np.array([0, 2]))),
        "scatter_reduce": (ops.scatter_reduce, (X, 0, np.zeros(X.shape, np.int64), X, "sum")),
        "bce_loss_gradient": (ops.bce_loss_gradient, (X, X, 1.0)),
        "cross_entropy_loss": (ops.cross_entropy_loss, (X, np.array([0, 2, 1]))),
        "scaled_dot_product_attention": (ops.scaled_dot_product_attention, (X, X, X)),
        "geam": (ops.geam, (X, X)),
        "masked_select": (ops.masked_select, (X, X > 1)),
        "accumulate": (ops.accumulate, (X, "max", 1)),
        "cummax": (ops.cummax, (X, 1)),
        "where": (ops.where, (X > 1, X, X)),
        "clip": (ops.clip, (X, 0.0, 1.0)),
        "power": (ops.power, (X, 2.0)),
        "add": (ops.add, (X, X)),
        "exp": (ops.exp, (X,)),
        "round": (ops.round, (X, 1)),
    }
    return found


def calls_of_devices(device: amdgpu.AMDGPUDevice, kernel: Any) -> dict[str, Call]:
    """Functions of the package and methods of its objects with arguments that they take."""
    array = amdgpu.array(X, device=device)
    stream, other = device.create_stream(), device.create_stream()
    memory = np.ones(4, np.float32)
    event = stream.record()
    graph = amdgpu.CapturedGraph()
    with graph:
        kernel[1, 4](array, 1.0, 4)

    def benchmark(name: Any, *operands: Any, iterations: Any) -> Any:
        # What a function of the caller raises passes as it is.
        return amdgpu.benchmark_operation("nothing" if callable(name) else name, *operands, iterations=iterations)

    return {
        "empty": (lambda shape, dtype, where: amdgpu.empty(shape, dtype, device=where), (4, "float32", 0)),
        "zeros": (amdgpu.zeros, ((2, 3), "int8")),
        "array": (amdgpu.array, (X, "float32")),
        "from_dlpack": (amdgpu.from_dlpack, (X,)),
        "allocate_memory": (
            lambda where, size, kind: amdgpu.allocate_memory(where, size, kind=kind),
            (0, 64, "device"),
        ),
        "initialize_device": (amdgpu.initialize_device, (0, ["aura"])),
        "get_telemetry": (amdgpu.get_telemetry, (device, "aura")),
        "benchmark_operation": (
            lambda name, a, b, n: benchmark(name, a, b, iterations=n),
            ("matrix_multiply", X.T, X, 1),
        ),
        "compile_kernel": (
            device.compile_kernel,
            (SOURCE, "aura", "low"),
        ),
        "execute": (
            lambda k, x, factor, count, grid, block, timeout, level: device.execute(
                k, x, factor, count, grid=grid, block=block, timeout_ms=timeout, telemetry_level=level
            ),
            (kernel, memory, 1.0, 4, 1, 4, 1000, "standard"),
        ),
        "launch": (lambda grid, block, *rest: kernel[grid, block](*rest), (1, 4, memory, 1.0, 4)),
        "prepare": (kernel.prepare, (1, 4, memory, 1.0, 4)),
        "occupancy": (lambda block, shared: kernel.occupancy(block, shared_bytes=shared), (64, 0)),
        "RawKernel": (lambda code, name: amdgpu.RawKernel(code, name).compile(), (SOURCE, "scale")),
        "RawKernel call": (
            lambda grid, block, args, shared: amdgpu.RawKernel(SOURCE, "scale")(grid, block, args, shared_mem=shared),
            ((1,), (4,), (memory, 1.0, 4), 0),
        ),
        "Stream.wait": (stream.wait, (10,)),
        "Stream.record": (stream.record, (event,)),
        "Stream.wait_event": (other.wait_event, (event,)),
        "Graph.replay": (graph.replay, (stream,)),
        "Graph.update": (graph.update, (0, array, 1.0, 4)),
        "Graph.update by name": (lambda node, factor: graph.update(node, factor=factor), (0, 1.0)),
        "Array.fill": (array.fill, (1.0,)),
        "Array.fill_bytes": (array.fill_bytes, (1,)),
        "Kernel.module_global": (named(kernel.module_global), ("nothing",)),
        "options of compile_kernel": (
            lambda name, fast_math, defines, file_name, disabled, checked: device.compile_kernel(
                SOURCE,
                name=name,
                fast_math=fast_math,
                defines=defines,
                file_name=file_name,
                disabled_passes=disabled,
                checked=checked,
            ),
            ("scale", False, {"A": "1"}, "kernel.hip", [], False),
        ),
        "compiler": (named(lambda compiler: device.compile_kernel(SOURCE, compiler=compiler)), ("hiprtc",)),
        "options of execute": (
            lambda shared, where, is_async, checked: device.execute(
                kernel,
                memory,
                1.0,
                4,
                grid=1,
                block=4,
                shared_bytes=shared,
                stream=where,
                async_execution=is_async,
                checked=checked,
            ),
            (0, stream, False, False),
        ),
        "options of RawKernel": (
            lambda options, where: amdgpu.RawKernel(SOURCE, "scale", options, device=where).compile(),
            (("-DA=1",), "cpu:0"),
        ),
        "stream of RawKernel": (
            lambda where: amdgpu.RawKernel(SOURCE, "scale")((1,), (4,), (memory, 1.0, 4), stream=where),
            (stream,),
        ),
        "Kernel.launch": (
            lambda args, where: kernel.launch((1,), (4,), args, stream=where),
            ((memory, 1.0, 4), stream),
        ),
        "stream of prepare": (lambda where: kernel.prepare(1, 4, memory, 1.0, 4, stream=where), (stream,)),
        "AMDGPUDevice": (
            lambda level, telemetry: amdgpu.initialize_device("cpu:0", optimization_level=level, telemetry=telemetry),
            ("high", True),
        ),
        "device telemetry": (device.get_telemetry, ("aura",)),
        "telemetry stream": (
            lambda core, interval: asyncio.run(anext(device.get_telemetry_stream(core, interval_seconds=interval))),
            ("aura", 0.01),
        ),
        "require_core": (device.require_core, ("aura",)),
        "Array.reshape": (array.reshape, (4, 3)),
        "Array.copy_from": (array.copy_from, (X,)),
        "neural_network_forward": (
            amdgpu.neural_network_forward,
            ({"architecture": [4, 2]}, X, 0),
        ),
        "Network": (
            lambda text, where, seed: amdgpu.Network(text, device=where, seed=seed),
            ("neuralNetwork n:\n  layer a(2)\n  layer b(2)\n  connect a -> b\n", 0, 1),
        ),
    }


@pytest.mark.filterwarnings("ignore")
def test_operations_raise_errors_of_their_own():
    assert strays(calls_of_operations()) == []


@pytest.mark.filterwarnings("ignore")
def test_devices_arrays_and_kernels_raise_errors_of_their_own(device, kernel):
    assert strays(calls_of_devices(device, kernel)) == []


class Scalar:
    """A tensor without axes, as PyTorch's are: its dtype is none of NumPy's."""

    dtype = "torch.float32"
    ndim = 0

    def __init__(self, value: Any) -> None:
        self._value = value

    def item(self) -> Any:
        return self._value

    def __index__(self) -> int:
        raise TypeError("only integer tensors of a single element can be converted to an index")


class Axes(Scalar):
    ndim = 1


@pytest.mark.parametrize(
    ("factor", "count"),
    [
        (Scalar(3.0), Scalar(4)),
        (Scalar(3), Scalar(True)),
        (Fraction(6, 2), np.int8(4)),
        (np.float16(3), np.array(4)),
        (np.array(3.0), np.uint64(4)),
    ],
)
def test_scalars_of_other_libraries_are_numbers(kernel, factor, count):
    x = np.ones(4, np.float32)
    kernel[1, 4](x, factor, count)
    assert x[0] == 3
    assert (x[1:] == (1 if count is not None and getattr(count, "_value", 4) is True else 3)).all()


@pytest.mark.parametrize(
    "value", [Scalar("text"), Scalar(1j), Axes(1.0), "1", None, FakeTensor([1.0, 2.0], CPU), np.ones(2)]
)
def test_what_is_no_number_is_named(kernel, value):
    with pytest.raises(errors.InvalidTypeError, match=r"argument 1 \(`factor`\) of scale"):
        kernel[1, 4](np.ones(4, np.float32), value, 4)


def test_arrays_with_a_mask_are_no_kernel_arguments(kernel):
    masked = np.ma.masked_array(np.ones(4, np.float32), [True, False, False, False])
    with pytest.raises(errors.InvalidArgumentError, match=r"argument 0 \(`x`\) of scale: arrays with a mask"):
        kernel[1, 4](masked, 2.0, 4)
    with pytest.raises(errors.InvalidArgumentError, match="arrays with a mask"):
        kernel.prepare(1, 4, masked, 2.0, 4)
    with pytest.raises(errors.InvalidArgumentError, match=r"argument 1 \(`factor`\) of scale: arrays with a mask"):
        kernel[1, 4](np.ones(4, np.float32), np.ma.masked, 4)
    assert (masked.data == 1).all()


def test_numbers_out_of_range_are_named(device):
    stream = device.create_stream()
    with pytest.raises(errors.InvalidArgumentError, match="timeout_ms is -1"):
        stream.wait(-1)
    with pytest.raises(errors.InvalidTypeError, match="timeout_ms is 'x'; an integer is expected"):
        stream.wait("x")
    with pytest.raises(errors.AmdgpuError, match=r"1000000"):
        amdgpu.empty(10**30, "float32")
    array = amdgpu.zeros(0, "float32", device=device)
    with pytest.raises(errors.ShapeMismatchError):
        array.reshape(2**32, 2**32)


def test_unknown_telemetry_levels_list_the_known_ones(device, kernel):
    with pytest.raises(errors.InvalidArgumentError, match="telemetry_level is 'x'; known are off, standard, detailed"):
        device.execute(kernel, np.ones(4, np.float32), 1.0, 4, telemetry_level="x")
    with pytest.raises(errors.InvalidArgumentError, match="telemetry is 'x'; known are off, standard, detailed"):
        amdgpu.initialize_device("cpu:0", telemetry="x")


def test_dtypes_of_dlpack_that_devices_do_not_have_are_refused():
    tensor = FakeTensor([1.0, 2.0], CPU)
    # float8_e4m3fn of DLPack 1.1.
    tensor._managed.tensor.code, tensor._managed.tensor.bits = 10, 8
    with pytest.raises(errors.UnsupportedDtypeError, match="DLPack dtype of code 10 with 8 bits"):
        amdgpu.from_dlpack(tensor)
    assert tensor.deleted == 1


NETWORK = "neuralNetwork n:\n  layer a(2)\n  layer b(2)\n  connect a -> b\n"


def test_work_needs_its_core():
    with amdgpu.initialize_device("cpu:0", ["aura"]) as device:
        with pytest.raises(errors.CoreNotEnabledError, match="'matrix'"):
            amdgpu.matrix_multiply(X.T, X, device)
        # Also where the operands decide on the device.
        x = amdgpu.array(X, device=device)
        with pytest.raises(errors.CoreNotEnabledError, match="'matrix'"):
            amdgpu.matrix_multiply(x, x, device, transpose_a=True)
        assert isinstance(amdgpu.matrix_multiply(x, x, transpose_a=True), amdgpu.Array)
        with pytest.raises(errors.CoreNotEnabledError, match="'matrix'"):
            amdgpu.benchmark_operation("matrix_multiply", X.T, X, device, iterations=1)
        with pytest.raises(errors.CoreNotEnabledError, match="'neuromorphic'"):
            amdgpu.Network(NETWORK, device=device).forward(np.ones(2))
        with pytest.raises(errors.CoreNotEnabledError, match="'neuromorphic'"):
            amdgpu.neural_network_forward({"architecture": [2, 2]}, np.ones(2), device)
    with amdgpu.initialize_device("cpu:0", ["matrix", "neuromorphic"]) as device:
        assert amdgpu.matrix_multiply(X.T, X, device).shape == (4, 4)
        assert amdgpu.neural_network_forward({"architecture": [2, 2]}, np.ones(2), device).shape == (2,)


def test_benchmarks_count_every_form_of_a_product():
    def flops(*arrays: Any, **options: Any) -> float:
        found = amdgpu.benchmark_operation("matrix_multiply", *arrays, iterations=1, **options)
        return round(found["flops_per_second"] * found["median_seconds"])

    assert flops(np.ones((16, 10)), np.ones((20, 10)), transpose_b=True) == 2 * 16 * 10 * 20
    assert flops(np.ones((10, 16)), np.ones((10, 20)), transpose_a=True) == 2 * 16 * 10 * 20
    assert flops(np.ones((3, 4, 5)), np.ones((5, 6))) == 3 * 2 * 4 * 5 * 6
    assert flops(np.ones((7, 1, 4, 5)), np.ones((3, 5, 6))) == 21 * 2 * 4 * 5 * 6
    assert flops(np.ones(5), np.ones((5, 6))) == 2 * 5 * 6
    assert flops([[1.0, 2.0]], [[3.0], [4.0]]) == 4
    with pytest.raises(errors.InvalidArgumentError, match="missing a required argument: 'a'"):
        amdgpu.benchmark_operation("matrix_multiply")
    with pytest.raises(errors.InvalidTypeError, match="operation must be a function or a name"):
        amdgpu.benchmark_operation(5)


@pytest.mark.parametrize("cls", [errors.AmdgpuError, *errors.BY_CODE.values()])
def test_errors_name_the_module_that_has_them(cls):
    assert cls.__module__ == "amdgpu.errors"
    assert getattr(errors, cls.__qualname__) is cls
    raised = cls("what happened", language="rust")
    copy = pickle.loads(pickle.dumps(raised))
    assert (type(copy), str(copy), copy.language) == (cls, str(raised), "rust")


EMPTY_WORDS = ("The message ", "the message shows", "Each error ")


@pytest.mark.parametrize("cls", errors.BY_CODE.values())
def test_hints_say_what_to_do_or_are_absent(cls):
    assert not cls.hint.startswith(EMPTY_WORDS)
    assert ("hint:" in str(cls("what happened"))) == bool(cls.hint)
