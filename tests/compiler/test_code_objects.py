"""AMD code objects: compiled for every target, linked by our linker, compared with the results of lld."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import amdgpu
import pytest
from amdgpu import _native, codegen, errors
from elf_file import (
    ABSOLUTE,
    ALLOCATE,
    DYNAMIC_SYMBOLS,
    NO_BITS,
    NOTE,
    RELOCATIONS,
    SHARED,
    SYMBOLS,
    ElfFile,
    Relocation,
    Symbol,
)

# Name and `EF_AMDGPU_MACH` of LLVM's "User Guide for AMDGPU Backend".
TARGETS = {
    "gfx900": 0x2C,
    "gfx906": 0x2F,
    "gfx908": 0x30,
    "gfx90a": 0x3F,
    "gfx942": 0x4C,
    "gfx950": 0x4F,
    "gfx1010": 0x33,
    "gfx1030": 0x36,
    "gfx1100": 0x41,
    "gfx1101": 0x46,
    "gfx1102": 0x47,
    "gfx1103": 0x44,
    "gfx1151": 0x4A,
    "gfx1200": 0x48,
    "gfx1201": 0x4E,
}
KERNELS = Path(__file__).parents[1] / "kernels"
TABLES = """
__global__ void tables(float* out, const int* order, int n) {
    static const float weights[37] = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f};
    static const int four[4] = {3, 1, 4, 1};
    static const double steps[] = {1.0, 0.5, 0.25, 0.125, 0.0625};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = weights[order[i] % 37] + four[order[i] & 3] * (float)steps[i % 5];
}
__global__ void second(int* out, int n) {
    static const short odd[9] = {1, 3, 5, 7, 9, 11, 13, 15, 17};
    if (threadIdx.x < n) out[threadIdx.x] = odd[threadIdx.x % 9];
}
"""
VARIABLES = """
__constant__ float taps[5];
__constant__ int order[3] = {2, 0, 1};
__device__ unsigned int calls;
__device__ double start[4] = {1.0, 2.0};
__device__ int next_number() { static int number = 40; return atomicAdd(&number, 1); }
__global__ void use(float* out) {
    atomicAdd(&calls, 1u);
    out[threadIdx.x] = taps[threadIdx.x] + (float)start[order[threadIdx.x % 3]] + (float)next_number();
}
"""
SOURCES = {
    "variables": VARIABLES,
    "vector_add": (KERNELS / "vector_add.hip").read_text(),
    "saxpy": (KERNELS / "saxpy.hip").read_text(),
    "tables": TABLES,
}
# What our compiler does not make and LLVM may: variables, addresses of variables, calls through the global offset table.
WITH_DATA = """
target triple = "amdgcn-amd-amdhsa"
@table = internal unnamed_addr addrspace(4) constant [5 x i32] [i32 1, i32 2, i32 3, i32 4, i32 5], align 4
@small = private unnamed_addr addrspace(4) constant [4 x i32] [i32 9, i32 8, i32 7, i32 6], align 16
@zeroed = addrspace(1) global [100 x i32] zeroinitializer, align 64
@shown = addrspace(1) global [4 x i32] [i32 7, i32 1, i32 2, i32 3], align 4
@pointer = protected addrspace(1) global ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @zeroed, i64 12), align 8
@kept = internal addrspace(1) global ptr addrspace(1) @shown, align 8
@places = addrspace(4) constant [2 x ptr addrspace(1)] [ptr addrspace(1) @zeroed, ptr addrspace(1) @shown], align 8
define internal i32 @inner(i32 %x) noinline {
  %r = mul i32 %x, 77
  ret i32 %r
}
define i32 @outer(i32 %x) noinline {
  %r = call i32 @inner(i32 %x)
  ret i32 %r
}
define hidden i32 @unseen(i32 %x) noinline {
  %r = add i32 %x, 3
  ret i32 %r
}
define protected amdgpu_kernel void @first(ptr addrspace(1) %p, i32 %i) {
  %a = getelementptr i32, ptr addrspace(4) @table, i32 %i
  %b = load i32, ptr addrspace(4) %a
  %s = getelementptr i32, ptr addrspace(4) @small, i32 %i
  %t = load i32, ptr addrspace(4) %s
  %c = getelementptr i32, ptr addrspace(1) @zeroed, i32 %i
  %d = load volatile i32, ptr addrspace(1) %c
  %e = load volatile ptr addrspace(1), ptr addrspace(1) @kept
  %f = load i32, ptr addrspace(1) %e
  %g = call i32 @outer(i32 %d)
  %h = call i32 @unseen(i32 %g)
  %j = load volatile ptr addrspace(1), ptr addrspace(1) @pointer
  %k = load i32, ptr addrspace(1) %j
  %l = add i32 %b, %f
  %m = add i32 %l, %h
  %n = add i32 %m, %k
  %o = add i32 %n, %t
  store i32 %o, ptr addrspace(1) %p
  ret void
}
define amdgpu_kernel void @second(ptr addrspace(1) %p) {
  store i32 1, ptr addrspace(1) %p
  ret void
}
"""
ABS64, REL64, GOT_LOW, GOT_HIGH, REL_HIGH, RELATIVE64 = 3, 5, 8, 9, 11, 13
LOAD = 1


def relocatable(llvm_ir: str, target: str, level: int = 2) -> bytes:
    return codegen.generate(llvm_ir, "amdgcn-amd-amdhsa", target, "", level, "object")


def object_of(name: str, target: str) -> bytes:
    if name == "data":
        return relocatable(WITH_DATA, target, 0)
    return relocatable(_native.compile_source(SOURCES[name], target, emit="llvm")["content"], target)


@pytest.fixture(scope="session")
def lld(tmp_path_factory):
    """Links with an lld that knows these objects; skips where there is none."""
    folder = tmp_path_factory.mktemp("lld")
    probe = folder / "probe.o"
    probe.write_bytes(relocatable(WITH_DATA, "gfx1100"))
    candidates = [[found] for name in ("ld.lld", "ld.lld-22", "ld.lld-21") if (found := shutil.which(name))]
    candidates.append([sys.executable, "-m", "ziglang", "ld.lld"])

    def linker(command):
        def link(code: bytes) -> bytes:
            source, result = folder / "in.o", folder / "out.so"
            source.write_bytes(code)
            # -O0 leaves equal constants apart, as our linker does.
            done = subprocess.run(
                [*command, "-shared", "-O0", str(source), "-o", str(result)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            return result.read_bytes()

        return link

    reasons = []
    for command in candidates:
        done = subprocess.run(
            [*command, "-shared", str(probe), "-o", str(folder / "probe.so")],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return linker(command)
        reasons.append((done.stderr.strip().splitlines() or ["it fails"])[-1])
    pytest.skip(f"no lld for this version of AMD objects: {'; '.join(reasons)}")


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", SOURCES)
def test_kernels_become_loadable_code_objects(name: str, target: str) -> None:
    unit = _native.compile_source(SOURCES[name], target)
    assert unit["file_extension"] == "hsaco"
    image = ElfFile(unit["content"])
    assert (image.file_type, image.machine, image.os_abi) == (SHARED, 224, 64)
    assert image.flags & 0xFF == TARGETS[target]
    symbols = {symbol.name: symbol for symbol in image.symbols(DYNAMIC_SYMBOLS)}
    kernels = [kernel["name"] for kernel in unit["kernels"]]
    variables = [variable["name"] for variable in unit["globals"]]
    assert set(symbols) == {"", *kernels, *(f"{kernel}.kd" for kernel in kernels), *variables}
    for kernel in kernels:
        code, descriptor = symbols[kernel], symbols[f"{kernel}.kd"]
        assert (descriptor.size, descriptor.value % 64, code.value % 256) == (64, 0, 0)
        assert image.place(code.value)[0] == ".text"
        # kernel_code_entry_byte_offset: from the descriptor to the code.
        assert (descriptor.value + image.read(descriptor.value + 16, 8)) % 2**64 == code.value
    for resources in unit["resources"]:
        assert resources["wavefront_size"] == (32 if len(target) == 7 else 64)
        assert 0 < resources["vgpr_count"] <= 512
        assert 0 < resources["sgpr_count"] <= 128
    assert [resources["kernel"] for resources in unit["resources"]] == kernels


def link_places(original: ElfFile) -> dict[int, tuple[str, int]]:
    """Where each loaded section of an object has to go: output section, offset. Sections follow in order, aligned."""
    ends: dict[str, int] = {}
    places = {}
    for index, section in enumerate(original.sections):
        if not section.flags & ALLOCATE:
            continue
        prefixes = [p for p in (".text", ".rodata", ".data.rel.ro", ".data", ".bss") if section.name.startswith(p)]
        output = prefixes[0] if prefixes else section.name
        begin = -(-ends.get(output, 0) // max(section.align, 1)) * max(section.align, 1)
        places[index] = (output, begin)
        ends[output] = begin + section.size
    return places


def left_to_the_loader(linked: ElfFile) -> dict[int, tuple[int, object]]:
    """For each address that the loader fills in: the kind of record, and the symbol or place that it stands for."""
    names = [symbol.name for symbol in linked.symbols(DYNAMIC_SYMBOLS)]
    result: dict[int, tuple[int, object]] = {}
    for section in linked.sections:
        for record in linked.relocations(section) if section.kind == RELOCATIONS else ():
            assert record.kind in {ABS64, RELATIVE64}
            goal = (names[record.symbol], record.addend) if record.kind == ABS64 else linked.place(record.addend)
            result[record.offset] = (record.kind, goal)
    return result


def relocated(original: ElfFile, linked: ElfFile) -> tuple[dict[str, bytes], list[object]]:
    """The bytes of all sections with zeros where relocations wrote, and what was written there, as symbols and places."""
    places = link_places(original)
    left = left_to_the_loader(linked)
    contents = {output: bytearray(linked.section(output).data) for output, _ in places.values()}
    symbols = original.symbols(SYMBOLS)
    table_entries: dict[int, int] = {}
    sites: list[object] = []

    def address(symbol: Symbol) -> int:
        output, begin = places[symbol.section]
        return linked.section(output).address + begin + symbol.value

    def goal(record: Relocation, place: int, stored: int) -> object:
        """What a record made of its place stands for; the stored number is checked on the way."""
        if record.kind == ABS64:
            return left[place]
        if record.kind == GOT_LOW:
            table_entries[record.symbol] = (place + stored - record.addend) % 2**32
        is_table = record.kind in {GOT_LOW, GOT_HIGH}
        meant = table_entries[record.symbol] if is_table else address(symbols[record.symbol])
        value = (meant + record.addend - place) % 2**64
        assert stored == {REL64: value, REL_HIGH: value >> 32, GOT_HIGH: value >> 32}.get(record.kind, value % 2**32)
        return left[meant] if is_table else linked.place(meant)

    for records in original.sections:
        if records.kind != RELOCATIONS or records.info not in places:
            continue
        output, begin = places[records.info]
        for record in original.relocations(records):
            offset, size = begin + record.offset, 8 if record.kind in {ABS64, REL64} else 4
            stored = int.from_bytes(contents[output][offset : offset + size], "little")
            contents[output][offset : offset + size] = bytes(size)
            sites.append((output, offset, record.kind, goal(record, linked.section(output).address + offset, stored)))
    return {output: bytes(content) for output, content in contents.items()}, sites


def meaning(original: ElfFile, linked: ElfFile) -> dict[str, object]:
    """All that a loader and a kernel see of a linked file, without the addresses that a linker is free to choose."""
    loads = [segment for segment in linked.segments if segment.kind == LOAD]
    for segment in loads:
        assert segment.offset % 4096 == segment.address % 4096
        assert segment.align % 4096 == 0

    def shape(symbol: Symbol) -> tuple[object, ...]:
        home = symbol.value if symbol.section == ABSOLUTE else linked.place(symbol.value)
        return symbol.kind, symbol.binding, symbol.visibility, symbol.size, home

    contents, sites = relocated(original, linked)
    kept = [symbol for symbol in linked.symbols(SYMBOLS) if symbol.name not in {"", "_DYNAMIC"}]
    return {
        "header": (linked.file_type, linked.machine, linked.os_abi, linked.abi_version, linked.flags),
        "dynamic symbols": {symbol.name: shape(symbol) for symbol in linked.symbols(DYNAMIC_SYMBOLS)[1:]},
        "symbols": sorted((symbol.name, *map(str, shape(symbol))) for symbol in kept),
        "contents": contents,
        "zeroed": [section.size for section in linked.sections if section.kind == NO_BITS and section.name == ".bss"],
        "notes": [section.data for section in linked.sections if section.kind == NOTE],
        "relocated places": sites,
        "left to the loader": sorted(left_to_the_loader(linked).values(), key=str),
        "permissions": [segment.flags for segment in loads],
        "kinds of segments": sorted(segment.kind for segment in linked.segments),
    }


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", [*SOURCES, "data"])
def test_code_objects_mean_what_those_of_lld_mean(name: str, target: str, lld) -> None:
    original = object_of(name, target)
    ours, _ = _native.link_code_object(original)
    expected = meaning(ElfFile(original), ElfFile(lld(original)))
    found = meaning(ElfFile(original), ElfFile(ours))
    for part, value in expected.items():
        assert found[part] == value, part


def test_the_comparison_notices_differences(lld) -> None:
    original = object_of("data", "gfx1100")
    parsed = ElfFile(original)
    ours = bytearray(_native.link_code_object(original)[0])
    expected = meaning(parsed, ElfFile(lld(original)))
    text = ElfFile(bytes(ours)).section(".text")
    ours[ElfFile(bytes(ours)).data.index(text.data)] ^= 1
    assert meaning(parsed, ElfFile(bytes(ours)))["contents"] != expected["contents"]


def test_damaged_objects_are_errors() -> None:
    original = object_of("data", "gfx1100")
    rng = random.Random(20261121)
    for _ in range(2000):
        damaged = bytearray(original)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        cut = bytes(damaged[: rng.randrange(len(damaged))]) if rng.random() < 0.3 else bytes(damaged)
        try:
            linked, _ = _native.link_code_object(cut)
        except errors.CodeGenerationError:
            continue
        assert linked.startswith(b"\x7fELF")


def test_undefined_symbols_are_named() -> None:
    ir = """
    declare i32 @nowhere(i32)
    define amdgpu_kernel void @k(ptr addrspace(1) %p) {
      %r = call i32 @nowhere(i32 1)
      store i32 %r, ptr addrspace(1) %p
      ret void
    }
    """
    with pytest.raises(errors.CodeGenerationError, match="nowhere"):
        _native.link_code_object(relocatable(ir, "gfx1100"))


def test_null_devices_load_linked_code_objects_and_tell_resources(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    for first_answer in ("miss", "disk"):
        with amdgpu.initialize_device("null:gfx1100", ["aura"]) as device:
            small = device.compile_kernel(TABLES, name="second")
            large = device.compile_kernel(TABLES, name="tables")
        assert (small.cache_answer, large.cache_answer) == (first_answer, "memory")
        assert small.resources["kernel"] == "second"
        assert small.resources["wavefront_size"] == 32
        assert small.resources["occupancy"]["waves_per_simd"] == 16
        assert small.resources["occupancy_threads"] == 256
        assert large.resources["vgpr_count"] > small.resources["vgpr_count"] > 0
        occupancy = small.occupancy(256)
        assert (occupancy["unit"], occupancy["groups_per_unit"], occupancy["waves_per_simd"]) == ("WGP", 8, 16)
        assert occupancy["limited_by"] == "waves"
        assert small.occupancy((16, 16), shared_bytes=60 << 10)["groups_per_unit"] == 2
        assert small.occupancy(256, shared_bytes=60 << 10)["limited_by"] == "local memory"
        with pytest.raises(amdgpu.errors.InvalidLaunchError, match="block"):
            small.occupancy(5000)
    (cached,) = [path for path in tmp_path.rglob("*") if path.is_file() and b"\x7fELF" in path.read_bytes()]
    content = cached.read_bytes()
    assert ElfFile(content[content.index(b"\x7fELF") :]).file_type == SHARED
    with amdgpu.initialize_device("cpu:0", ["aura"]) as device:
        kernel = device.compile_kernel(TABLES, name="second")
        assert kernel.resources is None
        assert kernel.occupancy(256) is None
