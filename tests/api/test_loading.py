"""Missing and stale libraries: each gets its sentence, and the other cores go on working."""

import shutil
from pathlib import Path

import amdgpu
import pytest

LIBRARIES = Path(amdgpu.__file__).parent / "_lib"
USE_EVERYTHING = """
import amdgpu, numpy as np
def attempt(name, function):
    try:
        function()
        print(name, "works")
    except amdgpu.AmdgpuError as error:
        print(name, type(error).__name__, "|", str(error).replace(chr(10), " "))
x = np.zeros(4, "float32")
dev = amdgpu.initialize_device("cpu:0")
attempt("aura", lambda: dev.compile_kernel("__global__ void f(float* x) { x[threadIdx.x] = 1; }")[1, 4](x))
attempt("matrix", lambda: amdgpu.matrix_multiply(np.eye(2), np.eye(2)))
attempt("neuro", lambda: amdgpu.Network("neuralNetwork n:\\n  layer a(2)\\n  layer b(1)\\n  connect a -> b (weight: 1.0)"))
attempt("memory", lambda: amdgpu.allocate_memory(0, 100).free())
"""


@pytest.fixture
def library_copy(tmp_path):
    """A copy of the native libraries, to damage."""
    target = tmp_path / "lib"
    shutil.copytree(LIBRARIES, target)
    return target


def states(done):
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


def test_everything_works_with_the_libraries_in_place(run_python):
    assert set(states(run_python(USE_EVERYTHING)).values()) == {"works"}


@pytest.mark.parametrize(("library", "core"), [("libagpu_matrix.so", "matrix"), ("libagpu_neuro.so", "neuro")])
def test_a_missing_library_is_named_and_the_others_work(run_python, tmp_path, library, core):
    # The package's own folder is tried too, so the test hides it behind a copy of the whole package.
    package = tmp_path / "site" / "amdgpu"
    shutil.copytree(Path(amdgpu.__file__).parent, package)
    (package / "_lib" / library).unlink()
    found = states(run_python(USE_EVERYTHING, PYTHONPATH=str(package.parent)))
    message = found.pop(core)
    assert message.startswith("LibraryMissingError")
    assert library in message
    assert "hint" in message
    assert set(found.values()) == {"works"}


@pytest.mark.parametrize(("library", "core"), [("libagpu_matrix.so", "matrix"), ("libagpu_neuro.so", "neuro")])
def test_a_stale_library_is_refused_by_name(run_python, library_copy, library, core):
    path = library_copy / library
    image = path.read_bytes()
    version = amdgpu.__version__.encode()
    assert version in image
    path.write_bytes(image.replace(version, b"9" * len(version)))
    found = states(run_python(USE_EVERYTHING, AMDGPU_LIBRARY_PATH=str(library_copy)))
    message = found.pop(core)
    assert message.startswith("LibraryStaleError")
    assert str(path) in message
    assert set(found.values()) == {"works"}


def test_a_file_that_is_no_library_is_refused_by_name(run_python, library_copy):
    (library_copy / "libagpu_matrix.so").write_bytes(b"garbage")
    message = states(run_python(USE_EVERYTHING, AMDGPU_LIBRARY_PATH=str(library_copy)))["matrix"]
    assert message.startswith("LibraryMissingError")
    assert "libagpu_matrix.so" in message


def test_stale_julia_sources_are_refused_by_name(run_python, library_copy):
    if not amdgpu.math.availability()["found"]:
        pytest.skip(f"no Julia: {amdgpu.math.availability()['reason']}")
    abi = library_copy / "julia" / "src" / "abi.jl"
    abi.write_text(abi.read_text().replace("ABI_HASH = 0x", "ABI_HASH = 0x1 + 0x"))
    done = run_python(
        "import amdgpu\n"
        "try:\n    amdgpu.math.activation([1.0], 'relu')\n"
        "except amdgpu.errors.LibraryStaleError as error:\n    print(error)\n",
        AMDGPU_LIBRARY_PATH=str(library_copy),
    )
    assert "AgpuKernels.jl" in done.stdout


@pytest.mark.parametrize("order", ["matrix neuro math", "math neuro matrix", "neuro math matrix"])
def test_any_order_of_loading_works(run_python, order):
    steps = {
        "matrix": "amdgpu.matrix_multiply(np.eye(2), np.eye(2))",
        "neuro": "amdgpu.Network({'architecture': [2, 1]})",
        "math": "amdgpu.math.availability()['found'] and amdgpu.math.activation([1.0], 'relu')",
    }
    run_python("import amdgpu, numpy as np\n" + "\n".join(steps[name] for name in order.split()))


def test_without_llvm_the_error_says_what_to_install(run_python, tmp_path):
    (tmp_path / "llvmlite").mkdir()
    (tmp_path / "llvmlite" / "__init__.py").write_text("raise ImportError('No module named llvmlite')\n")
    found = states(run_python(USE_EVERYTHING, PYTHONPATH=str(tmp_path)))
    message = found.pop("aura")
    assert message.startswith("CodeGeneratorMissingError")
    assert "pip install" in message
    assert set(found.values()) == {"works"}
