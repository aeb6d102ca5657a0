"""docs/status.md says "not there" of what is not there: a name that appears in the sources has to leave that table."""

import re
from pathlib import Path

import amdgpu
import pytest
from amdgpu import errors

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "status.md").read_text()
SOURCES = (
    ("python/amdgpu", (".py", ".pyi")),
    ("crates", (".rs", ".h", ".hpp", ".toml")),
    ("zig/src", (".zig",)),
    ("nim/src", (".nim",)),
    ("julia/src", (".jl",)),
    ("js/sdk/src", (".ts",)),
    ("js/dashboard/src", (".ts",)),
)
# Files and folders, which are looked for as such.
PATHS = re.compile(r"^(Dockerfile|\.devcontainer|\.github/.*|docs/.*|examples/.*)$")
# What stands for a name where the plain word means something else too.
PATTERNS = {
    "get_device": r"\bdef get_device\b",
    "device_info": r"\bdef device_info\b",
    "gather": r"\bdef gather\b",
    "scatter": r"\bdef scatter\b",
    "lerp": r"\bdef lerp\b",
    "learning_rates": r"\blearning_rates\b\s*[:=(]",
    "device_lost": r"[\"']device_lost[\"']",
}


def is_simulated():
    try:
        amdgpu.initialize_device("sim:gfx1100").close()
    except errors.AmdgpuError:
        return False
    return True


# What is asked of the package instead of the sources.
QUESTIONS = {
    "sim:gfx1100": is_simulated,
}


def names():
    """Every name in the first column of the table."""
    section = TEXT.partition("## Not there\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| ")][1:]
    return sorted({name for row in rows for name in re.findall(r"`([^`]+)`", row)})


@pytest.fixture(scope="module")
def sources():
    files = [
        path
        for folder, suffixes in SOURCES
        for path in (ROOT / folder).rglob("*")
        if path.suffix in suffixes and not {"_lib", "target"} & set(path.parts)
    ]
    assert len(files) > 500
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    # Words once, for they are many and the text is long.
    return text, set(re.findall(r"\w+", text))


def test_the_table_names_what_the_requirements_name():
    assert len(names()) > 50
    assert {"KernelSpec", "optimizeFor", "gpu:debug"} <= set(names())


def test_what_stands_as_not_there_is_not_there(sources):
    found = []
    for name in names():
        if PATHS.match(name):
            if (ROOT / name).exists():
                found.append(name)
            continue
        if name in QUESTIONS:
            if QUESTIONS[name]():
                found.append(name)
            continue
        text, words = sources
        if name in PATTERNS:
            is_there = re.search(PATTERNS[name], text) is not None
        else:
            is_there = name in words if re.fullmatch(r"\w+", name) else name in text
        if is_there:
            found.append(name)
    assert found == []
