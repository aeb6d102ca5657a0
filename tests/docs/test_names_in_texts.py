"""Names in hints, messages and pages exist: what a text says to call can be called."""

import importlib
import re
from pathlib import Path

import amdgpu
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
_ERRORS = {name: kind for name, kind in vars(amdgpu.errors).items() if isinstance(kind, type)}
HINTS = {name: kind.hint for name, kind in _ERRORS.items() if getattr(kind, "hint", None)}
PAGES = sorted(path for path in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"] if path.name != "errors.md")
SOURCES = sorted([*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/**/*.py")])

# Classes that texts write without the package.
CLASSES = {
    kind.__name__: kind
    for kind in (
        amdgpu.AMDGPUDevice,
        amdgpu.Array,
        amdgpu.DeviceInfo,
        amdgpu.Event,
        amdgpu.CapturedGraph,
        amdgpu.Kernel,
        amdgpu.KernelResult,
        amdgpu.LayeredNetwork,
        amdgpu.Network,
        amdgpu.PendingKernel,
        amdgpu.RawKernel,
        amdgpu.SpikingNetwork,
        amdgpu.Stream,
    )
}
# Names with our prefix that are no Python: files, the group of entry points, the schema of network plans.
OTHER = {"amdgpu.h", "amdgpu.hpp", "amdgpu.cores", "amdgpu.network_plan"}
# A name of ours. Schemas and formats (`amdgpu.compile/1`, "amdgpu.network_plan") are none, nor what other words end with.
NAME = re.compile(r"(?<![\w/.@-])amdgpu(?:\.[A-Za-z_]\w*)+(?![\w.]*/[\dN])")
QUOTED_NAME = re.compile(r'"amdgpu\.\w+"')
# Calls in hints that are of the kernel language, of Python or of a test framework.
LANGUAGE = {"__syncthreads", "assert", "atomicAdd"}


def _attribute(owner, name):
    if hasattr(owner, name) or name in getattr(owner, "__annotations__", {}):
        return getattr(owner, name, None)
    raise AttributeError(f"{owner!r} has no {name}")


def _defined(dotted, parts):
    """The file of the longest module in a dotted name, which defines the names behind it."""
    for count in range(len(parts), 1, -1):
        place = ROOT.joinpath("python", *parts[:count])
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        if not file.exists():
            continue
        text = file.read_text()
        for name in parts[count:]:
            if not re.search(
                rf"^(?: {{4}})?(?:(?:async )?def|class) {name}\b|^(?: {{4}})?{name}\b *[:=,]", text, re.MULTILINE
            ):
                raise AttributeError(f"{file.name} has no {name}, which {dotted} names")
        return file
    raise AttributeError(f"there is no module {dotted}")


def _resolve(dotted):
    """The object of a dotted name."""
    parts = dotted.split(".")
    if parts[:2] in (["amdgpu", "torch"], ["amdgpu", "tensorflow"]):
        # Its modules import a framework, which is not here; they and what they define are looked for in files.
        return _defined(dotted, parts)
    for count in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for name in parts[count:]:
            # What texts call a class of the native module is a name of the package.
            is_native = found is amdgpu and hasattr(amdgpu._native, name)
            found = _attribute(amdgpu._native if is_native else found, name)
        return found
    raise AttributeError(f"there is no module {parts[0]}")


def _check(text):
    """The names in a text that do not exist."""
    missing = []
    for name in NAME.findall(QUOTED_NAME.sub("", text)):
        if name in OTHER:
            continue
        try:
            _resolve(name)
        except AttributeError as error:
            missing.append(f"{name}: {error}")
    for owner, name in re.findall(rf"(?<![\w.])({'|'.join(CLASSES)})\.([a-z_]\w*)", text):
        if not hasattr(CLASSES[owner], name) and name not in getattr(CLASSES[owner], "__annotations__", {}):
            missing.append(f"{owner}.{name}")
    return missing


@pytest.mark.parametrize("name", HINTS)
def test_hints_name_what_exists(name):
    hint = HINTS[name]
    assert _check(hint) == []
    for dotted in re.findall(r"(?<![\w.])numpy(?:\.\w+)+", hint):
        _resolve(dotted)
    # A method without its object is one of an array of either kind, or of a device.
    for method in re.findall(r"(?<![\w)\].])\.(\w+)\(", hint):
        assert hasattr(amdgpu.Array, method), f".{method}() is no method of amdgpu.Array"
    owners = [amdgpu, *CLASSES.values()]
    for function in re.findall(r"(?<![\w.])([a-zA-Z_]\w*)\(", hint):
        assert function in LANGUAGE or any(hasattr(owner, function) for owner in owners), f"{function}() does not exist"


def test_names_that_do_not_exist_are_noticed():
    assert _check("Copy the array with Array.send(device)") == ["Array.send"]
    assert _check("see amdgpu.nothing.at_all() and amdgpu.zeros(3)") == ["amdgpu.nothing.at_all: " + _message()]
    assert _check("amdgpu.AMDGPUDevice.close, KernelResult.output, amdgpu.hpp") == []


def _message():
    try:
        _resolve("amdgpu.nothing")
    except AttributeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_pages_name_what_exists(page):
    assert _check(page.read_text()) == []


def test_messages_name_what_exists():
    # Of sources the text between quotes: what is said to users stands there, and in docstrings.
    quoted = re.compile(r'"""(?:.|\n)*?"""|"(?:[^"\\\n]|\\.)*"')
    missing = {}
    for path in SOURCES:
        # A literal without blanks is a label, not a sentence.
        texts = [text for text in quoted.findall(path.read_text()) if " " in text]
        found = [one for text in texts for one in _check(text)]
        if found:
            missing[str(path.relative_to(ROOT))] = found
    assert missing == {}


def test_errors_about_arrays_say_what_can_be_done():
    # What the messages of arrays advise, done.
    array = amdgpu.array(np.ones(3, "float32"), device="null:gfx1100")
    with pytest.raises(amdgpu.errors.WrongDeviceError) as raised:
        array.__array_interface__  # noqa: B018
    assert ".numpy()" in str(raised.value)
    assert array.numpy().shape == (3,)
