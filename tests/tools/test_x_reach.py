"""`./x test --changed` and the order in which suites run side by side."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from x import reach, schedule, suites
from x.paths import ROOT


def test_every_folder_and_suite_of_the_map_exists() -> None:
    for prefix, names, areas in reach.MAP:
        assert set(names) <= set(suites.NAMES)
        assert all((ROOT / "tests" / area).is_dir() for area in areas), prefix


def test_every_source_folder_reaches_a_test() -> None:
    folders = [
        "python/amdgpu",
        "crates",
        "zig/src",
        "nim/src",
        "julia/src",
        "js/sdk/src",
        "js/dashboard/src",
        "tools/x",
    ]
    for folder in folders:
        for path in (ROOT / folder).iterdir():
            if path.name not in ("__pycache__", "_lib", "py.typed") and path.suffix != ".so":
                inside = "/src/lib.rs" if folder == "crates" else "/a.py" if path.is_dir() else ""
                assert reach.reached([f"{path.relative_to(ROOT)}{inside}"]).suites, path


def test_a_change_of_a_test_reaches_that_file_alone() -> None:
    found = reach.reached(["tests/ops/test_reduce.py"])
    assert found == reach.Reached(("python",), (), ("tests/ops/test_reduce.py",))


def test_a_change_of_graphs_reaches_their_tests() -> None:
    for file in ("python/amdgpu/graph.py", "python/amdgpu/traced_function.py", "python/amdgpu/ops/reduce.py"):
        assert "tests/graph" in reach.reached([file]).python_tests


def test_a_change_of_what_tests_share_reaches_the_files_that_use_it() -> None:
    found = reach.reached(["tests/support/wave_sources.py"])
    assert found.python_tests == ("tests/compiler/test_waves.py", "tests/gpu/test_waves.py")


def test_a_change_of_a_crate_reaches_the_crates_above_it_and_its_areas() -> None:
    found = reach.reached(["crates/amdgpu-memory/src/pool.rs", "tests/array/test_arrays.py"])
    assert {"amdgpu-memory", "amdgpu-aura", "amdgpu-python"} <= set(found.crates)
    assert "amdgpu-compiler" not in found.crates
    assert found.python_tests == ("tests/array", "tests/memory")
    assert found.suites == ("python", "rust")
    assert "tests/server" in reach.left_out(found, suites.NAMES)


def test_pieces_run_side_by_side_within_the_capacity_and_after_what_they_wait_for() -> None:
    running: set[str] = set()
    seen: list[frozenset[str]] = []
    lock = threading.Lock()
    both = threading.Barrier(2, timeout=30)

    def work(name: str) -> None:
        with lock:
            running.add(name)
            seen.append(frozenset(running))
        if name in ("a", "b"):
            both.wait()
        with lock:
            running.discard(name)

    def piece(name: str, processors: int = 1, after: tuple[str, ...] = ()) -> schedule.Piece:
        return schedule.Piece(name, lambda: work(name), processors, after)

    pieces = [piece("a"), piece("big", 5), piece("b"), piece("last", after=("a", "b", "big", "not here"))]
    schedule.run_side_by_side(pieces, capacity=2)
    assert frozenset({"a", "b"}) in seen
    assert frozenset({"big"}) in seen
    assert seen[-1] == {"last"}
    assert not any(len(group) > 1 and "big" in group for group in seen)


def test_what_a_piece_raises_is_raised_once_the_others_have_ended() -> None:
    ended = []

    def fails() -> None:
        raise ValueError("x")

    pieces = [schedule.Piece("a", fails), schedule.Piece("b", lambda: ended.append(1), after=("a",))]
    with pytest.raises(ValueError, match="x"):
        schedule.run_side_by_side(pieces, capacity=1)
    assert ended == []


def test_changes_are_read_from_git(tmp_path: Path) -> None:
    assert isinstance(reach.changed_files(""), list)
    with pytest.raises(Exception, match="no-such-branch"):
        reach.changed_files("no-such-branch")
