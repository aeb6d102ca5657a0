"""The 12-kernel suite on an NVIDIA GPU: PTX of our compiler against `nvcc -O3`, same source, same inputs, same launches.

    python tests/gpu/kernels_vs_nvcc.py [--only NAME,…] [--size gpu] [--level high] [--nvcc PATH] [--sources FOLDER]
        [--disable-pass NAME]

Both modules are loaded into one context through the driver API (ctypes, no other package than numpy and llvmlite) and timed with
events in turns; the results are compared before. Prints a table and writes bench-results/kernels_vs_nvcc-*.json, which
`./x bench kernels -- --plot` draws. `--sources` only writes what would be compiled, and needs no GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))

import frame
from suite import cases

ROUNDS = 15
# Launches between two events: long enough for the events' resolution of half a microsecond not to show.
ROUND_MILLISECONDS = 10.0
MAX_LAUNCHES = 2000
NVCC_PLACES = ("/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc")
NVCC_FLAGS = ("-O3", "-cubin", "-std=c++17", "--expt-relaxed-constexpr", "-w")
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76


class Driver:
    """The functions of libcuda that are needed here; each failure names the function and the driver's own message."""

    def __init__(self) -> None:
        try:
            self._library = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise SystemExit(f"no NVIDIA driver on this machine: {error}") from None
        self("cuInit", 0)
        device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(device), 0)
        name = ctypes.create_string_buffer(256)
        self("cuDeviceGetName", name, 256, device)
        self.name = name.value.decode()
        self.architecture = (
            f"sm_{self._attribute(device, COMPUTE_CAPABILITY_MAJOR)}{self._attribute(device, COMPUTE_CAPABILITY_MINOR)}"
        )
        version = ctypes.c_int()
        self("cuDriverGetVersion", ctypes.byref(version))
        self.version = f"{version.value // 1000}.{version.value % 1000 // 10}"
        context = ctypes.c_void_p()
        self("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self("cuCtxSetCurrent", context)

    def __call__(self, function: str, *arguments: Any) -> None:
        """Calls a function of the driver; anything but success ends the program."""
        code = getattr(self._library, function)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._library.cuGetErrorString(code, ctypes.byref(text))
            raise SystemExit(f"{function} failed with {code}: {(text.value or b'unknown error').decode()}")

    def _attribute(self, device: ctypes.c_int, which: int) -> int:
        value = ctypes.c_int()
        self("cuDeviceGetAttribute", ctypes.byref(value), which, device)
        return value.value

    def upload(self, values: np.ndarray[Any, Any]) -> ctypes.c_uint64:
        """Memory of the device with a copy of an array."""
        pointer = ctypes.c_uint64()
        self("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(values.nbytes))
        self.write(pointer, values)
        return pointer

    def write(self, pointer: ctypes.c_uint64, values: np.ndarray[Any, Any]) -> None:
        """Copies an array to memory of the device."""
        values = np.ascontiguousarray(values)
        self("cuMemcpyHtoD_v2", pointer, ctypes.c_void_p(values.ctypes.data), ctypes.c_size_t(values.nbytes))

    def read(self, pointer: ctypes.c_uint64, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """An array like the given one with what the device's memory holds."""
        values = np.empty_like(like, order="C")
        self("cuMemcpyDtoH_v2", ctypes.c_void_p(values.ctypes.data), pointer, ctypes.c_size_t(values.nbytes))
        return values

    def free(self, pointer: ctypes.c_uint64) -> None:
        """Gives memory back."""
        self("cuMemFree_v2", pointer)


class Program:
    """A kernel of a loaded module, with its arguments packed."""

    def __init__(self, driver: Driver, image: bytes, case: cases.Case, pointers: dict[int, ctypes.c_uint64]) -> None:
        self._driver = driver
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        self._image = ctypes.create_string_buffer(image)
        driver("cuModuleLoadData", ctypes.byref(self._module), self._image)
        driver("cuModuleGetFunction", ctypes.byref(self._function), self._module, case.kernel.encode())
        self._values = [
            pointers[place] if place in pointers else scalar(value) for place, value in enumerate(case.arguments)
        ]
        addresses = [ctypes.cast(ctypes.byref(value), ctypes.c_void_p) for value in self._values]
        self._packed = (ctypes.c_void_p * len(addresses))(*addresses)
        self._shape = [*(*case.grid, 1, 1)[:3], *(*case.block, 1, 1)[:3], case.shared_bytes]
        self._events = [ctypes.c_void_p(), ctypes.c_void_p()]
        for event in self._events:
            driver("cuEventCreate", ctypes.byref(event), 0)

    def launch(self) -> None:
        """Puts one launch into the default stream."""
        self._driver("cuLaunchKernel", self._function, *self._shape, None, self._packed, None)

    def milliseconds(self, count: int) -> float:
        """Time of a launch, from events around so many of them."""
        begin, end = self._events
        self._driver("cuEventRecord", begin, None)
        for _ in range(count):
            self.launch()
        self._driver("cuEventRecord", end, None)
        self._driver("cuEventSynchronize", end)
        elapsed = ctypes.c_float()
        self._driver("cuEventElapsedTime", ctypes.byref(elapsed), begin, end)
        return elapsed.value / count

    def unload(self) -> None:
        """Gives module and events back."""
        for event in self._events:
            self._driver("cuEventDestroy_v2", event)
        self._driver("cuModuleUnload", self._module)


def scalar(value: Any) -> Any:
    """A NumPy scalar as the C type of the same bits."""
    types = {"int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "float32": ctypes.c_float}
    return types[value.dtype.name](value.item())


def nvcc_source(case: cases.Case) -> str:
    """The same text for nvcc: without HIP's header, and with names that are not mangled."""
    lines = [line for line in case.path.read_text().splitlines() if not line.lstrip().startswith("#include <hip/")]
    return "\n".join(["#include <cmath>", "#include <cstdint>", 'extern "C" {', *lines, "}", ""])


def find_nvcc(wanted: str | None) -> str:
    """Where nvcc is."""
    candidates = [wanted] if wanted else [os.environ.get("NVCC"), shutil.which("nvcc"), *NVCC_PLACES]
    for candidate in candidates:
        if candidate and Path(candidate).is_file():
            return candidate
    raise SystemExit("no nvcc here; say where it is with --nvcc PATH")


def nvcc_cubin(nvcc: str, architecture: str, case: cases.Case, folder: Path) -> bytes:
    """Machine code of nvcc for this GPU."""
    source, cubin = folder / f"{case.file}.cu", folder / f"{case.file}.cubin"
    source.write_text(nvcc_source(case))
    command = [nvcc, *NVCC_FLAGS, f"-arch={architecture}", "-o", str(cubin), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"nvcc does not take {case.file}.hip:\n{done.stderr.strip()}")
    return cubin.read_bytes()


def our_ptx(architecture: str, case: cases.Case, level: str, disabled: list[str]) -> bytes:
    """PTX of our compiler, which the driver turns into machine code."""
    from amdgpu import _native

    built = _native.compile_source(
        case.path.read_text(),
        architecture,
        name=f"{case.file}.hip",
        optimization_level=level,
        disabled_passes=disabled,
    )
    return str(built["content"]).encode() + b"\0"


def compare(
    driver: Driver,
    case: cases.Case,
    programs: list[Program],
    arrays: dict[int, np.ndarray[Any, Any]],
    pointers: dict[int, ctypes.c_uint64],
) -> None:
    """Launches each program once on fresh data; ends when one does nothing or the results differ."""
    results = []
    for name, program in zip(("ours", "nvcc"), programs, strict=True):
        for place in case.outputs:
            driver.write(pointers[place], arrays[place])
        program.launch()
        driver("cuCtxSynchronize")
        results.append([driver.read(pointers[place], arrays[place]) for place in case.outputs])
        if all(np.array_equal(after, arrays[place]) for place, after in zip(case.outputs, results[-1], strict=True)):
            raise SystemExit(f"{case.name}: the kernel of {name} changed nothing")
    problem = case.disagreement(*results)
    if problem:
        raise SystemExit(f"ours and nvcc compute different things, so their speed means nothing: {problem}")


def measure(driver: Driver, case: cases.Case, images: list[bytes]) -> tuple[list[list[float]], int]:
    """Milliseconds per launch of both programs in alternating rounds, after comparing what one launch of each gives."""
    arrays = {place: value for place, value in enumerate(case.arguments) if isinstance(value, np.ndarray)}
    pointers = {place: driver.upload(value) for place, value in arrays.items()}
    programs = [Program(driver, image, case, pointers) for image in images]
    compare(driver, case, programs, arrays, pointers)
    for program in programs:
        program.milliseconds(3)
    once = max(program.milliseconds(5) for program in programs)
    count = min(MAX_LAUNCHES, max(3, round(ROUND_MILLISECONDS / max(once, 1e-4))))
    samples: list[list[float]] = [[], []]
    for round_number in range(ROUNDS):
        order = (0, 1) if round_number % 2 == 0 else (1, 0)
        for which in order:
            samples[which].append(programs[which].milliseconds(count))
    for program in programs:
        program.unload()
    for pointer in pointers.values():
        driver.free(pointer)
    return samples, count


def write_sources(folder: Path, chosen: list[str], size: str, disabled: list[str]) -> None:
    """The files that nvcc would get and our PTX beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        case = cases.build(name, size)
        (folder / f"{case.file}.cu").write_text(nvcc_source(case))
        (folder / f"{case.file}.ptx").write_bytes(our_ptx("sm_90", case, "high", disabled).rstrip(b"\0"))
    print(f"{2 * len(chosen)} files in {folder}")


def main() -> None:
    """Measures every kernel asked for and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="NAME,…", help=f"of {', '.join(cases.names())}")
    parser.add_argument("--size", choices=cases.SIZES, default="gpu", help="how much data (default: gpu)")
    parser.add_argument("--level", default="high", help="optimization level of ours (default: high)")
    parser.add_argument("--nvcc", metavar="PATH", help="the compiler (default: $NVCC, the path, /usr/local/cuda)")
    parser.add_argument("--sources", type=Path, metavar="FOLDER", help="only write the sources and our PTX for sm_90")
    parser.add_argument(
        "--disable-pass", dest="disabled", action="append", default=[], metavar="NAME", help="a pass of ours not to run"
    )
    options = parser.parse_args()
    chosen = [name.strip() for name in options.only.split(",") if name.strip()] or cases.names()
    unknown = sorted(set(chosen) - set(cases.names()))
    if unknown:
        parser.error(f"no kernel called {', '.join(unknown)}; there are {', '.join(cases.names())}")
    if options.sources:
        write_sources(options.sources, chosen, "quick", options.disabled)
        return
    nvcc = find_nvcc(options.nvcc)
    release = (
        subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False).stdout.strip().splitlines()
    )
    driver = Driver()
    report = frame.Report("kernels_vs_nvcc", f"nvcc -O3 ({release[-1] if release else nvcc})")
    report.start(f"The 12-kernel suite on {driver.name} ({driver.architecture}, CUDA {driver.version})")
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            case = cases.build(name, options.size)
            images = [
                our_ptx(driver.architecture, case, options.level, options.disabled),
                nvcc_cubin(nvcc, driver.architecture, case, Path(folder)),
            ]
            samples, count = measure(driver, case, images)
            ours, peer = (min(part) for part in samples)
            medians = " and ".join(f"{statistics.median(part):.4g}" for part in samples)
            report.add(
                f"{case.name} / nvcc", "ms", ours, peer, note=f"{case.work}; medians {medians}; {count} launches"
            )
            ratios.append(peer / ours)
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    report.add("geometric mean / nvcc", "ratio", mean, 1.0, higher_is_better=True, note=f"lowest {min(ratios):.2f}")
    command = " ".join(["python", "tests/gpu/kernels_vs_nvcc.py", *sys.argv[1:]])
    report.write(command=command, gpu=f"{driver.name}, driver's CUDA {driver.version}, level {options.level}")


if __name__ == "__main__":
    main()
