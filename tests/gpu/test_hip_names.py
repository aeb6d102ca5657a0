"""The HIP column of the table of driver functions, compared with AMD's own declarations.

HIP cannot run on the machines these tests run on. What can be checked without a GPU is checked: every name exists, takes as many
parameters as our table says, of fitting kinds, and the numbers of attributes and flags are AMD's. The declarations are those that the
`hip-python` wheel carries; pip fetches the wheel once into pytest's cache, and without it the tests skip. Nothing of it is installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "crates/amdgpu-hal/src"
# The last release whose wheel holds declarations as text.
WHEEL = "hip-python==7.2.2.562.43"
DOWNLOAD_SECONDS = 120

ENTRY = re.compile(r'^    (\w+)\(([^)]*)\)\s*=\s*c"(cu\w+)",\s*c"(hip\w+)";', re.MULTILINE)
DECLARATION = re.compile(r"^cdef hipError_t (hip\w+)\(([^)]*)\)", re.MULTILINE)

# Rust types of the table, and which C types (without `const` and names) they stand for.
POINTER = r".*\*|hip(Ctx|Stream|Event|Module|Function|Graph|GraphExec)_t|hipDeviceptr_t"
FITTING = {
    "u8": r"unsigned char",
    "u32": r"unsigned int|hipStreamCaptureMode",
    "u64": r"unsigned long long",
    "i32": r"int|hip(DeviceAttribute|Function_attribute|FuncAttribute)\w*|hipFunction_attribute|hipPointer_attribute",
    "usize": r"unsigned long|size_t",
    "Status": r"hipError_t",
    "Handle": POINTER,
    "Address": POINTER,
}


@pytest.fixture(scope="module")
def declarations(request: pytest.FixtureRequest) -> str:
    """The text of `chip.pxd`, hip-python's mirror of `hip_runtime_api.h`."""
    cache = getattr(request.config, "cache", None)
    if cache is None:
        pytest.skip("there is no pytest cache to fetch hip-python to (-p no:cacheprovider)")
    folder = Path(cache.mkdir("hip-python"))
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--python-version", "3.11", "--platform", "manylinux_2_17_x86_64", "--dest", str(folder), WHEEL]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{WHEEL} was not downloaded within {DOWNLOAD_SECONDS} s")
        if done.returncode:
            pytest.skip(f"{WHEEL} cannot be downloaded: {done.stderr.strip().splitlines()[-1:]}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return wheel.read("hip/chip.pxd").decode()


@pytest.fixture(scope="module")
def table() -> dict[str, list[str]]:
    """HIP name to parameter types, as the crate has them."""
    text = re.sub(r"\s*\n\s*=\s*", " = ", (SOURCES / "gpu/functions.rs").read_text())
    entries = {hip: parameters for _, parameters, _, hip in ENTRY.findall(text)}
    return {name: [part.strip() for part in types.split(",") if part.strip()] for name, types in entries.items()}


def declared(declarations: str) -> dict[str, list[str]]:
    functions = {}
    for name, parameters in DECLARATION.findall(declarations):
        kinds = []
        for parameter in filter(None, (part.strip() for part in parameters.split(","))):
            kind = re.sub(r"\bconst\b", "", parameter).rsplit(" ", 1)[0] if " " in parameter else parameter
            kinds.append(re.sub(r"\s+", " ", kind).replace(" *", "*").replace("* ", "*").strip())
        functions[name] = kinds
    return functions


def fits(ours: str, theirs: str) -> bool:
    pattern = POINTER if ours.startswith("*") else FITTING[ours]
    return re.fullmatch(pattern, theirs) is not None


def test_the_table_was_read_whole(table: dict[str, list[str]]) -> None:
    text = (SOURCES / "gpu/functions.rs").read_text()
    assert len(table) == len(re.findall(r'c"hip\w+"', text)) > 35


def test_every_function_is_declared_with_the_same_parameters(table: dict[str, list[str]], declarations: str) -> None:
    theirs = declared(declarations)
    assert len(theirs) > 300
    assert sorted(set(table) - set(theirs)) == []
    for name, parameters in table.items():
        assert len(parameters) == len(theirs[name]), f"{name}: {parameters} against {theirs[name]}"
        misfits = [pair for pair in zip(parameters, theirs[name], strict=True) if not fits(*pair)]
        assert not misfits, f"{name}: {misfits}"


def enumeration(declarations: str, name: str) -> int:
    """Value of a device attribute.

    The text leaves values to the C compiler. In the header they count up from the first real one, to which
    `hipDeviceAttributeCudaCompatibleBegin` is equal, and `hipDeviceAttributePciDomainID` is a second spelling.
    """
    lines = [line.strip() for line in declarations.splitlines()]
    lines.remove("hipDeviceAttributePciDomainID")
    return lines.index(name) - lines.index("hipDeviceAttributeCudaCompatibleBegin") - 1


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("max_threads_per_block", ["MaxThreadsPerBlock"]),
        ("max_block", ["MaxBlockDimX", "MaxBlockDimY", "MaxBlockDimZ"]),
        ("max_grid", ["MaxGridDimX", "MaxGridDimY", "MaxGridDimZ"]),
        ("shared_memory_per_block", ["MaxSharedMemoryPerBlock"]),
        ("warp_size", ["WarpSize"]),
        ("clock_kilohertz", ["ClockRate"]),
        ("compute_units", ["MultiprocessorCount"]),
        ("level2_cache", ["L2CacheSize"]),
    ],
)
def test_attribute_numbers_are_those_of_the_header(field: str, names: list[str], declarations: str) -> None:
    value = re.search(rf"^        {field}: \[?([\d, ]+)\]?,$", (SOURCES / "hip.rs").read_text(), re.MULTILINE)
    assert value is not None
    ours = [int(number) for number in value[1].split(",")]
    assert ours == [enumeration(declarations, f"hipDeviceAttribute{name}") for name in names]
