"""Rule: functions fit a screen, in every language, unless the list says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import functions
from tidy.accepted import LIST
from tidy.tests.tidy_samples import found

LONG = "\n".join(f"    call({number});" for number in range(functions.MAX_LINES))
FIELDS = "\n".join(f"    call({number})" for number in range(functions.MAX_LINES))
SAMPLES = {
    "a.rs": (
        "pub fn long<'a>(x: &'a str) -> [u8; 3]\nwhere\n    X: Y,\n{\n    let brace = '{';\n" + LONG + "\n}\n",
        "long",
    ),
    "a.zig": ('pub fn long(x: u8) void {\n    const s = "}";\n' + LONG + "\n}\n", "long"),
    "a.ts": ("export async function long(x: number): Promise<void> {\n    const s = `}`;\n" + LONG + "\n}\n", "long"),
    "b.ts": ("export const long = (x: number): void => {\n" + LONG + "\n};\n", "long"),
    "c.ts": ("class A {\n  private long(x: number): void {\n" + LONG + "\n  }\n}\n", "long"),
    "a.py": ("def long():\n" + FIELDS + "\n", "long"),
    "a.nim": ("proc long*(x: int) =\n" + FIELDS + "\n", "long"),
}


@pytest.mark.parametrize("path", SAMPLES)
def test_a_long_function_is_found_where_it_begins(tmp_path: Path, path: str) -> None:
    source, _ = SAMPLES[path]
    line = 1 + source[: source.index("long")].count("\n")
    assert found(functions.check, tmp_path, {path: source}) == [f"{path}:{line} function-length"]


@pytest.mark.parametrize("path", SAMPLES)
def test_short_functions_one_after_the_other_pass(tmp_path: Path, path: str) -> None:
    source, _ = SAMPLES[path]
    short = source.replace(LONG, "    call(1);").replace(FIELDS, "    call(1)")
    assert found(functions.check, tmp_path, {path: short * 40}) == []


def test_functions_that_make_types_of_zig_are_measured_by_the_functions_inside(tmp_path: Path) -> None:
    inside = "\n".join(f"    fn f{number}() void {{}}" for number in range(functions.MAX_LINES))
    source = f"pub fn Product(comptime T: type) type {{\n    return struct {{\n{inside}\n    }};\n}}\n"
    assert found(functions.check, tmp_path, {"a.zig": source}) == []


def test_an_entry_with_a_reason_is_taken_and_one_that_nothing_needs_is_not(tmp_path: Path) -> None:
    source, name = SAMPLES["a.py"]
    entry = f"[functions]\na.py {name}: a table\n"
    assert found(functions.check, tmp_path, {"a.py": source, LIST: entry}) == []
    assert found(functions.check, tmp_path, {"a.py": "", LIST: entry}) == [f"{LIST}:2 function-length"]
    assert found(functions.check, tmp_path, {"a.py": source, LIST: f"[functions]\na.py {name}\n"}) != []
