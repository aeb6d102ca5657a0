"""`kernel.tune`: variants that are measured, compared, kept and found again; statistics, clearing, export and import of the database."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, tuning
from amdgpu.tuning.process import Worker

AXPY = """
#ifndef TILE
#define TILE 1
#endif
extern "C" __global__ void axpy(const float* a, float* y, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * TILE;
    for (int j = 0; j < TILE; j++)
        if (i + j < n) y[i + j] += 2.0f * a[i + j];
}
"""
# Answers with the seconds that its script has for the block and the macros; other words say what goes wrong.
STAND_IN = """
import json, os, sys, time
answers = json.loads(sys.argv[1])
for line in sys.stdin:
    question = json.loads(line)
    answer = answers[question["candidate"]]
    if answer == "hang":
        time.sleep(3600)
    if answer == "crash":
        os.kill(os.getpid(), 11)
    print(json.dumps({"seconds": answer} if isinstance(answer, float) else {"failed": answer}), flush=True)
"""
COUNT = 1000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


@pytest.fixture
def device() -> Any:
    with amdgpu.initialize_device("cpu:0", ["aura"]) as opened:
        yield opened


def arguments() -> tuple[Any, Any, int]:
    return np.arange(COUNT, dtype=np.float32), np.ones(COUNT, np.float32), COUNT


def grid_of(block: tuple[int, ...], defines: dict[str, str]) -> int:
    return -(-COUNT // (block[0] * int(defines.get("TILE", 1))))


def scripted(**answers: float | str) -> Worker:
    """A child that answers by `block_128` or `block_128_TILE_4`."""
    named = {name.replace("block_", "block=").replace("_TILE_", " TILE="): value for name, value in answers.items()}
    return Worker([sys.executable, "-c", STAND_IN, json.dumps(named)])


def test_variants_are_measured_compared_and_the_fastest_is_launched(device: Any) -> None:
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    seen: list[Any] = []
    tuned = kernel.tune(
        (a, y, n), block=[64, 128], defines={"TILE": [1, 4]}, grid=grid_of, progress=lambda *step: seen.append(step)
    )
    names = ["block=64 TILE=1", "block=64 TILE=4", "block=128 TILE=1", "block=128 TILE=4"]
    assert [(name, done, count) for name, _, done, count in seen] == [(name, n + 1, 4) for n, name in enumerate(names)]
    assert sorted(tuned.record.seconds) == sorted(names)
    assert tuned.record.failed == {}
    assert f"block={tuned.block[0]} TILE={tuned.defines['TILE']}" == tuned.record.ranking()[0]
    # The child worked on copies.
    np.testing.assert_array_equal(y, np.ones(COUNT, np.float32))
    tuned(a, y, n)
    np.testing.assert_array_equal(y, 1 + 2 * a)


def test_what_was_measured_is_picked_up_by_launches_and_other_processes(device: Any) -> None:
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    with pytest.raises(errors.InvalidLaunchError, match="a launch needs grid and block"):
        kernel(a, y, n)
    kernel.tune((a, y, n), block=[32, 64], worker=scripted(block_32=1.0, block_64=0.5))
    kernel(a, y, n)
    np.testing.assert_array_equal(y, 1 + 2 * a)
    result = device.execute(kernel, a, y, n)
    assert result.performance_metrics["block"] == (64,)
    assert device.execute(kernel, a, y, n, block=32).performance_metrics["block"] == (32,)
    # As another process finds it: from the file.
    again = tuning.Database(device.info().architecture)
    (record,) = again.records()
    assert (record.seconds, record.subject.split(" ")[:2]) == ({"block=32": 1.0, "block=64": 0.5}, ["kernel", "axpy"])
    found = tuning.tuned_kernel(kernel, (a, y, n))
    assert found is not None
    assert found.block == (64,)


def test_macros_of_the_fastest_variant_are_compiled_in(device: Any) -> None:
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    answers = {"block_32_TILE_1": 1.0, "block_32_TILE_4": 0.5}
    tuned = kernel.tune((a, y, n), block=[32], defines={"TILE": [1, 4]}, grid=grid_of, worker=scripted(**answers))
    assert dict(tuned.kernel.recipe()["defines"]) == {"TILE": "4"}
    kernel(a, y, n, grid=8)
    np.testing.assert_array_equal(y, 1 + 2 * a)
    # The fastest variant knows its block as well, when somebody compiles it so.
    other = device.compile_kernel(AXPY, defines={"TILE": "4"})
    found = tuning.tuned_kernel(other, (a, y, n), grid=8)
    assert found is not None
    assert (found.block, found.defines) == ((32,), {})


def test_measurements_speak_for_arguments_of_a_class(device: Any) -> None:
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    kernel.tune((a, y, n), block=[32], worker=scripted(block_32=1.0))

    def is_known(kernel: Any, *args: Any) -> bool:
        return tuning.tuned_kernel(kernel, args) is not None

    assert is_known(kernel, a[:600], y[:600], 600)
    assert not is_known(kernel, a[:500], y[:500], 500)
    assert not is_known(device.compile_kernel(AXPY.replace("2.0f", "3.0f")), a, y, n)
    assert not is_known(device.compile_kernel(AXPY, fast_math=True), a, y, n)
    assert not is_known(device.compile_kernel(AXPY, defines={"TILE": "2"}), a, y, n)
    assert is_known(device.compile_kernel(AXPY, file_name="other.hip"), a, y, n)


def test_a_variant_that_hangs_crashes_or_is_wrong_costs_itself(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdgpu.tuning.tuner.CANDIDATE_SECONDS", 0.5)
    monkeypatch.setattr("amdgpu.tuning.tuner.START_SECONDS", 1.0)
    answers: dict[str, float | str] = {"block_1": 1.0, "block_2": "hang", "block_4": "crash", "block_8": "it differs"}
    kernel = device.compile_kernel(AXPY)
    tuned = kernel.tune(arguments(), block=[1, 2, 4, 8, 16], worker=scripted(**answers, block_16=0.5))
    assert tuned.block == (16,)
    assert tuned.record.failed == {
        "block=2": "no answer in time",
        "block=4": "ended by signal SIGSEGV",
        "block=8": "it differs",
    }


WRONG = """
extern "C" __global__ void wrong(float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef SPIN
    if (SPIN) while (y[i] == 0) ((volatile float*)y)[i] = 0;
#endif
    if (i < n) y[i] = VALUE;
}
"""


def test_the_real_child_refuses_other_results_and_sources_that_do_not_compile(device: Any) -> None:
    y = np.zeros(100, np.float32)
    kernel = device.compile_kernel(WRONG, defines={"VALUE": "1.0f"})
    values = ["1.0f", "1.00001f", "1.5f", "(0.0f/0.0f)", "nonsense"]
    tuned = kernel.tune((y, 100), block=[32], defines={"VALUE": values})
    assert sorted(tuned.record.seconds) == ["block=32 VALUE=1.00001f", "block=32 VALUE=1.0f"]
    failed = tuned.record.failed
    assert "y differs from that of the first variant, relative to its largest by 0.5" in failed["block=32 VALUE=1.5f"]
    assert "y differs" in failed["block=32 VALUE=(0.0f/0.0f)"]
    assert "CompileError" in failed["block=32 VALUE=nonsense"]
    exact = kernel.tune((y, 100), block=[32], defines={"VALUE": values[:2]}, tolerance=0)
    assert sorted(exact.record.seconds) == ["block=32 VALUE=1.0f"]


def test_the_real_child_is_killed_when_a_variant_does_not_end(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amdgpu.tuning.tuner.CANDIDATE_SECONDS", 4.0)
    monkeypatch.setattr("amdgpu.tuning.tuner.START_SECONDS", 20.0)
    kernel = device.compile_kernel(WRONG, defines={"VALUE": "1.0f"})
    tuned = kernel.tune((np.zeros(64, np.float32), 64), block=[64], defines={"SPIN": [0, 1]})
    assert tuned.defines == {"SPIN": "0"}
    assert tuned.record.failed == {"block=64 SPIN=1": "no answer in time"}


def test_numbers_null_pointers_and_every_dtype_reach_the_child(device: Any) -> None:
    import ml_dtypes

    source = """
    extern "C" __global__ void mixed(const __hip_bfloat16* a, const int* nothing, double* out, float scale, bool is_on, unsigned n) {
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n && is_on && !nothing) out[i] = scale * __bfloat162float(a[i]);
    }"""
    a, out = np.arange(64).astype(ml_dtypes.bfloat16), np.zeros(64)
    kernel = device.compile_kernel(source)
    tuned = kernel.tune((a, None, out, np.float32(2), True, np.uint32(64)), block=[32, 64])
    assert sorted(tuned.record.seconds) == ["block=32", "block=64"]
    tuned(a, None, out, 2.0, True, 64)
    np.testing.assert_array_equal(out, 2.0 * np.arange(64))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"block": []}, errors.InvalidArgumentError, "there are 0 variants; 1 to 4096 can be measured"),
        ({"block": 64}, errors.InvalidTypeError, "block is 64; a list of blocks is expected"),
        ({"block": [0]}, errors.InvalidArgumentError, "it has 1 to 3 extents from 1 on"),
        ({"block": ["a"]}, errors.InvalidTypeError, "block"),
        ({"block": [64], "defines": ["TILE"]}, errors.InvalidTypeError, "a dict of macros is expected"),
        ({"block": [64], "defines": {"TILE": 4}}, errors.InvalidTypeError, "a list of values is expected"),
        ({"block": [64], "defines": {"TILE": ["1 2"]}}, errors.InvalidArgumentError, "'1 2' of TILE is not one word"),
        ({"block": list(range(1, 5000))}, errors.InvalidArgumentError, "there are 4999 variants"),
        ({"block": [64], "budget_seconds": 0}, errors.InvalidArgumentError, "budget_seconds is 0"),
        ({"block": [64], "tolerance": -1}, errors.InvalidArgumentError, "tolerance is -1"),
        ({"block": [64], "progress": "yes"}, errors.InvalidTypeError, "progress is 'yes'"),
        ({"block": [4096]}, errors.InvalidArgumentError, "the first variant .block=4096. failed, so there is nothing"),
    ],
)
def test_wrong_options_are_refused(device: Any, options: dict[str, Any], error: type[Exception], message: str) -> None:
    kernel = device.compile_kernel(AXPY)
    with pytest.raises(error, match=message):
        kernel.tune(arguments(), **options)
    assert tuning.stats(device).entries == 0


def test_arguments_that_cannot_be_copied_are_refused(device: Any) -> None:
    kernel = device.compile_kernel(AXPY)
    with pytest.raises(errors.InvalidTypeError, match="argument 1 is of type object; arrays, numbers and None"):
        kernel.tune((np.zeros(4, np.float32), object(), 4), block=[64])


def test_hits_misses_and_entries_are_counted_and_cleared(device: Any) -> None:
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    assert tuning.stats(device) == (0, 0, 0, 0)
    kernel.tune((a, y, n), block=[32], worker=scripted(block_32=1.0))
    kernel(a, y, n)
    kernel(a, y, n)
    assert tuning.tuned_kernel(kernel, (a[:9], y[:9], 9)) is None
    assert tuning.stats(device) == tuning.Stats(hits=2, misses=1, entries=1, shipped=0)
    assert tuning.clear(device) == 1
    assert tuning.stats(device) == (0, 0, 0, 0)
    assert tuning.Database(device.info().architecture).records() == []
    with pytest.raises(errors.InvalidLaunchError):
        kernel(a, y, n)


def test_products_are_counted_too_and_shipped_ones_stay() -> None:
    database = tuning.database_of("sm_90")
    shipped = database.statistics()[3]
    known = database.entries()[0].product
    assert database.find(known) is not None
    assert database.find(known._replace(m=4_000_000_000)) is None
    assert database.statistics() == (1, 1, 0, shipped)
    assert shipped > 100
    assert database.clear() == 0
    assert database.find(known) is not None


def test_records_are_exported_and_imported(device: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    architecture = device.info().architecture
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    kernel.tune((a, y, n), block=[32, 64], worker=scripted(block_32=1.0, block_64="it differs"))
    file = tmp_path / "exported.json"
    assert tuning.export_database(architecture, file) == 1
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "other"))
    assert tuning.stats(device).entries == 0
    named = tuning.import_database(file)
    assert named[1] == 1
    assert tuning.import_database(file) == (named[0], 0)
    kernel(a, y, n)
    (record,) = tuning.database_of(architecture).records()
    assert record.failed == {"block=64": "it differs"}


def test_a_damaged_file_is_kept_aside_and_nothing_of_the_process_is_lost(device: Any, cache: Path) -> None:
    kernel, (a, y, n) = device.compile_kernel(AXPY), arguments()
    kernel.tune((a, y, n), block=[32], worker=scripted(block_32=1.0))
    database = tuning.database_of(device.info().architecture)
    assert database.path is not None
    damaged = database.path.read_text().replace('"subject": "', '"subject": 7, "x": "')
    database.path.write_text(damaged)
    with pytest.warns(RuntimeWarning, match=r"is not used \(record 0: .*\); it is now .*\.damaged-0"):
        database.add_record(tuning.Record("mine", {"way": 1.0}))
    assert database.path.with_name(database.path.name + ".damaged-0").read_text() == damaged
    again = tuning.Database(database.architecture)
    assert [record.subject.split(" ")[0] for record in again.records()] == ["kernel", "mine"]


def test_records_with_names_that_are_none_are_refused() -> None:
    database = tuning.database_of("gfx942")
    for record in (tuning.Record("", {"a": 1.0}), tuning.Record("x", {"two\nlines": 1.0})):
        with pytest.raises(errors.InvalidArgumentError, match="one line of at most 512 bytes"):
            database.add_record(record)


def test_threads_that_note_and_ask_lose_nothing() -> None:
    database = tuning.database_of("gfx942")

    def work(number: int) -> None:
        for step in range(20):
            database.add_record(tuning.Record(f"subject {number} {step}", {"way": 1.0}))
            assert database.find_record(f"subject {number} {step}") is not None
            assert database.find_record(f"nothing {number} {step}") is None

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert database.statistics()[:3] == (160, 160, 160)
    assert len(tuning.Database("gfx942").records()) == 160
