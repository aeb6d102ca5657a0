"""`./x test --changed`: which suites and test files a change can reach, from one map.

The map says where a fault of a source shows: its own suite, and the areas of tests/ that use it closely. A change at the bottom of the
house can show everywhere; the table that is printed names what was left out, and `./x test` runs it all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from x.failure import Failure
from x.paths import ROOT
from x.process import capture

# The first entry whose prefix a path has counts. Areas are folders of tests/; `rust` stands for the crate and those that use it.
MAP: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("crates/amdgpu-abi/", ("rust", "zig", "nim", "julia", "js"), ("api", "docs", "telemetry")),
    ("crates/amdgpu-compiler/", ("rust",), ("compiler",)),
    ("crates/amdgpu-hal/", ("rust",), ("aura", "memory")),
    ("crates/amdgpu-aura/", ("rust",), ("aura",)),
    ("crates/amdgpu-memory/", ("rust",), ("array", "memory")),
    ("crates/amdgpu-array/", ("rust",), ("array",)),
    ("crates/amdgpu-ops/", ("rust",), ("graph", "ops", "random", "neuro")),
    ("crates/amdgpu-graph/", ("rust",), ("graph",)),
    ("crates/amdgpu-matrix/", ("rust",), ("ops",)),
    ("crates/amdgpu-neuro/", ("rust",), ("neuro",)),
    ("crates/amdgpu-math/", ("rust",), ("math",)),
    ("crates/amdgpu-telemetry/", ("rust",), ("telemetry",)),
    ("crates/amdgpu-python/", ("rust",), ("api", "array", "aura", "ops")),
    ("crates/amdgpu-capi/", ("rust",), ("c_api",)),
    ("crates/", ("rust",), ("api",)),
    ("Cargo", ("rust",), ()),
    ("zig/src/kernels/", (), ("gpu", "ops")),
    ("zig/", ("zig",), ("ops",)),
    ("nim/", ("nim",), ("neuro",)),
    ("julia/", ("julia",), ("math",)),
    ("js/", ("js",), ()),
    ("tools/demo/", ("tools",), ("docs",)),
    ("tools/cli_pages/", ("tools",), ("cli",)),
    ("tools/", ("tools",), ()),
    ("python/amdgpu/codegen/", (), ("compiler",)),
    ("python/amdgpu/cli/", (), ("cli",)),
    ("python/amdgpu/server/", ("js",), ("server",)),
    ("python/amdgpu/telemetry/", (), ("telemetry", "server")),
    ("python/amdgpu/ops/", (), ("graph", "ops")),
    ("python/amdgpu/random/", (), ("random",)),
    ("python/amdgpu/graph", (), ("graph",)),
    ("python/amdgpu/traced_function", (), ("graph",)),
    ("python/amdgpu/rocm", (), ("aura", "c_api")),
    ("python/amdgpu/gpu_kernels/", (), ("ops", "gpu")),
    ("python/amdgpu/tuning/", (), ("ops",)),
    *((f"python/amdgpu/{name}", (), ("neuro",)) for name in ("anneal", "interchange", "network", "plotting", "search")),
    *(
        (f"python/amdgpu/{name}", (), ("neuro",))
        for name in ("external_inputs", "layered_network", "spiking", "training")
    ),
    *((f"python/amdgpu/{name}", (), ("array",)) for name in ("array", "fft", "files", "later", "linalg", "namespace")),
    ("python/amdgpu/memory", (), ("array", "memory")),
    ("python/amdgpu/math", (), ("math",)),
    *(
        (f"python/amdgpu/{name}", (), ("aura", "api"))
        for name in ("compile_options", "device", "kernel", "benchmark", "shutdown")
    ),
    ("python/amdgpu/torch", (), ("api", "docs")),
    ("python/amdgpu/tensorflow", (), ("api", "docs")),
    ("python/tf_rdna", (), ("docs",)),
    ("integrations/", (), ("docs",)),
    ("tests/tensorflow/", (), ("docs",)),
    ("tests/torch/", (), ("docs",)),
    ("python/", (), ("api", "docs")),
    ("examples/", (), ("docs", "neuro")),
    ("docs/", ("tools",), ("docs",)),
    ("README.md", ("tools",), ("docs",)),
    ("tests/tools/", ("tools",), ()),
    ("tests/cpp/", ("rust",), ("compiler",)),
    ("tests/programs/", ("rust",), ("compiler",)),
    ("tests/kernels/", ("rust",), ("compiler",)),
    ("tests/corpus/", (), ("compiler",)),
    ("tests/data/", (), ("neuro",)),
    ("tests/neuro_validation/", (), ("neuro",)),
)
DEPENDENCY = re.compile(r"^(amdgpu-[a-z-]+)\s*[.=]", re.MULTILINE)


@dataclass(frozen=True)
class Reached:
    """What a change reaches: suites, crates, and files or folders of Python tests."""

    suites: tuple[str, ...]
    crates: tuple[str, ...]
    python_tests: tuple[str, ...]


def changed_files(revision: str) -> list[str]:
    """The files that differ from `revision`, new ones included; without one, from the last commit, or by it where nothing differs.

    Raises:
        Failure: git does not know the revision.
    """
    new = (capture(["git", "ls-files", "--others", "--exclude-standard"]) or "").splitlines()
    differing = capture(["git", "diff", "--name-only", revision or "HEAD"])
    if differing is None:
        raise Failure(f"git cannot compare the tree with {revision or 'HEAD'}", fix="name a commit or a branch")
    found = [*differing.splitlines(), *new]
    if not found and not revision:
        found = (capture(["git", "diff", "--name-only", "HEAD~1", "HEAD"]) or "").splitlines()
    return sorted(set(found))


def reached(files: Iterable[str], root: Path = ROOT) -> Reached:
    """What the map says of changed files."""
    suites: set[str] = set()
    crates: set[str] = set()
    tests: set[str] = set()
    for file in files:
        if (own := _test_file(file, root)) is not None:
            tests |= own
            continue
        entry = next((entry for entry in MAP if file.startswith(entry[0])), None)
        if entry is None:
            continue
        suites |= set(entry[1])
        tests |= {f"tests/{area}" for area in entry[2] if (root / "tests" / area).is_dir()}
        if "rust" in entry[1]:
            crates |= {file.split("/")[1]} if file.startswith("crates/") else {"amdgpu-compiler"}
    if tests:
        suites.add("python")
    tests = {name for name in tests if not any(name.startswith(f"{folder}/") for folder in tests)}
    return Reached(tuple(sorted(suites)), tuple(sorted(_with_users(crates, root))), tuple(sorted(tests)))


def _test_file(file: str, root: Path) -> set[str] | None:
    """A file of Python tests, or those that import a module of tests/support; None for other files."""
    if (
        not file.startswith("tests/")
        or not file.endswith(".py")
        or file.startswith(("tests/tools/", "tests/corpus/", "tests/tensorflow/", "tests/torch/"))
    ):
        return None
    path = root / file
    if path.name.startswith("test_"):
        return {file} if path.exists() else set()
    if path.name == "conftest.py":
        return {path.parent.relative_to(root).as_posix()}
    word = re.compile(rf"\b{re.escape(path.stem)}\b")
    users = [test for test in (root / "tests").glob("*/test_*.py") if word.search(test.read_text(encoding="utf-8"))]
    return {test.relative_to(root).as_posix() for test in users if test.parent.name != "tools"}


def _with_users(crates: set[str], root: Path) -> set[str]:
    """The crates and those that depend on them, directly or not."""
    uses = {
        manifest.parent.name: set(DEPENDENCY.findall(manifest.read_text(encoding="utf-8")))
        for manifest in (root / "crates").glob("*/Cargo.toml")
    }
    found = {crate for crate in crates if crate in uses}
    while more := {crate for crate, below in uses.items() if below & found} - found:
        found |= more
    return found


def left_out(what: Reached, names: Sequence[str], root: Path = ROOT) -> str:
    """What does not run, for the end of the output."""
    areas = sorted({path.parent.name for path in (root / "tests").glob("*/test_*.py")} - {"tools", "neuro_validation"})
    others = [name for name in names if name not in what.suites]
    far = [area for area in areas if not any(test.startswith(f"tests/{area}") for test in what.python_tests)]
    return f"not run: {', '.join([*others, *(f'tests/{area}' for area in far)])}; `./x test` runs everything"
