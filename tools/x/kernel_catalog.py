"""Which GPU kernels are shipped: the variants of the generators in `zig/src/kernels`, per architecture.

A variant's fields are those of `zig/src/kernels/variant.zig`; what the names mean stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

CDNA = ("gfx90a", "gfx942", "gfx950")
WMMA = ("gfx1100", "gfx1151", "gfx1200", "gfx1201")
AMD = (*CDNA, "gfx1030", *WMMA)
NVIDIA = ("sm_80", "sm_90")
ARCHITECTURES = (*AMD, *NVIDIA)

# (has a bias, activation), by the word that stands for it in a kernel's name.
EPILOGUES = {
    "": (False, "none"),
    "bias": (True, "none"),
    "relu": (True, "relu"),
    "gelu": (True, "gelu"),
    "silu": (True, "silu"),
}
LAYOUTS = {"nn": (False, False), "nt": (False, True), "tn": (True, False), "tt": (True, True)}


@dataclass(frozen=True)
class Matmul:
    """One variant of the matrix product, or of the convolution that multiplies the same way."""

    unit: str
    operand: str
    output: str
    tile: tuple[int, int, int]
    part: tuple[int, int]
    threads: int
    layout: str = "nn"
    is_aligned: bool = True
    # Of k that an instruction takes, where there are several to choose from.
    depth: int = 0
    stages: int = 2
    cluster: int = 1
    epilogue: str = ""
    # Dynamic block memory; 0 where the kernel declares what it uses.
    dynamic_shared_bytes: int = 0
    # Blocks that a unit should hold at once; limits the registers. 0: as many as come out.
    blocks_per_unit: int = 0
    kind: str = "matmul"
    strip: int = 16
    stores: str = "direct"

    @property
    def name(self) -> str:
        """The symbol; says everything that tells two variants of an architecture apart."""
        words = [self.kind, self.operand]
        if self.output != self.operand:
            words.append(self.output)
        words += [self.layout, self.unit, "x".join(map(str, self.tile)), f"s{self.stages}"]
        words += [f"k{self.depth}"] if self.depth else []
        words += [f"c{self.cluster}"] if self.cluster > 1 else []
        words += [f"r{self.strip}"] if self.strip != 16 else []
        words += [] if self.stores == "direct" else [self.stores]
        words += [] if self.is_aligned else ["any"]
        words += [self.epilogue] if self.epilogue else []
        return "_".join(words)

    def zig(self) -> str:
        """The variant as a Zig literal."""
        transpose_a, transpose_b = LAYOUTS[self.layout]
        has_bias, activation = EPILOGUES[self.epilogue]
        fields = {
            "name": f'"{self.name}"',
            "unit": f".{self.unit}",
            "operand": f".{self.operand}",
            "output": f".{self.output}",
            "transpose_a": str(transpose_a).lower(),
            "transpose_b": str(transpose_b).lower(),
            "is_aligned": str(self.is_aligned).lower(),
            "tile_m": self.tile[0],
            "tile_n": self.tile[1],
            "tile_k": self.tile[2],
            "part_m": self.part[0],
            "part_n": self.part[1],
            "depth": self.depth,
            "stages": self.stages,
            "cluster": self.cluster,
            "strip": self.strip,
            "stores": f".{self.stores}",
            "threads": self.threads,
            "epilogue": f".{{ .has_bias = {str(has_bias).lower()}, .activation = .{activation} }}",
        }
        return ".{ " + ", ".join(f".{name} = {value}" for name, value in fields.items()) + " }"

    def record(self) -> dict[str, Any]:
        """What the manifest says about the variant."""
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class Plain:
    """One variant of a kernel that multiplies no matrices: the fields of its description beside name and threads."""

    kind: str
    fields: tuple[tuple[str, str | int | bool], ...]
    threads: int = 256
    dynamic_shared_bytes: int = 0
    blocks_per_unit: int = 0
    cluster: int = 1
    unit: str = ""

    @property
    def name(self) -> str:
        """The symbol."""
        return "_".join([self.kind, *(str(value) for _, value in self.fields if not isinstance(value, bool))])

    def zig(self) -> str:
        """The variant as a Zig literal."""
        fields = {"name": f'"{self.name}"', "threads": self.threads}
        fields |= {name: _zig_value(value) for name, value in self.fields}
        return ".{ " + ", ".join(f".{name} = {value}" for name, value in fields.items()) + " }"

    def record(self) -> dict[str, Any]:
        """What the manifest says about the variant."""
        record = {"name": self.name, "kind": self.kind, "threads": self.threads, **dict(self.fields)}
        record |= {"dynamic_shared_bytes": self.dynamic_shared_bytes} if self.dynamic_shared_bytes else {}
        return record | ({"unit": self.unit} if self.unit else {})


def _zig_value(value: str | int | bool) -> str | int:
    if isinstance(value, bool):
        return str(value).lower()
    return f".{value}" if isinstance(value, str) else value


Variant = Matmul | Plain
# Generators, by the kinds of variants that `zig/src/gpu.zig` lists, with their types in `variant.zig`.
KINDS = {
    "matmul": "Matmul",
    "convolution": "Matmul",
    "attention": "Attention",
    "attention_masked": "Attention",
    "attention_levels": "Attention",
    "attention_by_queries": "Attention",
    "attention_by_keys": "Attention",
    "transpose": "Transpose",
    "vector": "Vector",
    "parts": "Parts",
    "pad": "Pad",
}
_MATMUL = (
    "const void* a, const void* b, void* c, const void* bias, unsigned m, unsigned n, unsigned k,"
    " unsigned lda, unsigned ldb, unsigned ldc, double alpha, double beta,"
    " unsigned long long stride_a, unsigned long long stride_b, unsigned long long stride_c"
)
_CONVOLUTION = (
    "const void* images, const void* filters, void* results, const void* bias, unsigned count, unsigned height,"
    " unsigned width, unsigned channels, unsigned out_height, unsigned out_width, unsigned out_channels,"
    " unsigned kernel_height, unsigned kernel_width, unsigned stride, unsigned padding, unsigned dilation,"
    " unsigned groups"
)
_ATTENTION = (
    "void* result, void* second, const void* gradient, void* logarithms, void* levels, unsigned queries, unsigned keys,"
    " unsigned group_heads, unsigned size, unsigned heads, unsigned following, unsigned is_causal, double scale, const void* maps"
)
# What kernels take, as HIP-C declares it, by kind, and by kind and unit where a unit takes more. The functions `kernel` of zig/src/kernels
# have the same parameters in the same order; `kernels.py` compares their sizes with the code that Zig makes.
PROTOTYPES = {
    "matmul": _MATMUL,
    "matmul wgmma": _MATMUL + ", unsigned batch, const void* maps",
    "convolution": _CONVOLUTION,
    "convolution wgmma": _CONVOLUTION + ", const void* maps",
    "attention_masked": (
        "void* result, unsigned queries, unsigned keys, unsigned group_heads, unsigned size, unsigned heads, unsigned is_causal,"
        " double scale, const void* maps, unsigned long long mask, unsigned mask_format, unsigned long long stride_batch,"
        " unsigned long long stride_head, unsigned stride_query, unsigned stride_key"
    ),
    **dict.fromkeys(("attention", "attention_levels", "attention_by_queries", "attention_by_keys"), _ATTENTION),
    "transpose": "const void* input, void* output, unsigned rows, unsigned columns",
    "vector": (
        "const void* matrix, const void* vector, void* c, const void* bias, void* sums, unsigned outer, unsigned k,"
        " unsigned lead, unsigned depth, unsigned parts, unsigned batches, unsigned bias_step, unsigned following,"
        " double alpha, double beta, unsigned long long stride_matrix, unsigned long long stride_vector"
    ),
    "parts": (
        "const void* sums, void* c, const void* bias, unsigned parts, unsigned m, unsigned n, unsigned lead,"
        " unsigned following, unsigned count, unsigned long long stride_batch, unsigned long long stride_part,"
        " double alpha, double beta"
    ),
    "pad": (
        "const void* first, void* first_padded, const void* second, void* second_padded,"
        " unsigned first_rows, unsigned first_columns, unsigned first_padded_rows, unsigned first_padded_columns,"
        " unsigned second_rows, unsigned second_columns, unsigned second_padded_rows, unsigned second_padded_columns"
    ),
}


def prototype(kind: str, unit: str = "") -> str:
    """The parameters of a kernel."""
    return PROTOTYPES.get(f"{kind} {unit}") or PROTOTYPES[kind]


def parameter_bytes(parameters: str) -> list[int]:
    """Sizes of parameters: pointers, double and long long have 8 bytes, unsigned has 4."""
    is_narrow = (re.fullmatch(r"unsigned \w+", one.strip()) for one in parameters.split(","))
    return [4 if narrow else 8 for narrow in is_narrow]


def variants(architecture: str) -> list[Variant]:
    """Everything that is built for an architecture."""
    found: list[Variant] = [*matmuls(architecture), *convolutions(architecture), *plain()]
    return [*found, *attention()] if architecture == "sm_90" else found


def plain() -> Iterator[Plain]:
    """Kernels that are the same on every architecture."""
    for item_bytes in (1, 2, 4, 8):
        yield Plain("transpose", (("item_bytes", item_bytes), ("tile", 32 if item_bytes == 8 else 64)))
    yield from _around_products()


def attention() -> Iterator[Plain]:
    """Attention by wgmma and its gradients; docs/gpu_kernels.md has what was measured."""
    for number in ("f16", "bf16"):
        for size in (64, 128):
            yield _attention("attention", number, size, 128, alternates=size == 128)
            yield _attention("attention_masked", number, size, 64, alternates=False)
            yield _attention("attention_levels", number, size, 128, alternates=False)
            yield _attention("attention_by_queries", number, size, 64, alternates=False)
            yield _attention("attention_by_keys", number, size, 64, alternates=False)


def _attention(kind: str, number: str, size: int, tile: int, *, alternates: bool, stages: int = 2) -> Plain:
    """A kernel of attention: elements of a query, rows of a step, whether warp groups take turns."""
    row_bytes = 2 * size
    # 128 rows of a block: queries, and of gradients also what belongs to them.
    own_bytes = 128 * row_bytes * (2 if kind.startswith("attention_by") else 1)
    line_bytes = 2 * 4 * tile if kind == "attention_by_keys" else 0
    # Two operands of a step; barriers of two operands, full and empty, and one; room to begin at a multiple of 1024.
    shared_bytes = own_bytes + stages * (2 * tile * row_bytes + line_bytes) + 8 * (4 * stages + 1) + 1024
    fields = (("number", number), ("size", size), ("tile", tile), ("stages", stages), ("alternates", alternates))
    return Plain(kind, fields, threads=384, dynamic_shared_bytes=shared_bytes, blocks_per_unit=1, unit="wgmma")


def _around_products() -> Iterator[Plain]:
    """What products with vectors, with few blocks and with rows that are not aligned take."""
    for item_bytes in (1, 2, 4, 8):
        yield Plain("pad", (("item_bytes", item_bytes),))
    for number, output in (("f64", "f64"), ("f32", "f32"), ("f32", "f16"), ("f32", "bf16"), ("i32", "i32")):
        yield Plain("parts", (("number", number), ("output", output)))
    for number in ("f64", "f32", "f16", "bf16", "i8"):
        for along in ("k", "outer"):
            for alignment in ("aligned", "any"):
                output = "i32" if number == "i8" else number
                kinds = (("number", number), ("output", output), ("along", along), ("alignment", alignment))
                yield Plain("vector", kinds)


def convolutions(architecture: str) -> Iterator[Matmul]:
    """For each number format the matrix product of filters as they lie, with tiles for many and for few pixels."""
    if architecture == "sm_90":
        yield from _wgmma_convolutions()
        # For channels that the copy engine cannot gather: mma.sync and copies of 16 bytes.
        products = [variant for variant in _mma(has_wgmma=False) if variant.operand in ("f16", "bf16", "tf32")]
    else:
        products = [variant for variant in matmuls(architecture) if variant.operand in ("f16", "bf16", "tf32")]
    products += [variant for variant in _simt(architecture) if variant.operand == "f32"]
    for variant in products:
        # tf32 is copied past the registers only where k is contiguous in both operands.
        layout = "nt" if variant.operand == "tf32" else "nn"
        if variant.layout == layout and variant.epilogue in ("", "bias", "relu"):
            yield replace(variant, kind="convolution")
            if architecture in NVIDIA and variant.output == "f32" and variant.tile[1] == 64:
                # Few filters, whose bias the kernels of large tiles would add to tiles that are half empty, and few channels.
                yield from (replace(variant, kind="convolution", epilogue=epilogue) for epilogue in ("bias", "relu"))


def _wgmma_convolutions() -> Iterator[Matmul]:
    """Patches that the copy engine gathers; tiles down to 64 x 64 for the few pixels of deep layers."""
    tiles = (((128, 256), 2, 4), ((128, 128), 2, 5), ((128, 64), 2, 6), ((64, 128), 1, 8), ((64, 64), 1, 10))
    for operand in ("f16", "bf16"):
        for shape, groups, stages in tiles:
            base = replace(wgmma(operand, "nt", shape, groups, stages, stores="gathered"), kind="convolution")
            yield from (replace(base, epilogue=epilogue) for epilogue in ("", "bias", "relu"))


def matmuls(architecture: str) -> list[Matmul]:
    """The matrix products of an architecture."""
    found = list(_simt(architecture))
    if architecture in CDNA or architecture in WMMA:
        found += _wave(is_cdna=architecture in CDNA)
    if architecture == "gfx1030":
        found += _dot()
    if architecture in NVIDIA:
        found += _mma(has_wgmma=architecture == "sm_90")
        found += _double(has_large=architecture == "sm_90")
    if architecture == "sm_90":
        found += _wgmma()
    return found


def _wave(*, is_cdna: bool) -> Iterator[Matmul]:
    """The matrix instructions of AMD. A wave of 64 lanes takes twice the part of one of 32."""
    for operand, inner in (("bf16", 32), ("f16", 32), ("i8", 64), *((("f32", 16),) if is_cdna else ())):
        output = "i32" if operand == "i8" else operand
        large = Matmul("wave", operand, output, (128, 128, inner), (64, 64 if is_cdna else 32), 256)
        small = replace(large, tile=(64, 64, inner), part=(32, 32) if is_cdna else (32, 16))
        for layout in LAYOUTS:
            yield replace(large, layout=layout)
            yield replace(small, layout=layout)
            yield replace(small, layout=layout, is_aligned=False)
        for epilogue in filter(None, EPILOGUES) if operand != "i8" else ():
            for layout in ("nn", "nt"):
                yield replace(large, layout=layout, epilogue=epilogue)
    for layout in LAYOUTS if is_cdna else ():
        double = Matmul("wave", "f64", "f64", (64, 64, 8), (32, 32), 256, layout)
        yield double
        yield replace(double, is_aligned=False)


def _dot() -> Iterator[Matmul]:
    """RDNA 2: dot products of float16 and int8; bfloat16 is multiplied as float32."""
    for operand, inner in (("f16", 32), ("i8", 64), ("bf16", 16)):
        output = "i32" if operand == "i8" else operand
        large = Matmul("simt", operand, output, (128, 128, inner), (8, 8), 256)
        for layout in LAYOUTS:
            yield replace(large, layout=layout)
            yield replace(large, tile=(64, 64, inner), part=(4, 4), layout=layout, is_aligned=False)
        for epilogue in filter(None, EPILOGUES) if operand != "i8" else ():
            for layout in ("nn", "nt"):
                yield replace(large, layout=layout, epilogue=epilogue)


def _mma(*, has_wgmma: bool) -> Iterator[Matmul]:
    """mma.sync; beside wgmma only for what the copy engine and the layouts of wgmma leave out."""
    for operand, inner in (("bf16", 64), ("f16", 64), ("tf32", 32), ("i8", 128)):
        output = {"tf32": "f32", "i8": "i32"}.get(operand, operand)
        for layout in LAYOUTS:
            # ldmatrix transposes 16-bit numbers only; the others pass through registers, two tiles at a time.
            is_copied = inner == 64 or layout == "nt"
            stages = 3 if is_copied else 2
            shapes = (((128, 128), (64, 32), 256, stages), ((64, 64), (32, 32), 128, stages + is_copied))
            for (rows, columns), part, threads, depth in shapes:
                base = Matmul("mma", operand, output, (rows, columns, inner), part, threads, layout, stages=depth)
                base = replace(base, dynamic_shared_bytes=_mma_shared_bytes(base))
                if not has_wgmma or not (is_copied or (operand, layout) == ("tf32", "nn")):
                    yield base
                    for epilogue in (
                        filter(None, EPILOGUES) if rows == 128 and layout in ("nn", "nt") and operand != "i8" else ()
                    ):
                        yield replace(base, epilogue=epilogue)
                if rows == 64:
                    general = replace(base, is_aligned=False, stages=2)
                    yield replace(general, dynamic_shared_bytes=_mma_shared_bytes(general))


def _mma_shared_bytes(variant: Matmul) -> int:
    # Rows of 128 bytes for both operands, and room to begin at a multiple of them.
    return variant.stages * 128 * (variant.tile[0] + variant.tile[1]) + 128


def _double(*, has_large: bool) -> Iterator[Matmul]:
    """float64 on the matrix units; sm_90 has larger instructions. docs/gpu_kernels.md has the log."""
    for layout in LAYOUTS:
        small = _double_of((64, 64), 4, layout)
        if has_large:
            found = [small, _double_of((128, 64), 8 if layout in ("nn", "nt") else 4, layout)]
        else:
            found = [small, _double_of((128, 128), 4, layout)]
        yield from found
        yield replace(small, is_aligned=False)
        if layout in ("nn", "nt"):
            yield from (replace(variant, epilogue=epilogue) for variant in found for epilogue in ("bias", "relu"))
            if has_large:
                yield _double_of((128, 128), 8, layout, stages=5)


def _double_of(tile: tuple[int, int], depth: int, layout: str, *, stages: int = 4) -> Matmul:
    """A product of float64 by mma.sync: rows and columns of a tile, k of an instruction."""
    rows, columns = tile
    part = (64, 32) if rows == 128 else (32, 32)
    return Matmul(
        *("mma", "f64", "f64", (rows, columns, 16), part, rows // part[0] * (columns // part[1]) * 32, layout),
        depth=depth,
        stages=stages,
        # Rows of 128 bytes for both operands, and room to begin at a multiple of them.
        dynamic_shared_bytes=stages * 128 * (rows + columns) + 128,
        blocks_per_unit=1 if columns == 128 else 2,
    )


def wgmma(
    operand: str,
    layout: str,
    tile: tuple[int, int],
    groups: int,
    stages: int,
    *,
    cluster: int = 1,
    strip: int = 16,
    stores: str = "direct",
) -> Matmul:
    """A product by wgmma: rows and columns of a tile, warp groups that multiply, stages."""
    (rows, columns), item_bytes = tile, {"tf32": 4, "i8": 1}.get(operand, 2)
    output = {"tf32": "f32", "i8": "i32"}.get(operand, operand)
    # Rows of 128 bytes for both operands, two barriers a stage, two buffers of a slice of results for each group, and room to begin at a
    # multiple of 1024.
    gather_bytes = groups * 2 * 64 * 128 if stores != "direct" else 0
    return Matmul(
        *("wgmma", operand, output, (rows, columns, 128 // item_bytes), (rows // groups, columns), 128 * (groups + 1)),
        layout=layout,
        stages=stages,
        cluster=cluster,
        dynamic_shared_bytes=stages * (128 * (rows + columns) + 16) + gather_bytes + 1024,
        blocks_per_unit=1,
        strip=strip,
        stores=stores,
    )


def _wgmma() -> Iterator[Matmul]:
    """Tiles as tests/gpu/matmul_vs_cublas.py found them; docs/gpu_kernels.md has the log."""
    for operand, layouts in (("bf16", LAYOUTS), ("f16", LAYOUTS), ("tf32", ("nt",)), ("i8", ("nt",))):
        for layout in layouts:
            large = wgmma(operand, layout, (128, 256), 2, 4, stores="gathered")
            small = wgmma(operand, layout, (64, 128), 1, 8, stores="gathered")
            yield from (large, small, wgmma(operand, layout, (128, 128), 2, 5, stores="gathered"))
            if operand in ("bf16", "f16"):
                # Sums as they are, for what no epilogue computes.
                yield from (replace(large, output="f32"), replace(small, output="f32"))
            if operand != "i8" and layout in ("nn", "nt"):
                for epilogue in filter(None, EPILOGUES):
                    yield replace(large, epilogue=epilogue)
                    yield replace(small, epilogue=epilogue)
    # The second operand gives the rows of the instruction (matmul_wgmma_transposed.zig).
    for tile, groups, stages in (((256, 128), 2, 4), ((128, 64), 1, 8), ((128, 128), 2, 5)):
        turned = wgmma("tf32", "nn", tile, groups, stages, stores="gathered")
        for epilogue in EPILOGUES if tile != (128, 128) else ("",):
            yield replace(turned, epilogue=epilogue)


def _simt(architecture: str) -> Iterator[Matmul]:
    large = Matmul("simt", "f32", "f32", (128, 128, 16), (8, 8), 256, blocks_per_unit=2)
    small = replace(large, tile=(64, 64, 16), part=(4, 4))
    # Fewer threads with more sums each were faster where it was measured, on the H200.
    quick = replace(small, part=(8, 4), threads=128, blocks_per_unit=4) if architecture in NVIDIA else small
    slow = replace(small, operand="f64", output="f64")
    for layout in LAYOUTS:
        yield replace(large, layout=layout)
        yield replace(quick, layout=layout)
        yield replace(small, layout=layout, is_aligned=False)
        if architecture not in NVIDIA:
            yield replace(slow, layout=layout)
            yield replace(slow, layout=layout, is_aligned=False)
    for epilogue in filter(None, EPILOGUES):
        for layout in ("nn", "nt"):
            yield replace(large, layout=layout, epilogue=epilogue)
