"""Rule: every unsafe block gives its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import safety
from tidy.tests.tidy_samples import found

GOOD = [
    "// SAFETY: fine.\nlet x = unsafe { f() };",
    "// SAFETY: fine, and\n// for a second reason.\nlet x =\n    unsafe { f() };",
    "// SAFETY: fine.\n#[allow(x)]\nunsafe impl Send for X {}",
    "// SAFETY: fine.\nlet x = g(\n    a,\n    unsafe { f() },\n);",
    'let s = "unsafe {";',
    "// unsafe { } is meant here",
    "unsafe fn f() {}",
    'unsafe extern "C" fn f() {}',
    "#![deny(unsafe_op_in_unsafe_fn)]",
]
BAD = [
    "let x = unsafe { f() };",
    "// Fast.\nlet x = unsafe { f() };",
    "// SAFETY: fine.\nlet y = 1;\nlet x = unsafe { f() };",
    "// SAFETY: fine.\n\nlet x = unsafe { f() };",
    "// SAFETY: fine.\nif y {\n    unsafe { f() }",
    "unsafe impl Send for X {}",
    "let x = unsafe\n{ f() };",
]


@pytest.mark.parametrize("source", GOOD)
def test_an_explained_block_passes(tmp_path: Path, source: str) -> None:
    assert found(safety.check, tmp_path, {"a.rs": f"fn g() {{\n{source}\n}}\n"}) == []


@pytest.mark.parametrize("source", BAD)
def test_an_unexplained_block_is_found(tmp_path: Path, source: str) -> None:
    line = 2 + next(number for number, text in enumerate(source.split("\n")) if "unsafe" in text)
    assert found(safety.check, tmp_path, {"a.rs": f"fn g() {{\n{source}\n}}\n"}) == [f"a.rs:{line} safety"]
