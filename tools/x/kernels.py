"""`./x kernels`: the GPU kernels of `zig/src/kernels` as one archive per architecture under `python/amdgpu/_lib/kernels`.

Zig makes PTX for NVIDIA. For AMD it makes LLVM's own text: Zig has no word for the size of a work-group, without which LLVM gives a kernel
a quarter of the registers, and it switches off what its table of processors does not name (128-bit LDS reads among it). So the attributes
are set in the text, and the clang and lld inside Zig finish it.

An archive is a zip file: `manifest.json` and one file of code for each kernel (PTX is compiled by the driver when it is loaded) or each
group of kernels. Groups are built in parallel and kept in `.x/kernels`; a group whose sources and variants did not change is not built.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from x import code_objects, kernel_text, native
from x.failure import Failure
from x.kernel_catalog import AMD, ARCHITECTURES, KINDS, PROTOTYPES, Variant, parameter_bytes, prototype, variants
from x.stamps import Stamp, digest

# Kernels that one run of Zig compiles; more amortise its start, fewer use more cores.
GROUP_KERNELS = 8
# The wheel holds the archives of all architectures, and a machine needs one: about twice what they take today.
ARCHIVES_LIMIT_BYTES = 10 << 20
# Of the manifest; crates/amdgpu-ops/src/archived/archive.rs reads this one.
MANIFEST_VERSION = 2
# A fixed time in archives, the first that zip files know: the same sources give the same bytes.
ZIP_TIME = (1980, 1, 1, 0, 0, 0)

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Group:
    """Kernels of one architecture that are compiled together."""

    architecture: str
    number: int
    variants: tuple[Variant, ...]

    @property
    def name(self) -> str:
        """Of the files in between, unique."""
        return f"{self.architecture}-{self.number:02d}"

    def source(self) -> str:
        """The module `variants`."""
        lines = ['const V = @import("variant");']
        for kind, type_name in KINDS.items():
            literals = [f"    {variant.zig()}," for variant in self.variants if variant.kind == kind]
            lines += [f"pub const {kind} = [_]V.{type_name}{{", *literals, "};"]
        return "\n".join([*lines, ""])


def groups(
    architectures: Sequence[str] = ARCHITECTURES, catalogue: Callable[[str], Sequence[Variant]] = variants
) -> list[Group]:
    """All groups; kernels of a group have one number of threads, which AMD's attributes are for."""
    result = []
    for architecture in architectures:
        number = 0
        wanted = catalogue(architecture)
        for threads in sorted({variant.threads for variant in wanted}):
            same = [variant for variant in wanted if variant.threads == threads]
            for first in range(0, len(same), GROUP_KERNELS):
                result.append(Group(architecture, number, tuple(same[first : first + GROUP_KERNELS])))
                number += 1
    return result


class Builder:
    """Builds archives under a folder from the sources under a root."""

    def __init__(self, root: Path, python: str, state: Path, output: Path | None = None) -> None:
        self.root = root
        self.sources = root / "zig" / "src"
        self.python = python
        self.work = state / "kernels"
        self.output = output or native.library_folder(root) / "kernels"
        self.environment = {**os.environ, **native.zig_environment(state)}
        self.inputs = [self.sources / "gpu.zig", self.sources / "kernels"]
        self.inputs += [self.sources / "simd" / name for name in ("fma.zig", "vector_math.zig")]
        tools = root / "tools" / "x"
        self.inputs += [tools / name for name in ("kernels.py", "kernel_text.py", "code_objects.py")]

    def build(
        self, architectures: Sequence[str], progress: Progress, catalogue: Callable[[str], Sequence[Variant]] = variants
    ) -> list[Path]:
        """Archives of the architectures, brought up to date."""
        self.work.mkdir(parents=True, exist_ok=True)
        self.output.mkdir(parents=True, exist_ok=True)
        todo = groups(architectures, catalogue)
        done: list[str] = []
        lock = threading.Lock()

        def work(group: Group) -> dict[str, Any]:
            record = self._group(group)
            with lock:
                done.append(group.name)
                progress(len(done), len(todo), group.name)
            return record

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            records = list(pool.map(work, todo))
        archives = []
        for architecture in architectures:
            own = [record for group, record in zip(todo, records, strict=True) if group.architecture == architecture]
            archives.append(self._archive(architecture, own))
        size = sum(path.stat().st_size for path in self.output.glob("*.archive"))
        if size > ARCHIVES_LIMIT_BYTES:
            raise Failure(f"the archives of GPU kernels have {size:,} bytes; the limit is {ARCHIVES_LIMIT_BYTES:,}")
        return archives

    def _group(self, group: Group) -> dict[str, Any]:
        record_path = self.work / f"{group.name}.json"
        stamp = Stamp(self.work / "stamps", group.name)
        wanted = digest(self.inputs, group.source(), repr(group.variants))
        if not stamp.is_fresh(wanted, [record_path]):
            source = self.work / f"{group.name}.zig"
            source.write_text(group.source())
            record = self._amd(group, source) if group.architecture in AMD else self._nvidia(group, source)
            record_path.write_text(json.dumps(record))
            stamp.write(wanted, [record_path])
        result: dict[str, Any] = json.loads(record_path.read_text())
        return result

    def _run(self, group: Group, *arguments: str) -> None:
        command = [self.python, "-m", "ziglang", *arguments]
        done = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            text = "\n".join("    " + line for line in done.stderr.splitlines()[:30])
            raise Failure(f"the kernels {group.name} do not build", fix="mend zig/src/kernels", detail=text)

    def _zig(self, group: Group, source: Path, target: str, cpu: str, output: str) -> None:
        modules = ["--dep", "variants", "--dep", "variant", f"-Mroot={self.sources / 'gpu.zig'}"]
        modules += ["--dep", "variant", f"-Mvariants={source}", f"-Mvariant={self.sources / 'kernels' / 'variant.zig'}"]
        flags = [
            "-target",
            target,
            f"-mcpu={cpu}",
            "-O",
            "ReleaseFast",
            "-fstrip",
            "--name",
            "kernels",
            "-fno-emit-bin",
        ]
        self._run(group, "build-obj", *flags, output, *modules)

    def _amd(self, group: Group, source: Path) -> dict[str, Any]:
        cpu = group.architecture
        text, assembly, unlinked, linked = (
            self.work / f"{group.name}.{suffix}" for suffix in ("ll", "s", "o", "hsaco")
        )
        self._zig(group, source, "amdgcn-amdhsa-none", cpu, f"-femit-llvm-ir={text}")
        text.write_text(amd_attributes(text.read_text(), group.variants[0].threads))
        target = ["-triple", "amdgcn-amd-amdhsa", "-target-cpu", cpu]
        self._run(group, "clang", "-cc1", *target, "-Wno-override-module", "-S", "-O3", str(text), "-o", str(assembly))
        self._run(group, "clang", "-cc1as", *target, "-filetype", "obj", str(assembly), "-o", str(unlinked))
        self._run(group, "ld.lld", "-shared", str(unlinked), "-o", str(linked))
        metadata = code_objects.kernels(linked.read_bytes())
        written = assembly.read_text()
        entries = []
        for variant in group.variants:
            resources = code_objects.resources(metadata[variant.name])
            resources["waves_per_simd"] = code_objects.waves_per_simd(cpu, resources, variant.threads)
            instructions = kernel_text.amd_instructions(written, variant.name)
            entries.append(
                {**variant.record(), "code": linked.name, "resources": resources, "instructions": instructions}
            )
        return {"kernels": entries, "files": [str(linked)]}

    def _nvidia(self, group: Group, source: Path) -> dict[str, Any]:
        output = self.work / f"{group.name}.ptx"
        # wgmma and setmaxnreg are in sm_90a alone; PTX 8.3 is the first with the fence for descriptors of the copy engine.
        cpu = {"sm_90": "sm_90a+ptx83"}.get(group.architecture, f"{group.architecture}+ptx78")
        self._zig(group, source, "nvptx64-cuda-none", cpu, f"-femit-asm={output}")
        entries, files = [], []
        texts = split_ptx(output.read_text())
        for variant in group.variants:
            path = self.work / f"{group.architecture}-{variant.name}.ptx"
            text = ptx_directives(texts[variant.name], variant)
            check_prototype(variant, ptx_parameter_bytes(text, variant.name))
            path.write_text(text)
            files.append(str(path))
            # Registers are assigned by the driver's compiler, when it loads the text.
            resources = {"registers": None, "lds_bytes": static_shared_bytes(text) + variant.dynamic_shared_bytes}
            instructions = kernel_text.ptx_instructions(text)
            entries.append(
                {**variant.record(), "code": path.name, "resources": resources, "instructions": instructions}
            )
        return {"kernels": entries, "files": files}

    def _archive(self, architecture: str, records: Sequence[dict[str, Any]]) -> Path:
        path = self.output / f"{architecture}.archive"
        draft = path.with_name(f".{os.getpid()}.{path.name}")
        kernels = [kernel for record in records for kernel in record["kernels"]]
        manifest = {
            "version": MANIFEST_VERSION,
            "architecture": architecture,
            "prototypes": PROTOTYPES,
            "kernels": kernels,
        }
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_LZMA) as archive:
            contents = {"manifest.json": json.dumps(manifest, indent=1).encode()}
            contents |= {Path(name).name: Path(name).read_bytes() for record in records for name in record["files"]}
            for name, data in contents.items():
                entry = zipfile.ZipInfo(name, ZIP_TIME)
                # Half of what deflate makes of them.
                entry.compress_type = zipfile.ZIP_LZMA
                archive.writestr(entry, data)
        os.replace(draft, path)
        return path


# The product of bfloat16 of gfx950, whose intrinsic takes a type that Zig does not have.
_BFLOAT_PRODUCT = """\
define internal <16 x float> @agpu_mfma_bf16(<8 x i16> %a, <8 x i16> %b, <16 x float> %c) alwaysinline {
  %x = bitcast <8 x i16> %a to <8 x bfloat>
  %y = bitcast <8 x i16> %b to <8 x bfloat>
  %r = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat> %x, <8 x bfloat> %y, <16 x float> %c, i32 0, i32 0, i32 0)
  ret <16 x float> %r
}
declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.bf16(<8 x bfloat>, <8 x bfloat>, <16 x float>, i32 immarg, i32 immarg, i32 immarg)
"""


def amd_attributes(text: str, threads: int) -> str:
    """LLVM text with the size of the work-group, and with the features that the processor has rather than those that Zig names."""
    text = re.sub(r' "target-features"="[^"]*"', "", text)
    text = re.sub(r"(?m)^declare <16 x float> @agpu_mfma_bf16\(.*\n", _BFLOAT_PRODUCT, text)
    return re.sub(r"(?m)^(attributes #\d+ = \{)", rf'\1 "amdgpu-flat-work-group-size"="{threads},{threads}"', text)


def split_ptx(text: str) -> dict[str, str]:
    """One text for each kernel: what stands before the first, and the kernel with the variables that only it uses."""
    entries = list(re.finditer(r"(?m)^\.visible \.entry (\w+)\(", text))
    first = text.index("// .globl") if "// .globl" in text else entries[0].start()
    head, middle = text[:first], text[first : entries[0].start()]
    result = {}
    for entry, after in zip(entries, [*entries[1:], None], strict=True):
        body = text[entry.start() : after.start() if after else len(text)]
        body = body[: body.rindex("\n}") + 3]
        variables = [line for line in middle.splitlines() if (name := _variable(line)) and name in body]
        result[entry.group(1)] = head + "\n".join(variables) + "\n" + body
    return result


def _variable(line: str) -> str | None:
    found = re.match(
        r"\.(?:extern |visible )?(?:\.)?(?:shared|global|const)\b.*?(\S+?)(?:\[\d*\])?(?: =.*)?;$",
        line.replace(".extern .", ".", 1),
    )
    return found.group(1) if found else None


def ptx_directives(text: str, variant: Variant) -> str:
    """The kernel with what Zig cannot say: threads of a block, blocks of a unit and of a cluster, shared memory sized by the launch."""
    directives = [f".maxntid {variant.threads}, 1, 1"]
    if variant.blocks_per_unit:
        directives.append(f".minnctapersm {variant.blocks_per_unit}")
    if variant.cluster > 1:
        directives += [".explicitcluster", f".reqnctapercluster {variant.cluster}, 1, 1"]
    text = re.sub(r"(?m)^\)\n\{", ")\n" + "\n".join(directives) + "\n{", text, count=1)
    return re.sub(
        r"\.extern \.shared \.align (\d+) \.\w+ dynamic_shared(?:\[\d*\])?;",
        r".extern .shared .align \1 .b8 dynamic_shared[];",
        text,
    )


def ptx_parameter_bytes(text: str, name: str) -> list[int]:
    """Sizes of the parameters of a kernel, from its text."""
    head = re.search(rf"\.entry {name}\((.*?)\)", text, re.DOTALL)
    return [int(bits) // 8 for bits in re.findall(r"\.param \.[a-z](\d+)", head.group(1) if head else "")]


def check_prototype(variant: Variant, sizes: list[int]) -> None:
    """Refuse a kernel whose parameters are not those that the manifest says.

    Raises:
        Failure: The sizes differ.
    """
    wanted = parameter_bytes(prototype(variant.kind, getattr(variant, "unit", "")))
    if sizes != wanted:
        raise Failure(
            f"{variant.name} takes parameters of {sizes} bytes; PROTOTYPES of tools/x/kernel_catalog.py says {wanted}",
            fix="bring both in line",
        )


def static_shared_bytes(text: str) -> int:
    """Bytes of the arrays that a kernel's text declares in shared memory."""
    return sum(int(size) for size in re.findall(r"(?m)^\s*\.shared .*?\.b8\s+\S+\[(\d+)\];", text))
