"""`./x build` and the PEP 517 backend: pieces, drafts, the development wheel."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from x import (
    build,
    core_library,
    native,
)
from x.failure import Failure
from x.paths import ROOT


def test_pieces_are_built_beside_the_result_and_renamed(tmp_path: Path) -> None:
    output = tmp_path / "lib" / "libx.so"
    drafts: list[str] = []

    def command(draft: Path) -> list[str]:
        drafts.append(draft.name)
        return [sys.executable, "-c", f"open({str(draft)!r}, 'w').write('new')"]

    piece = native.Piece("x", tmp_path, (tmp_path,), output, command)
    native.build_piece(piece, lambda argv, _environment: subprocess.run(argv, check=True) and None)
    assert output.read_text() == "new"
    assert drafts[0] != output.name
    assert [path.name for path in output.parent.iterdir()] == ["libx.so"]


def test_failed_build_leaves_the_old_library(tmp_path: Path) -> None:
    output = tmp_path / "libx.so"
    output.write_text("old")

    def fail(_command: object, _environment: object) -> None:
        raise Failure("no")

    with pytest.raises(Failure):
        native.build_piece(native.Piece("x", tmp_path, (), output, lambda draft: [str(draft)]), fail)
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["libx.so"]


def test_copied_sources_lose_files_that_are_gone(tmp_path: Path) -> None:
    source = tmp_path / "julia"
    source.mkdir()
    (source / "A.jl").write_text("1")
    (source / "B.jl").write_text("2")
    piece = native.Piece("julia", source / "A.jl", (source,), tmp_path / "lib" / "julia", None)
    native.build_piece(piece, lambda _command, _environment: None)
    (source / "B.jl").unlink()
    native.build_piece(piece, lambda _command, _environment: None)
    assert [path.name for path in (tmp_path / "lib" / "julia").iterdir()] == ["A.jl"]


def test_zig_and_nim_write_to_the_draft(tmp_path: Path) -> None:
    zig, nim, *_copies = native.pieces(tmp_path, "python", tmp_path / ".x")
    assert zig.command is not None
    assert nim.command is not None
    assert zig.command(tmp_path / "draft")[-2:] == ["library", str(tmp_path / "draft")]
    assert f"-o:{tmp_path / 'draft'}" in nim.command(tmp_path / "draft")
    assert nim.command(tmp_path / "draft")[-1] == str(tmp_path / "nim" / "src" / "agpu_neuro.nim")


def test_extension_is_found_in_the_messages_of_cargo() -> None:
    def message(crate: str, kind: str, name: str) -> str:
        return (
            f'{{"reason":"compiler-artifact","manifest_path":"/w/crates/{crate}/Cargo.toml",'
            f'"target":{{"kind":["{kind}"]}},"filenames":["/w/target/release/{name}"]}}'
        )

    output = "\n".join(
        [
            "   Compiling x",
            message("serde", "lib", "libserde.rlib"),
            message("amdgpu-python", "cdylib", "libamdgpu.so"),
            message("amdgpu-extension", "cdylib", "lib_native.so"),
        ]
    )
    assert core_library.artifact(output, "amdgpu-extension") == Path("/w/target/release/lib_native.so")
    assert core_library.artifact(output, "amdgpu-python") == Path("/w/target/release/libamdgpu.so")
    with pytest.raises(Failure, match="named no cdylib"):
        core_library.artifact("", "amdgpu-python")


def test_development_wheel_points_at_the_sources_and_keeps_the_metadata(tmp_path: Path) -> None:
    dist_info = tmp_path / "amdgpu_framework-1.2.dist-info"
    dist_info.mkdir()
    (dist_info / "METADATA").write_text("Name: amdgpu-framework\n")
    (dist_info / "entry_points.txt").write_text("[console_scripts]\namdgpu=amdgpu.cli:main\n")
    wheel = build.write_development_wheel(dist_info, Path("/tree/python"), tmp_path)
    assert wheel.name == "amdgpu_framework-1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert archive.read("amdgpu_framework.pth") == b"/tree/python\n"
        record = archive.read("amdgpu_framework-1.2.dist-info/RECORD").decode()
    assert "amdgpu_framework-1.2.dist-info/entry_points.txt" in names
    assert {line.split(",")[0] for line in record.splitlines()} == names


def test_backend_names_every_missing_tool_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import build_backend

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    text = "\n".join(build_backend.missing_tools())
    assert "`nim`" in text
    assert "`cc`" in text
    assert "`cargo`" in text
    with pytest.raises(SystemExit, match="cannot be built here"):
        build_backend.build_wheel(str(tmp_path))


def module_level_imports(tree: ast.Module) -> set[str]:
    """Top-level packages that importing the module imports; what only a type checker reads does not count."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


# Folders that only the command or function of an extra imports, which says what to install where the extra is missing.
FOLDERS_OF_EXTRAS = {"server": "server", "cli/top": "top", "torch": "torch", "tensorflow": "tensorflow"}


def names_of(project: str, pattern: str) -> set[str]:
    requirements = re.search(pattern, project, re.MULTILINE | re.DOTALL)
    assert requirements is not None, pattern
    return set(re.findall(r'"([A-Za-z_]+)', requirements[1]))


def test_package_imports_nothing_that_its_wheel_does_not_require() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    package = ROOT / "python" / "amdgpu"
    allowed = names_of(project, r"^dependencies = \[(.*?)\]") | set(sys.stdlib_module_names) | {"amdgpu"}
    extras = {
        package / folder: names_of(project, rf"^{extra} = \[(.*?)\]") for folder, extra in FOLDERS_OF_EXTRAS.items()
    }

    def may_import(path: Path, name: str) -> bool:
        return name in allowed or any(name in names for folder, names in extras.items() if folder in path.parents)

    surplus = {
        (path.name, name)
        for path in sorted(package.rglob("*.py"))
        for name in module_level_imports(ast.parse(path.read_text()))
        if not may_import(path, name)
    }
    assert not surplus


def test_wheels_get_the_archives_that_are_asked_for() -> None:
    import build_backend
    from x.kernel_catalog import ARCHITECTURES

    choose = build_backend.kernel_architectures
    assert choose("here", ["sm_90"], ["gfx1100", "sm_90"]) == ["gfx1100"]
    assert choose("none", [], ["sm_90"]) == []
    assert choose("all", ["sm_90"], []) == list(ARCHITECTURES)
    assert choose("gfx942, sm_80", [], []) == ["gfx942", "sm_80"]
    with pytest.raises(SystemExit, match="no kernels are built for gfx1; known are gfx90a"):
        choose("gfx1", [], [])


def test_a_wheel_that_lacks_a_header_or_has_the_tree_inside_is_refused(tmp_path: Path) -> None:
    from x import wheel_contents

    whole = wheel_contents.required(ROOT)
    for name in (
        "libamdgpu.so",
        "include/amdgpu/ops.h",
        "include/amdgpu/ops.hpp",
        "pkgconfig/amdgpu.pc",
        "cmake/amdgpu-config.cmake",
    ):
        assert f"amdgpu/_lib/{name}" in whole
    assert wheel_contents.problems([*whole, "amdgpu/__init__.py"], ROOT) == []
    wheel = tmp_path / "some.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in [*whole, "amdgpu/_lib/python-interpreter"]:
            if not name.endswith("/ops.hpp"):
                archive.writestr(name, "")
    assert wheel_contents.problems_of(wheel, ROOT) == [
        "amdgpu/_lib/include/amdgpu/ops.hpp is missing",
        "amdgpu/_lib/python-interpreter should not be there",
    ]


def test_the_built_tree_has_what_wheels_hold() -> None:
    from x import wheel_contents

    assert not [name for name in wheel_contents.required(ROOT) if not (ROOT / "python" / name).is_file()]


def test_gpus_are_named_by_what_the_kernel_of_linux_says(tmp_path: Path) -> None:
    from x import gpus

    for number, version in enumerate((0, 90010, 110000, 90402, 100300)):
        node = tmp_path / str(number)
        node.mkdir()
        (node / "properties").write_text(f"cpu_cores_count 8\ngfx_target_version {version}\nvendor_id 4098\n")
    found = gpus.architectures_here(tmp_path)
    assert [name for name in found if name.startswith("gfx")] == ["gfx1030", "gfx1100", "gfx90a", "gfx942"]


def test_nvidia_gpus_without_kernels_of_their_own_take_those_of_ampere() -> None:
    from x import gpus

    assert [gpus.nvidia_archive(*capability) for capability in ((9, 0), (8, 0), (8, 9), (12, 0), (7, 5))] == [
        "sm_90",
        "sm_80",
        "sm_80",
        "sm_80",
        None,
    ]


@pytest.fixture
def zig_compile(tmp_path: Path) -> ModuleType:
    """zig/compile.py of a copy of the Zig sources, which a test may change."""
    copy = tmp_path / "zig"
    shutil.copytree(ROOT / "zig", copy)
    spec = importlib.util.spec_from_file_location("zig_compile", copy / "compile.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["zig_compile"] = module
    spec.loader.exec_module(module)
    return module


def test_objects_of_zig_are_named_after_what_they_are_made_of(zig_compile: ModuleType) -> None:
    names = [zig_compile.DRIVERS, *zig_compile.ROUTINES["x86_64"]]

    def keys(optimize: str = "fast") -> dict[str, str]:
        build = zig_compile.Build("x86_64", optimize)
        return {name: build.key(name) for name in names}

    before = keys()
    assert len(set(before.values())) == len(names)
    assert not set(before.values()) & set(keys("safe").values())

    sources: Path = zig_compile.SOURCES
    kernel = sources / "conv" / "sweep_kernel.zig"
    kernel.write_text("// A comment.\n" + kernel.read_text())
    assert keys() == before
    driver = sources / "conv" / "convolve.zig"
    driver.write_text(driver.read_text() + "\nconst unused = 1;\n")
    assert {name for name, key in keys().items() if key != before[name]} == {zig_compile.DRIVERS}
    amx = sources / "gemm" / "kernel_amx.zig"
    amx.write_text(amx.read_text() + "\nconst unused = 1;\n")
    assert {name for name, key in keys().items() if key != before[name]} == {zig_compile.DRIVERS, "gemm_amx"}
    kernel.write_text(kernel.read_text() + "\nconst unused = 1;\n")
    assert all(key != before[name] for name, key in keys().items())


def test_zig_files_import_each_other_without_cycles(zig_compile: ModuleType) -> None:
    sources: Path = zig_compile.SOURCES
    below = {
        path.resolve(): {(path.parent / name).resolve() for name in zig_compile.IMPORT.findall(path.read_text())}
        for path in sources.rglob("*.zig")
    }
    assert len(below) > 100
    while leaves := {path for path, others in below.items() if not others & below.keys()}:
        for path in leaves:
            del below[path]
    assert sorted(str(path.relative_to(sources.resolve())) for path in below) == []
