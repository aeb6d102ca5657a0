"""Rule: the modules of a crate use each other in one direction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import rust_circles
from tidy.accepted import LIST
from tidy.tests.tidy_samples import found

ROOT = "mod a;\nmod b;\nmod c;\n"
# `a.rs` and `b.rs` of a crate that use each other.
CIRCLES = {
    "use of the crate": ("use crate::b::X;\n", "use crate::{a::{Y, Z as W}};\n"),
    "paths in code": ("fn f() { crate::b::g() }\n", "fn g() { let x = super::a::f(); }\n"),
    "names that the root hands on": ("use crate::b::X;\n", "use crate::Y;\n"),
}
STRAIGHT = {
    "one direction": ("use crate::b::X;\n", "use std::fmt;\n"),
    "comments and texts": ("use crate::b::X;\n", '// crate::a::Y\nconst T: &str = "crate::a::Y";\n'),
    "tests": ("use crate::b::X;\n", "#[cfg(test)]\nmod tests {\n    use crate::a::Y;\n    fn f() { {} }\n}\n"),
    "other crates": ("use crate::b::X;\n", "use other::a::Y;\n"),
}


def files(a: str, b: str) -> dict[str, str]:
    root = ROOT + "pub use a::Y;\n"
    return {
        "crates/x/src/lib.rs": root,
        "crates/x/src/a.rs": a,
        "crates/x/src/b.rs": b,
        "crates/x/src/c.rs": "use crate::a::Y;\n",
    }


@pytest.mark.parametrize("name", CIRCLES)
def test_a_circle_is_found_once(tmp_path: Path, name: str) -> None:
    a, b = CIRCLES[name]
    assert found(rust_circles.check, tmp_path, files(a, b)) == ["crates/x/src/a.rs:1 rust-circle"]


@pytest.mark.parametrize("name", STRAIGHT)
def test_arrows_in_one_direction_pass(tmp_path: Path, name: str) -> None:
    a, b = STRAIGHT[name]
    assert found(rust_circles.check, tmp_path, files(a, b)) == []


def test_a_child_and_its_parent_that_use_each_other_are_a_circle(tmp_path: Path) -> None:
    tree = {
        "crates/x/src/lib.rs": "mod a;\n",
        "crates/x/src/a.rs": "mod child;\nfn f() { child::g() }\n",
        "crates/x/src/a/child.rs": "use super::Thing;\npub fn g() {}\n",
    }
    assert found(rust_circles.check, tmp_path, tree) == ["crates/x/src/a.rs:2 rust-circle"]


def test_the_list_takes_a_circle_and_asks_to_be_shortened_when_it_becomes_smaller(tmp_path: Path) -> None:
    tree = files(*CIRCLES["paths in code"])
    assert found(rust_circles.check, tmp_path, {**tree, LIST: "[circles]\ncrates/x a b: to be split\n"}) == []
    longer = {**tree, LIST: "[circles]\ncrates/x a b c: to be split\n"}
    assert found(rust_circles.check, tmp_path, longer) == [f"{LIST}:2 rust-circle"]
