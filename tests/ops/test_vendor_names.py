"""Functions, parameters, numbers and records of the vendors' libraries as we write them down, compared with the vendors' headers.

Those of NVIDIA come from the wheel of cuDNN and of cuBLAS, those of AMD from Debian: what is installed is taken, else each package is
fetched once into pytest's cache, and without it the tests skip. Nothing of it is installed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCES = Path(__file__).resolve().parents[2] / "crates" / "amdgpu-matrix" / "src" / "vendor"
DOWNLOAD_SECONDS = 600
# Where AMD's libraries are that this was compared with: Debian's unstable distribution has those of ROCm 6.4.
DEBIAN = "deb http://deb.debian.org/debian sid main"

# Types of our tables, and which C types (without `const`) they stand for.
POINTER = (
    r".*[*\]]|cudnn\w*(Handle|Descriptor)_t|cublas\w*Handle_t|cudaStream_t|miopen\w*(Handle|Descriptor|Queue)_t|"
    r"rocblas_handle|hipStream_t"
)
NUMBER = r"int|int32_t|rocblas_int|(?!.*(Handle|Descriptor|Queue)_t$)(cudnn|cublas|miopen)\w+_t|rocblas_(?!handle|stride|int)\w+"
FITTING = {
    "i32": NUMBER,
    "u32": "uint32_t|unsigned int",
    "i64": "rocblas_stride|int64_t",
    "u64": rf"uint64_t|{POINTER}",
    "usize": "size_t",
    "f64": "double",
    "Handle": POINTER,
}


def fetch_wheel(folder: Path, wheel: str) -> None:
    """The headers of a wheel; the wheel itself, hundreds of megabytes, is not kept."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary=:all:",
        "--dest",
        str(folder),
    ]
    command += ["--python-version", "3.11", "--platform", "manylinux_2_27_x86_64", wheel]
    subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS)
    for path in folder.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".h"):
                    (folder / Path(name).name).write_bytes(archive.read(name))
        path.unlink()


def fetch_debian(folder: Path, package: str) -> None:
    """The headers of a package, fetched by an apt of its own, which leaves the machine's lists alone."""
    state = folder / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True, exist_ok=True)
    (state / "sources.list").write_text(DEBIAN + "\n")
    options = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": state / "lists",
        "Dir::Cache": state / "cache",
        "Acquire::Languages": "none",
    }
    apt = ["apt-get", "--quiet", *(f"-o{name}={value}" for name, value in options.items())]
    for command in ([*apt, "update"], [*apt, "download", package]):
        subprocess.run(command, check=True, capture_output=True, timeout=DOWNLOAD_SECONDS, cwd=folder)
    (archive,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "--extract", str(archive), str(folder / "files")], check=True)
    for path in (folder / "files").rglob("*.h"):
        shutil.copy(path, folder / path.name)
    for path in (folder / "files", state):
        shutil.rmtree(path)
    archive.unlink()


# Package, its fetcher, a file of it, and folders in which it may be installed, those of wheels below `sys.path`.
PACKAGES: dict[str, tuple[str, Callable[[Path, str], None], str, tuple[str, ...]]] = {
    "cudnn": ("nvidia-cudnn-cu13>=9.26,<10", fetch_wheel, "cudnn_cnn.h", ("nvidia/cudnn/include",)),
    "cublas": ("nvidia-cublas>=13,<14", fetch_wheel, "cublas_api.h", ("nvidia/cu13/include", "nvidia/cublas/include")),
    "miopen": ("libmiopen-dev", fetch_debian, "miopen.h", ("/usr/include/miopen", "/opt/rocm/include/miopen")),
    "rocblas": (
        "librocblas-dev",
        fetch_debian,
        "rocblas-functions.h",
        ("/usr/include/rocblas/internal", "/opt/rocm/include/rocblas/internal"),
    ),
}


@pytest.fixture(scope="module")
def header(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The declarations of a library without comments."""

    def folder_of(library: str) -> Path:
        package, fetch, file, folders = PACKAGES[library]
        places = [Path(entry) / folder for folder in folders for entry in ("/", *sys.path)]
        installed = next((place for place in places if (place / file).is_file()), None)
        if installed is not None:
            return installed
        cache = getattr(request.config, "cache", None)
        if cache is None:
            pytest.skip("there is no pytest cache to fetch headers to (-p no:cacheprovider)")
        folder = Path(cache.mkdir(f"{library}-headers"))
        if not (folder / file).is_file():
            try:
                fetch(folder, package)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                pytest.skip(f"{package} cannot be fetched: {error}")
        return folder

    def read(library: str) -> str:
        text = "\n".join(path.read_text(errors="replace") for path in sorted(folder_of(library).glob("*.h")))
        text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
        return re.sub(r"\s+", " ", text)

    return read


def table(name: str) -> dict[str, list[str]]:
    """The fields of a table of functions, with the types of their parameters."""
    text = re.sub(r"//[^\n]*", "", (SOURCES / "functions.rs").read_text())
    (block,) = re.findall(rf"{name}Functions, {name}Names \{{(.*?)\n    \}}", text, re.DOTALL)
    fields = re.findall(r"(\w+): fn\(([^;]*)\) -> [^;]+;", block)
    return {field: [part.strip() for part in types.split(",") if part.strip()] for field, types in fields}


def names(file: str, kind: str, after: str = "") -> dict[str, str]:
    """What a library calls the fields of a table."""
    text = (SOURCES / file).read_text()
    text = text[text.index(after) :]
    start = text.index(f"{kind}Names {{", text.index("= ") if after else 0)
    return dict(re.findall(r'(\w+): c"(\w+)"', text[start : text.index("}", start)]))


def declared(text: str, function: str) -> list[str] | None:
    """Types of the parameters of a function, without names; None where it is not declared."""
    found = re.search(rf"\b{function} ?\(([^;{{]*?)\) ?;", text)
    if found is None:
        return None
    kinds = []
    for parameter in filter(None, (part.strip() for part in found[1].split(","))):
        kind = re.sub(r"\bconst\b", "", parameter).strip()
        kind = re.sub(r"\w+ ?(\[\])?$", lambda name: "*" if name[1] else "", kind).strip() or kind
        kinds.append(re.sub(r"\s*\*", "*", kind))
    return kinds


TABLES = [
    ("cudnn", "Cudnn", "cudnn.rs", ""),
    ("cudnn", "CudnnGraph", "cudnn_graph.rs", ""),
    ("miopen", "Miopen", "miopen.rs", ""),
    ("rocblas", "Rocblas", "rocblas.rs", ""),
    ("rocblas", "Geam", "matrix_sum.rs", "static HIP"),
    ("cublas", "Geam", "matrix_sum.rs", "static CUDA"),
]


@pytest.mark.parametrize(("library", "kind", "file", "after"), TABLES)
def test_every_function_is_declared_with_the_same_parameters(
    header: Callable[[str], str], library: str, kind: str, file: str, after: str
) -> None:
    text, fields, called = header(library), table(kind), names(file, kind, after)
    assert sorted(fields) == sorted(called)
    assert len(fields) >= 6
    for field, function in called.items():
        theirs = declared(text, function)
        assert theirs is not None, f"{function} is not declared"
        ours = fields[field]
        assert len(ours) == len(theirs), f"{function}: {ours} against {theirs}"
        pairs = zip(ours, theirs, strict=True)
        misfits = [
            pair
            for pair in pairs
            if not re.fullmatch(POINTER if "*" in pair[0] else FITTING.get(pair[0], NUMBER), pair[1])
        ]
        assert not misfits, f"{function}: {misfits}"


NUMBERS = {
    "cudnn": {
        "CUDNN_DATA_FLOAT": 0,
        "CUDNN_DATA_DOUBLE": 1,
        "CUDNN_DATA_HALF": 2,
        "CUDNN_DATA_BFLOAT16": 9,
        "CUDNN_TENSOR_NCHW": 0,
        "CUDNN_TENSOR_NHWC": 1,
        "CUDNN_CROSS_CORRELATION": 1,
        "CUDNN_ACTIVATION_IDENTITY": 5,
        "CUDNN_DETERMINISTIC": 1,
        "CUDNN_DEFAULT_MATH": 0,
        "CUDNN_TENSOR_OP_MATH": 1,
        "CUDNN_FMA_MATH": 3,
        "CUDNN_STATUS_NOT_SUPPORTED": 3000,
        "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM": 0,
        "CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM": 1,
        "CUDNN_CONVOLUTION_FWD_ALGO_GEMM": 2,
        "CUDNN_CONVOLUTION_BWD_DATA_ALGO_1": 1,
        "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1": 1,
    },
    "miopen": {
        "miopenHalf": 0,
        "miopenFloat": 1,
        "miopenBFloat16": 5,
        "miopenConvolution": 0,
        "MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL": 0,
        "MIOPEN_CONVOLUTION_ATTRIB_DETERMINISTIC": 1,
        "miopenStatusNotImplemented": 6,
        "miopenStatusUnsupportedOp": 8,
        "miopenConvolutionAlgoGEMM": 0,
        "miopenConvolutionAlgoDirect": 1,
        "miopenConvolutionAlgoImplicitGEMM": 5,
    },
    "rocblas": {
        "rocblas_operation_none": 111,
        "rocblas_operation_transpose": 112,
        "rocblas_status_not_implemented": 2,
        "rocblas_status_excluded_from_build": 14,
        "rocblas_status_arch_mismatch": 15,
    },
    "cublas": {
        "CUBLAS_OP_N": 0,
        "CUBLAS_OP_T": 1,
        "CUBLAS_STATUS_ARCH_MISMATCH": 8,
        "CUBLAS_STATUS_NOT_SUPPORTED": 15,
    },
}


@pytest.mark.parametrize("library", NUMBERS)
def test_numbers_are_those_of_the_vendor(header: Callable[[str], str], library: str) -> None:
    text, ours = header(library), NUMBERS[library]
    found = {name: re.search(rf"\b{name}\b[^,=}}]*= ?(\d+)", text) for name in ours}
    assert {name: match and int(match[1]) for name, match in found.items()} == ours


def test_numbers_of_graphs_are_those_of_the_vendor(header: Callable[[str], str]) -> None:
    text = header("cudnn")
    source = (SOURCES / "cudnn_graph.rs").read_text()
    forms = {"kind": "CUDNN_BACKEND_{}_DESCRIPTOR", "name": "CUDNN_ATTR_{}", "is": "CUDNN_TYPE_{}"}
    longer = {"DESCRIPTOR": "BACKEND_DESCRIPTOR"} | {
        f"OPERATION_{name}": f"OPERATION_CONVOLUTION_{name}" for name in ("FORWARD", "BACKWARD_FILTER", "BACKWARD_DATA")
    }
    wanted = {"CUDNN_HEUR_MODE_A": 3, "CUDNN_HEUR_MODE_FALLBACK": 2}
    for module, form in forms.items():
        (block,) = re.findall(rf"mod {module} \{{(.*?)\n\}}", source, re.DOTALL)
        for name, number in re.findall(r"const (\w+): i32 = (\d+)", block):
            wanted[form.format(longer.get(name, name))] = int(number)
    for name in (
        "TENSOR_CORE",
        "DOWN_CONVERT_INPUTS",
        "REDUCED_PRECISION_REDUCTION",
        "FFT",
        "NONDETERMINISTIC",
        "WINOGRAD",
    ):
        (number,) = re.findall(rf"const {name}: i32 = (\d+)", source)
        wanted[f"CUDNN_NUMERICAL_NOTE_{name}"] = int(number)
    prefixes = {"Forward": "FORWARD", "ImageGradient": "BWD_DATA", "WeightGradient": "BWD_FILTER"}
    letters = {"Forward": "X W Y", "ImageGradient": "DX W DY", "WeightGradient": "X DW DY"}
    for branch, prefix in prefixes.items():
        (numbers,) = re.findall(rf"ConvolvePass::{branch} => \(\s*kind::\w+,\s*\[([\d, ]+)\]", source)
        parts = ["CONV_DESC", *letters[branch].split(), "ALPHA", "BETA"]
        for part, number in zip(parts, numbers.split(", "), strict=True):
            wanted[f"CUDNN_ATTR_OPERATION_CONVOLUTION_{prefix}_{part}"] = int(number)
    # Enumerators without a number follow the one before.
    found: dict[str, int] = {}
    for body in re.findall(r"enum(?: \w+)? ?\{([^}]*)\}", text):
        number = -1
        for entry in filter(None, (part.strip() for part in body.split(","))):
            match = re.fullmatch(r"(\w+)(?:\s+\w+\(?[^=]*\)?)?(?: ?= ?(\d+))?.*", entry)
            if match is None:
                continue
            number = int(match[2]) if match[2] else number + 1
            found[match[1]] = number
    assert {name: found.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(
    ("library", "record", "fields"),
    [
        *(
            (
                "cudnn",
                f"cudnnConvolution{kind}AlgoPerf_t",
                ["algo", "status", "time", "memory", "determinism", "mathType", "reserved"],
            )
            for kind in ("Fwd", "BwdData", "BwdFilter")
        ),
        ("miopen", "miopenConvSolution_t", ["time", "workspace_size", "solution_id", "algorithm"]),
    ],
)
def test_records_have_the_fields_of_the_vendor(
    header: Callable[[str], str], library: str, record: str, fields: list[str]
) -> None:
    found = re.search(rf"\{{([^{{}}]*)\}} ?{record}\b", header(library))
    assert found is not None
    parts = [part.strip() for part in found[1].split(";") if part.strip()]
    assert [re.sub(r"\[\d+\]$", "", part).rsplit(" ", 1)[1] for part in parts] == fields
    kinds = [part.rsplit(" ", 1)[0] for part in parts]
    assert kinds[fields.index("time")] == "float"
    assert kinds[1 if library == "miopen" else 3] == "size_t"
