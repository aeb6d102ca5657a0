"""The dispatcher's table, its decisions and its plug-ins."""

import sys

import amdgpu
import numpy as np
import pytest
from amdgpu import dispatch, errors


def twice_the_product(a, b, out=None, *, precision="fp32"):
    return 2 * (np.asarray(a) @ np.asarray(b))


@pytest.fixture
def plug_in():
    entry = dispatch.Implementation(
        "matrix_multiply", "matrix", "cpu", "python", "twice", f"{__name__}:twice_the_product", priority=10
    )
    sys.modules.setdefault(__name__, sys.modules[twice_the_product.__module__])
    dispatch.register(entry)
    yield entry
    dispatch.unregister(entry)


def test_the_table_lists_every_core_type():
    assert {entry.core_type for entry in dispatch.table()} == {"aura", "matrix", "neuromorphic"}
    assert {entry.language for entry in dispatch.table()} >= {"rust", "zig", "nim", "julia"}


def test_the_highest_priority_wins_and_leaves_with_its_plug_in(plug_in):
    assert amdgpu.matrix_multiply(np.eye(2), np.eye(2))[0, 0] == 2
    dispatch.unregister(plug_in)
    assert amdgpu.matrix_multiply(np.eye(2), np.eye(2))[0, 0] == 1


def test_an_implementation_can_be_asked_for_by_name(plug_in):
    _, entry = dispatch.resolve("matrix_multiply", "matrix", "cpu", prefer="zig")
    assert entry.language == "zig"
    with pytest.raises(errors.NoImplementationError, match="twice, zig"):
        dispatch.resolve("matrix_multiply", "matrix", "cpu", prefer="fortran")


def launch_in_blocks_of_one(kernel, grid, block, args, **options):
    kernel.launch(1, 1, args)
    return 5, 7


def test_execute_asks_the_dispatcher_who_runs_a_kernel(device):
    kernel = device.compile_kernel("__global__ void f(int* x) { x[threadIdx.x] = 1; }")
    entry = dispatch.Implementation(
        "kernel", "aura", "cpu", "python", "ones", f"{__name__}:launch_in_blocks_of_one", priority=10
    )
    dispatch.register(entry)
    try:
        result = device.execute(kernel, np.zeros(4, "int32"))
    finally:
        dispatch.unregister(entry)
    assert (result.output.tolist(), result.execution_time) == ([1, 0, 0, 0], 7e-9)


def test_operations_that_nothing_runs_are_named():
    with pytest.raises(errors.NoImplementationError, match="fly on aura cores of a cpu device"):
        dispatch.resolve("fly", "aura", "cpu")
    with pytest.raises(errors.NoImplementationError, match="null"):
        dispatch.resolve("fly", "matrix", "null")


def test_decisions_are_on_the_bus():
    amdgpu.matrix_multiply(np.eye(2), np.eye(2))
    records = amdgpu.telemetry.snapshot()["records"]
    assert any(record["kind"] == "dispatch" for record in records)


def install(tmp_path, body):
    """A package with an entry point of the group amdgpu.cores."""
    (tmp_path / "amdgpu_plugin.py").write_text(body)
    info = tmp_path / "amdgpu_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: amdgpu-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[amdgpu.cores]\nplugin = amdgpu_plugin:setup\n")


def test_packages_add_entries_through_their_entry_point(run_python, tmp_path):
    install(
        tmp_path,
        "from amdgpu import dispatch\n"
        "def multiply(a, b, out=None, *, precision='fp32'):\n    return 'from the plug-in'\n"
        "def setup():\n"
        "    dispatch.register(dispatch.Implementation('matrix_multiply', 'matrix', 'cpu', 'python', 'plugin',"
        " 'amdgpu_plugin:multiply', priority=5))\n",
    )
    done = run_python("import amdgpu\nprint(amdgpu.matrix_multiply([[1]], [[1]]))", PYTHONPATH=str(tmp_path))
    assert done.stdout.strip() == "from the plug-in"


def test_a_broken_entry_point_is_said_once_and_breaks_nothing(run_python, tmp_path):
    install(tmp_path, "def setup():\n    raise RuntimeError('broken plug-in')\n")
    done = run_python(
        "import amdgpu\nprint(amdgpu.matrix_multiply([[1]], [[1]]), amdgpu.matrix_multiply([[2]], [[1]]))",
        PYTHONPATH=str(tmp_path),
    )
    assert "[[1.]] [[2.]]" in done.stdout
    assert done.stderr.count("broken plug-in") == 1


def convolution_of_ones(direction, inputs, out=None, *, stride, padding, dilation, groups, layout):
    return np.ones(1)


def test_convolutions_by_plug_ins_need_not_know_precisions():
    entry = dispatch.Implementation(
        "convolve", "matrix", "cpu", "python", "ones", f"{__name__}:convolution_of_ones", priority=10
    )
    images, windows = np.zeros((1, 1, 3, 3), "float32"), np.zeros((1, 1, 2, 2), "float32")
    dispatch.register(entry)
    try:
        assert amdgpu.ops.conv2d(images, windows)[0] == 1
        assert amdgpu.ops.conv2d(images, windows, precision="fp32")[0] == 1
        with pytest.raises(TypeError, match="precision"):
            amdgpu.ops.conv2d(images, windows, precision="tf32")
    finally:
        dispatch.unregister(entry)
    assert amdgpu.ops.conv2d(images, windows, precision="tf32").shape == (1, 1, 2, 2)
