"""Rule: crates depend downwards only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import crate_arrows
from tidy.tests.tidy_samples import found, tree_of

HEAD = '[package]\nname = "x"\n\n'


def manifest(crate: str) -> str:
    return f"crates/{crate}/Cargo.toml"


def test_the_house_plan_has_no_circle() -> None:
    for crate, below in crate_arrows.ARROWS.items():
        assert below <= set(crate_arrows.ARROWS)
        assert crate not in crate_arrows.reachable(crate_arrows.ARROWS, crate)


def test_downward_arrows_pass_also_past_a_room(tmp_path: Path) -> None:
    text = HEAD + "[dependencies]\namdgpu-abi.workspace = true\namdgpu-hal = { path = '../amdgpu-hal' }\nserde = '1'\n"
    assert found(crate_arrows.check, tmp_path, {manifest("amdgpu-neuro"): text}) == []


@pytest.mark.parametrize(
    ("crate", "dependency"),
    [
        ("amdgpu-hal", "amdgpu-telemetry"),
        ("amdgpu-telemetry", "amdgpu-hal"),
        ("amdgpu-abi", "amdgpu-hal"),
        ("amdgpu-matrix", "amdgpu-aura"),
        ("amdgpu-compiler", "amdgpu-memory"),
        ("amdgpu-math", "amdgpu-math"),
        ("amdgpu-math", "amdgpu-unheard-of"),
    ],
)
@pytest.mark.parametrize(
    "form",
    [
        "[dependencies]\n{}.workspace = true\n",
        "[dependencies]\n{} = {{ path = 'x' }}\n",
        "[dev-dependencies]\n{} = '1'\n",
        "[target.'cfg(unix)'.dependencies]\n{} = '1'\n",
        "[features]\n[dependencies.{}]\npath = 'x'\n",
    ],
)
def test_any_other_arrow_is_found_in_every_form(tmp_path: Path, crate: str, dependency: str, form: str) -> None:
    text = HEAD + form.format(dependency)
    assert found(crate_arrows.check, tmp_path, {manifest(crate): text}) == [f"{manifest(crate)}:5 crate-arrows"]


def test_an_upward_arrow_is_called_one(tmp_path: Path) -> None:
    text = HEAD + "[dependencies]\namdgpu-python.workspace = true\n"
    (finding,) = crate_arrows.check(tree_of(tmp_path, {manifest("amdgpu-hal"): text}))
    assert "above" in finding.message


def test_a_crate_without_a_place_is_found(tmp_path: Path) -> None:
    assert found(crate_arrows.check, tmp_path, {manifest("amdgpu-extra"): HEAD}) == [
        f"{manifest('amdgpu-extra')}:1 crate-arrows"
    ]


def test_other_sections_are_not_dependencies(tmp_path: Path) -> None:
    text = HEAD + "[features]\namdgpu-python = []\n[lints]\nworkspace = true\n"
    assert found(crate_arrows.check, tmp_path, {manifest("amdgpu-hal"): text}) == []
