"""`./x` and js/: what is installed when, and what is said where Node is missing."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from x import node_workspace, web
from x.console import Console
from x.failure import Failure
from x.native import build_piece
from x.steps import Reporter


def reporter() -> tuple[Reporter, io.StringIO]:
    stream = io.StringIO()
    return Reporter(Console(stream, {}), "step", "[1/1]"), stream


def make_workspace(root: Path) -> None:
    for name, text in {
        "package.json": "{}",
        "package-lock.json": '{"lockfileVersion": 3}',
        "sdk/package.json": "{}",
    }.items():
        path = root / "js" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


class Npm:
    """Stands for npm: remembers what it was called with, makes node_modules."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.commands: list[list[str]] = []

    def __call__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.commands.append(list(command))
        (self.root / "js" / "node_modules").mkdir(exist_ok=True)


def test_packages_are_installed_once_for_each_lock_file(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    npm = Npm(tmp_path)
    assert node_workspace.install_packages(tmp_path, npm)
    assert not node_workspace.install_packages(tmp_path, npm)
    (tmp_path / "js" / "package-lock.json").write_text('{"lockfileVersion": 3, "packages": {}}')
    assert node_workspace.install_packages(tmp_path, npm)
    assert [command[-3] for command in npm.commands] == ["ci", "ci"]


def test_removed_packages_are_installed_again(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    npm = Npm(tmp_path)
    node_workspace.install_packages(tmp_path, npm)
    (tmp_path / "js" / "node_modules" / node_workspace.MARK).unlink()
    assert node_workspace.install_packages(tmp_path, npm)


def test_failed_installation_is_tried_again(tmp_path: Path) -> None:
    make_workspace(tmp_path)

    def offline(command: Sequence[str], environment: Mapping[str, str]) -> None:
        raise Failure("no network")

    with pytest.raises(Failure):
        node_workspace.install_packages(tmp_path, offline)
    assert node_workspace.install_packages(tmp_path, Npm(tmp_path))


def test_dashboard_replaces_the_old_one_as_a_whole(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    piece = node_workspace.dashboard_piece(tmp_path)
    piece.output.mkdir(parents=True)
    (piece.output / "old.js").write_text("old")

    def vite(command: Sequence[str], environment: Mapping[str, str]) -> None:
        draft = Path(command[command.index("--outDir") + 1])
        draft.mkdir()
        (draft / "index.html").write_text("new")

    build_piece(piece, vite)
    assert [path.name for path in piece.output.iterdir()] == ["index.html"]


def test_failed_build_keeps_the_old_dashboard(tmp_path: Path) -> None:
    make_workspace(tmp_path)
    piece = node_workspace.dashboard_piece(tmp_path)
    piece.output.mkdir(parents=True)
    (piece.output / "index.html").write_text("old")

    def broken(command: Sequence[str], environment: Mapping[str, str]) -> None:
        raise Failure("a type error")

    with pytest.raises(Failure):
        build_piece(piece, broken)
    assert (piece.output / "index.html").read_text() == "old"


def test_steps_go_on_without_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_workspace, "missing_node", lambda: "Node (`node`) is missing")
    speaker, _ = reporter()
    assert web.install_packages(speaker) == "left out: Node (`node`) is missing"
    assert web.build_dashboard(speaker) == "left out: Node (`node`) is missing"
    sentence = web.prepare_package(Npm(Path()))
    assert sentence is not None
    assert "no dashboard" in sentence


def test_missing_browser_is_said_with_what_it_costs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(speaker: Reporter, needs: Sequence[object]) -> None:
        raise Failure(
            "Chromium is missing, and this user may not install packages", fix="sudo apt-get install chromium"
        )

    monkeypatch.setattr(node_workspace, "browser", lambda: None)
    monkeypatch.setattr(web, "install_needs", refuse)
    monkeypatch.setattr(web, "STAMPS", tmp_path)
    speaker, stream = reporter()
    assert web.install_browser(speaker) == "without Chromium"
    assert "the tests of pages will be skipped" in stream.getvalue()
    assert "sudo apt-get install chromium" in stream.getvalue()
    assert "this user may not" in web.install_browser(speaker)
