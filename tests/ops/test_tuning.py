"""The tuning database, the child that measures, and the budget."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from amdgpu import _native, errors, tuning
from amdgpu.tuning import database, entries, shapes
from amdgpu.tuning.convolutions import USUAL_CONVOLUTIONS
from amdgpu.tuning.entries import Entry, Product
from amdgpu.tuning.process import Worker, WorkerLostError
from amdgpu.tuning.tuner import NO_TIME, Tuner
from x.paths import ROOT

SHIPPED = ROOT / "crates" / "amdgpu-ops" / "tuning"
# Answers with the seconds that stand in the name of the way; other names say what goes wrong.
STAND_IN = """
import json, os, sys, time
for line in sys.stdin:
    question = json.loads(line)
    way = question["candidate"]
    if way == "hang":
        while True:
            time.sleep(3600)
    if way == "crash":
        os.kill(os.getpid(), 11)
    if way == "exit":
        os._exit(3)
    if way == "nonsense":
        print("{", flush=True)
    elif way == "flood":
        print("x" * 200_000, flush=True)
    elif way == "wrong":
        print(json.dumps({"failed": "the result is wrong"}), flush=True)
    elif way == "process":
        print(json.dumps({"seconds": float(os.getpid())}), flush=True)
    else:
        print(json.dumps({"seconds": float(way.partition("-")[2])}), flush=True)
"""
PRODUCT = Product(512, 256, 128, 1, "bf16", "bf16", "nn")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


@pytest.fixture
def worker() -> Any:
    with Worker([sys.executable, "-c", STAND_IN]) as opened:
        yield opened


def entry(product: Product = PRODUCT, measured: str = "2026-11-21T18:00:00Z", **seconds: float) -> Entry:
    return Entry(product, seconds or {"a": 1e-5, "b": 2e-5}, {}, "a device", measured)


def test_a_child_that_hangs_is_killed_and_the_next_question_gets_a_new_one(worker: Worker) -> None:
    before = worker.ask({"candidate": "process"}, 30)["seconds"]
    with pytest.raises(WorkerLostError, match="no answer in time"):
        worker.ask({"candidate": "hang"}, 0.2)
    assert not worker.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(int(before), 0)
    assert worker.ask({"candidate": "process"}, 30)["seconds"] != before


@pytest.mark.parametrize(
    ("way", "reason"),
    [("crash", "signal SIGSEGV"), ("exit", "exit status 3"), ("nonsense", "nonsense"), ("flood", "nonsense")],
)
def test_a_child_that_breaks_costs_only_its_question(worker: Worker, way: str, reason: str) -> None:
    with pytest.raises(WorkerLostError, match=reason):
        worker.ask({"candidate": way}, 30)
    assert worker.ask({"candidate": "x-0.5"}, 30) == {"seconds": 0.5}


def test_the_real_child_ends_itself_when_its_parent_does_not(tmp_path: Path) -> None:
    program = (
        "import amdgpu.tuning.worker as worker\n"
        "worker.GRACE_SECONDS = 0.0\n"
        "class Bench:\n"
        "    def answer(self, question):\n"
        "        import ctypes\n"
        "        ctypes.PyDLL(None).pause()\n"  # holds the interpreter's lock, as a hanging library does
        "import amdgpu.tuning.measure as measure\n"
        "measure.Bench = Bench\n"
        "worker.main()\n"
    )
    question = {"device": "cpu:0", "product": PRODUCT._asdict(), "candidate": "x", "limit_seconds": 0.2}
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(question) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGALRM


def test_an_interpreter_that_cannot_be_started_costs_the_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for missing in (str(tmp_path / "python"), ""):
        monkeypatch.setattr(sys, "executable", missing)
        with pytest.raises(WorkerLostError, match="cannot be started"):
            Worker().ask({"candidate": "x"}, 1)


def test_modules_of_the_working_folder_do_not_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(7)")
    (tmp_path / "amdgpu.py").write_text("raise SystemExit(8)")
    monkeypatch.chdir(tmp_path)
    with Worker() as real:
        answer = real.ask({"device": "cpu:0", "product": PRODUCT._asdict(), "candidate": "x"}, 60)
    assert "x is no way to compute this" in answer["failed"]


def test_threads_that_tune_together_get_their_own_answers(worker: Worker) -> None:
    tuner = Tuner("cuda:0", "a device", tuning.database_of("sm_90"), budget_seconds=300.0, worker=worker)
    with ThreadPoolExecutor(4) as pool:
        names = [f"way-{number}.5" for number in range(1, 9)]
        found = list(pool.map(lambda m: tuner.tune(PRODUCT._replace(m=10_000 + m), names), range(4)))
    assert all(one is not None and one.seconds == {name: float(name[4:]) for name in names} for one in found)


def test_the_real_child_says_what_it_cannot_measure() -> None:
    question = {"device": "cuda:99", "product": Product(48, 80, 64, 2, "f32", "f32", "nt")._asdict(), "candidate": "x"}
    with Worker() as real:
        assert "DeviceNotFoundError" in real.ask(question, 60)["failed"]
        assert (
            "InvalidArgumentError: x is no way to compute this"
            in real.ask(question | {"device": "cpu:0"}, 60)["failed"]
        )


class Clock:
    """Time that passes only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class SlowWorker(Worker):
    """Every question takes five seconds."""

    def __init__(self, clock: Clock) -> None:
        super().__init__([])
        self.clock = clock
        self.asked: list[str] = []

    def ask(self, question: dict[str, Any], limit_seconds: float) -> dict[str, Any]:
        self.asked.append(question["candidate"])
        self.clock.now += min(5.0, limit_seconds)
        if limit_seconds < 5.0:
            raise WorkerLostError("no answer in time")
        return {"seconds": 0.25}


def test_the_budget_is_kept_and_what_had_no_time_is_measured_later() -> None:
    clock, kept = Clock(), tuning.database_of("sm_90")
    first = SlowWorker(clock)
    tuner = Tuner("cuda:0", "a device", kept, budget_seconds=12.0, worker=first, now=clock)
    found = tuner.tune(PRODUCT, ["a", "b", "c", "d"])
    assert found is not None
    assert (first.asked, clock.now, tuner.left_seconds) == (["a", "b", "c"], 12.0, 0.0)
    assert found.failed == {"c": NO_TIME, "d": NO_TIME}
    second = SlowWorker(clock)
    tuner = Tuner("cuda:0", "a device", kept, budget_seconds=60.0, worker=second, now=clock)
    found = tuner.tune(PRODUCT, ["a", "b", "c", "d"])
    assert found is not None
    assert second.asked == ["c", "d"]
    assert (sorted(found.seconds), found.failed) == (["a", "b", "c", "d"], {})


def test_a_way_that_hangs_crashes_or_is_wrong_costs_the_way(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdgpu.tuning.tuner.CANDIDATE_SECONDS", 0.3)
    monkeypatch.setattr("amdgpu.tuning.tuner.START_SECONDS", 30.0)
    seen = []
    tuner = Tuner(
        "cuda:0",
        "a device",
        tuning.database_of("sm_90"),
        budget_seconds=300.0,
        worker=worker,
        progress=lambda *step: seen.append(step),
    )
    worker.ask({"candidate": "x-1"}, 30)
    tuner._started = PRODUCT
    found = tuner.tune(PRODUCT, ["fast-0.001", "hang", "crash", "wrong", "slow-0.5"])
    assert found is not None
    assert found.ranking() == ["fast-0.001", "slow-0.5"]
    assert found.failed == {
        "hang": "no answer in time",
        "crash": "ended by signal SIGSEGV",
        "wrong": "the result is wrong",
    }
    assert [(name, done) for _, name, _, done, _ in seen] == [
        ("fast-0.001", 1),
        ("hang", 2),
        ("crash", 3),
        ("wrong", 4),
        ("slow-0.5", 5),
    ]


def test_measurements_survive_the_process_and_later_ones_replace_them(cache: Path) -> None:
    kept = tuning.database_of("sm_90")
    assert kept.add([entry()]) == 1
    assert kept.add([entry()]) == 0
    again = database.Database("sm_90")
    assert again.find(PRODUCT) == entry()
    kept.add([entry(c=1e-6)])
    assert database.Database("sm_90").find(PRODUCT) == entry(c=1e-6)
    assert sorted(path.name for path in cache.iterdir()) == ["sm_90.json", "sm_90.lock"]


WRITER = """
import sys
from amdgpu import tuning
from amdgpu.tuning.entries import Entry, Product
start = int(sys.argv[1])
for number in range(20):
    product = Product(start + number, 8, 8, 1, "f32", "f32", "nn")
    tuning.database_of("sm_90").add([Entry(product, {"a": 1.0}, {}, "", "2026-11-21T18:00:00Z")])
"""


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.json")), ids=lambda path: path.stem)
def test_measurements_of_the_package_are_read_and_stand_below_own_ones(path: Path) -> None:
    text = path.read_text()
    architecture, found = entries.parse(text, path.stem)
    assert entries.dump(architecture, found) == text
    assert len({shipped.product for shipped in found}) == len(found) > 100
    assert all(len(shipped.seconds) + len(shipped.failed) > 1 for shipped in found)
    kept = tuning.database_of(architecture)
    assert kept.exact(found[0].product) == found[0]
    kept.add([entry(found[0].product, b=1.0)])
    assert kept.exact(found[0].product) == entry(found[0].product, b=1.0)
    assert json.loads((kept.path or Path()).read_text())["entries"] == [
        json.loads(entries.dump("x", [entry(found[0].product, b=1.0)]))["entries"][0]
    ]


def test_two_processes_write_and_nothing_is_lost() -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(start)]) for start in (1000, 2000)]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    found = {written.product.m for written in database.Database("sm_90").entries() if written.product.n == 8}
    assert found == set(range(1000, 1020)) | set(range(2000, 2020))


@pytest.mark.parametrize("content", [b"{", b"", b"\xff\xfe", b'{"schema": "amdgpu.tuning/2"}', b"[" * 100_000])
def test_a_damaged_file_is_set_aside_with_a_warning(cache: Path, content: bytes) -> None:
    cache.mkdir(parents=True)
    (cache / "gfx942.json").write_bytes(content)
    with pytest.warns(RuntimeWarning, match=r"gfx942\.json is not used .* it is now gfx942\.json\.damaged-0"):
        kept = tuning.database_of("gfx942")
    assert (cache / "gfx942.json.damaged-0").read_bytes() == content
    kept.add([entry()])
    assert database.Database("gfx942").exact(PRODUCT) == entry()


def test_without_a_cache_folder_measurements_live_in_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", "off")
    kept = database.Database("gfx90a")
    assert kept.path is None
    kept.add([entry()])
    assert kept.find(PRODUCT) == entry()


def test_the_nearest_measurement_speaks_for_products_without_one() -> None:
    kept = tuning.database_of("gfx90a")
    small, large = PRODUCT._replace(m=256, n=256, k=256), PRODUCT._replace(m=1024, n=1024, k=1024)
    kept.add([entry(small, a=1.0), entry(large, b=1.0)])

    def found(product: Product) -> list[str] | None:
        near = kept.find(product)
        return near and near.ranking()

    assert found(large) == ["b"]
    assert found(large._replace(epilogue="gelu")) == ["b"]
    assert found(large._replace(m=1500, k=700)) == ["b"]
    assert found(large._replace(m=300, n=200, k=300)) == ["a"]
    assert found(large._replace(m=2048)) is None
    assert found(large._replace(layout="nt")) is None
    assert found(large._replace(is_aligned=False)) is None


def test_export_and_import_give_back_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = dataclasses.replace(entry(PRODUCT._replace(m=7)), failed={"c": "ended by signal SIGSEGV"})
    tuning.database_of("gfx942").add([entry(), failed])
    file = tmp_path / "exported.json"
    assert tuning.export_database("gfx942", file) == 2
    assert tuning.import_database(file) == ("gfx942", 0)
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "other"))
    # A later measurement stays, an earlier one is replaced.
    tuning.database_of("gfx942").add([entry(measured="2026-11-22T00:00:00Z", z=1.0)])
    assert tuning.import_database(file) == ("gfx942", 1)
    read = {found.product: found for found in database.Database("gfx942").entries()}
    assert read == {PRODUCT: entry(measured="2026-11-22T00:00:00Z", z=1.0), failed.product: failed}


def test_an_architecture_without_measurements_is_not_exported(tmp_path: Path) -> None:
    tuning.database_of("gfx942").add([entry()])
    file = tmp_path / "exported.json"
    with pytest.raises(
        errors.InvalidArgumentError, match=r"no measurements of gfx9042; there are some of gfx942.*sm_90"
    ):
        tuning.export_database("gfx9042", file)
    assert not file.exists()


def damaged(**changes: Any) -> str:
    """A database whose only entry has other fields."""
    content = json.loads(entries.dump("gfx942", [entry()]))
    record = content["entries"][0]
    for name, value in changes.items():
        place = record["product"] if name in Product._fields else record if name in record or name == "x" else content
        place[name] = value
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("nonsense", "this is not JSON"),
        ("[]", "the schema is None; this version reads 'amdgpu.tuning/1'"),
        (damaged(schema="amdgpu.tuning/9"), "the schema is 'amdgpu.tuning/9'"),
        (damaged(architecture="../../etc"), "the architecture must be a name such as sm_90 or gfx942, got '../../etc'"),
        (damaged(entries={}), "entries is not a list"),
        (damaged(entries=[1]), "entry 0: not an object"),
        (damaged(x=1), "entry 0: unknown field 'x'"),
        (damaged(m=-1), "entry 0: m is -1"),
        (damaged(k=True), "entry 0: k is True"),
        (damaged(operand="f8"), "entry 0: operand is 'f8'; known are"),
        (damaged(output="f32"), "products of bf16 give bf16"),
        (damaged(layout=["nn"]), "entry 0: layout is"),
        (damaged(is_aligned="yes"), "entry 0: is_aligned is 'yes'"),
        (damaged(seconds={"a": 0}), "the time of a is 0"),
        (damaged(seconds={"a": float("inf")}), "this is not JSON"),
        (damaged(seconds={"A way": 1.0}), "seconds is not an object with names of kernels"),
        (damaged(measured="yesterday"), "measured must be a time such as 2026-11-21T18:30:00Z, got 'yesterday'"),
        (damaged(device=3), "device and reasons are texts"),
    ],
)
def test_files_that_do_not_fit_are_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "given.json"
    file.write_text(text)
    with pytest.raises(errors.InvalidArgumentError) as refusal:
        tuning.import_database(file)
    assert "given.json is not imported" in str(refusal.value)
    assert reason in str(refusal.value)
    assert database.Database("gfx942").exact(PRODUCT) is None


def test_a_database_that_cannot_be_written_still_counts_in_the_process(cache: Path) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    cache.write_text("a file where the folder should be")
    kept = tuning.database_of("gfx1100")
    tuner = Tuner("hip:0", "a device", kept, budget_seconds=60.0, worker=SlowWorker(Clock()))
    with pytest.warns(RuntimeWarning, match="measurements are not kept"):
        assert tuner.tune(PRODUCT, ["a"]) is not None
    assert kept.exact(PRODUCT) is not None


@pytest.mark.parametrize(("text", "seconds"), [("", 0), ("off", 0), ("on", 60), ("0", 0), ("2.5", 2.5), (" 90 ", 90)])
def test_the_variable_gives_the_budget(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float) -> None:
    monkeypatch.setenv("AMDGPU_TUNE", text)
    assert _native.tuning_budget_seconds() == seconds


@pytest.mark.parametrize("text", ["yes", "-1", "nan", "inf", "1e9", "10s"])
def test_other_values_of_the_variable_are_errors(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("AMDGPU_TUNE", text)
    with pytest.raises(errors.InvalidArgumentError, match=r"AMDGPU_TUNE is .* it may be off, on"):
        _native.tuning_budget_seconds()


def test_unknown_ways_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_MATMUL", "theirs")
    with pytest.raises(errors.InvalidArgumentError, match="AMDGPU_MATMUL is 'theirs'; it may be auto, ours, vendor"):
        _native.matmul_demand()


def test_shapes_are_read_from_text() -> None:
    assert shapes.parse_shapes("64, 1x2x3,4x5x6x7") == [(64, 64, 64, 1), (1, 2, 3, 1), (4, 5, 6, 7)]
    (found,) = tuning.products_of("30x64x64", ["i8"], ["tn"])
    assert found == Product(30, 64, 64, 1, "i8", "i32", "tn", "", is_aligned=False)
    assert tuning.products_of(shapes.USUAL_SHAPES, ["bf16"], ["nn"])[0].is_aligned


@pytest.mark.parametrize("text", ["", "64,", "1x2", "0x1x1", "axbxc", "1x2x3x4x5", "-1", "99999999999"])
def test_other_shapes_are_errors(text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is no shape"):
        shapes.parse_shapes(text)


def test_other_formats_and_layouts_are_errors() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="format 'f8' is not known; known are f64"):
        tuning.products_of("8", ["f8"], ["nn"])
    with pytest.raises(errors.InvalidArgumentError, match="layout 'xy' is not known"):
        tuning.products_of("8", ["f32"], ["xy"])


def test_tuning_needs_a_gpu_and_a_budget() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="cpu:0 has one way to compute a product"):
        tuning.tune([PRODUCT], "cpu:0", budget_seconds=1)
    with pytest.raises(errors.InvalidArgumentError, match="budget_seconds is 0; a finite number above 0"):
        tuning.tune([PRODUCT], "cpu:0", budget_seconds=0)


def test_convolutions_are_read_from_text() -> None:
    found = tuning.convolutions_of(
        "8x64x14x15:32x3x2:s2:p1:g4, 1x3x9x9:2x1x1", ["f32", "bf16"], ["NHWC"], ["image_gradient"]
    )
    assert len(found) == 4
    first, second = found[:2]
    assert first == tuning.Convolution(
        (8, 64, 14, 15), (32, 16, 3, 2), "f32", "NHWC", "image_gradient", stride=2, padding=1, groups=4
    )
    assert str(first) == "f32 NHWC image_gradient 8x64x14x15 by 32x16x3x2 stride 2 padding 1 groups 4"
    assert first.image_shape == (8, 14, 15, 64)
    assert second.filters == (2, 3, 1, 1)
    assert tuning.convolutions_of(USUAL_CONVOLUTIONS, ["f32"])[-1].options == (
        [2, 2],
        [3, 3],
        [1, 1],
        1,
        "NCHW",
        "fp32",
    )
    assert found[2].operand == "bf16"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8x64x14x14",
        "8x64x14:64x3x3",
        "8x0x14x14:64x3x3",
        "8x64x14x14:64x3x3:g3",
        "8x64x14x14:64x3x3:x1",
        "8x6x4x4:6x1x1:s0",
    ],
)
def test_other_convolutions_are_errors(text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is no convolution; write IMAGESxCHANNELSxROWSxCOLUMNS"):
        tuning.convolutions_of(text, ["f32"])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ((["i8"],), "format 'i8' is not known; known are f64, f32, tf32, f16, bf16"),
        ((["f32"], ["NCL"]), "layout 'NCL' is not known; known are NCHW, NHWC"),
        ((["f32"], ["NCHW"], ["back"]), "direction 'back' is not known; known are forward"),
    ],
)
def test_other_words_about_convolutions_are_errors(given: tuple[list[str], ...], reason: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=reason):
        tuning.convolutions_of("1x1x4x4:1x2x2", *given)


def test_convolutions_are_measured_as_products_are(worker: Worker) -> None:
    (convolution,) = tuning.convolutions_of("1x2x4x4:2x3x3", ["f32"])
    kept = database.database_of("gfx0")
    tuner = Tuner("cuda:0", "a device", kept, budget_seconds=60, worker=worker)
    record = tuner.tune_subject(convolution, "convolution x", ["archived-2e-5", "generated-3e-5", "wrong", "crash"])
    assert record is not None
    assert record.ranking() == ["archived-2e-5", "generated-3e-5"]
    assert record.failed == {"wrong": "the result is wrong", "crash": "ended by signal SIGSEGV"}
    assert kept.record("convolution x") == record
    assert tuner.tune_subject(convolution, "convolution y", ["wrong"]) is None
