"""`amdgpu top`: the live view driven by keys and mouse over a real program, and what it prints without a terminal."""

import asyncio
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from cli_harness import AMDGPU, WATCHED_PROGRAM, amdgpu, check_shape, in_terminal

KERNELS = {"saxpy", "block_sum"}


@contextmanager
def watched_program(*options, folder):
    """The program, from the moment at which it is set up."""
    command = [sys.executable, str(WATCHED_PROGRAM), "--seconds", "3000", "--rate", "50", *options]
    environment = os.environ | {"AMDGPU_CACHE_DIR": str(folder / "cache")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert json.loads(process.stdout.readline())["ready"]
            yield process.pid
        finally:
            process.kill()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program that runs meanwhile; its number."""
    with watched_program(folder=tmp_path_factory.mktemp("program")) as pid:
        yield pid


def screen_text(app):
    """What stands on the screen."""
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def drive(pid, steps, *, size=(100, 30), is_ascii=False):
    """Run the view over a process, wait for two frames, then do `steps(app, pilot, until)`."""
    pytest.importorskip("textual", reason="the extra `top` is not installed")
    from amdgpu.cli.top.app import TopApp
    from amdgpu.cli.top.live import LiveSource

    async def run():
        with LiveSource(pid) as source:
            app = TopApp(source, interval_seconds=0.25, is_ascii=is_ascii)
            async with app.run_test(size=size) as pilot:

                async def until(condition):
                    for _ in range(400):
                        if condition():
                            return
                        await pilot.pause(0.025)
                    raise AssertionError(f"it does not come:\n{screen_text(app)}")

                await until(lambda: app.shown is not None and any(row.calls_per_second for row in app.shown.kernels))
                await steps(app, pilot, until)

    asyncio.run(run())


def test_the_view_shows_the_program_and_its_kernels(program):
    async def steps(app, pilot, until):
        text = screen_text(app)
        assert "cpu:0" in text
        assert str(program) in text
        assert "telemetry_program.py" in text
        await pilot.press("2")
        await until(lambda: all(name in screen_text(app) for name in KERNELS))
        (saxpy,) = [row for row in app.shown.kernels if row.name == "saxpy"]
        assert saxpy.pid == program
        assert saxpy.calls > 0
        device = app.shown.devices[-1]
        assert device.launches_per_second > 0
        assert 0 < device.core_busy_ratios["aura"] <= 1
        assert device.copy_bytes_per_second > 0
        assert re.search("[⠁-⣿]", screen_text(app))

    drive(program, steps)


def test_keys_change_page_order_and_theme(program):
    async def steps(app, pilot, until):
        for key, page in (
            ("3", "pools"),
            ("tab", "devices"),
            ("tab", "processes"),
            ("shift+tab", "devices"),
            ("2", "kernels"),
        ):
            await pilot.press(key)
            assert app.query_one("#pages").current == page
        assert app.tables[1].sort_title == "busy"
        await pilot.press("s")
        assert app.tables[1].sort_title == "calls/s"
        await pilot.press("r")
        assert app.tables[1].is_descending is False
        before = app.theme
        await pilot.press("t")
        assert app.theme != before
        await pilot.press("space")
        assert app.is_paused
        assert "paused" in screen_text(app)
        shown = app.shown
        await pilot.pause(0.6)
        assert app.shown is shown
        await pilot.press("space")
        await until(lambda: app.shown is not shown)

    drive(program, steps)


def test_the_mouse_chooses_pages_and_columns(program):
    async def steps(app, pilot, until):
        bar = app.query_one("#tabs")
        await pilot.click("#tabs", offset=(bar._cells[0].__len__() + 3, 0))
        await until(lambda: app.tab_place == 1)
        table = app.query_one("#kernels")
        await pilot.click("#kernels", offset=(1, 0))
        await until(lambda: app.tables[1].sort_place == 0)
        names = [row.name for row in app.tables[1]._rows]
        assert names == sorted(names)
        assert table.cursor_row == 0

    drive(program, steps)


def test_a_time_without_frames_is_a_gap_of_the_graphs(program):
    async def steps(app, pilot, until):
        await pilot.press("space")
        await until(lambda: app.is_paused and not app._is_reading)
        before = app.shown.time_ns
        graph = next(values for (_, name), values in app.history.items() if name == "memory")
        # No frame that was under way comes later.
        count = len(graph)
        later = dataclasses.replace(app.shown, time_ns=before + int(5 * app.interval_seconds * 1e9))
        app.show_frame(later)
        assert list(graph)[count:-1] == [None] * 4
        assert graph[-1] is not None
        app.show_frame(dataclasses.replace(later, time_ns=later.time_ns + int(1.3 * app.interval_seconds * 1e9)))
        assert len(graph) == count + 6

    drive(program, steps)


def test_help_and_details_open_over_the_view_and_close(program):
    async def steps(app, pilot, until):
        await pilot.press("question_mark")
        assert "Left, Right" in screen_text(app)
        await pilot.press("escape")
        await pilot.press("4", "enter")
        await until(lambda: "memory_total_bytes" in screen_text(app))
        await pilot.press("escape")
        await until(lambda: "memory_total_bytes" not in screen_text(app))

    drive(program, steps)


def test_enter_on_a_kernel_shows_its_source(program):
    async def steps(app, pilot, until):
        await pilot.press("2", "s", "s", "s", "s", "s", "s")
        await until(lambda: app.tables[1].sort_title == "kernel")
        await until(lambda: [row.name for row in app.tables[1]._rows][:1] == ["block_sum"])
        await pilot.press("home", "enter")
        await until(lambda: "kernel block_sum" in screen_text(app))
        text = app.screen._text
        assert "__shared__ float part[256]" in text

    drive(program, steps)


@pytest.mark.parametrize("page", ["1", "2", "3", "4", "question_mark"])
def test_ascii_mode_draws_ascii_only(program, page):
    async def steps(app, pilot, until):
        await pilot.press(page)
        await pilot.pause(0.3)
        text = screen_text(app)
        assert text.isascii(), sorted({cell for cell in text if not cell.isascii()})
        assert "+-" in text

    drive(program, steps, is_ascii=True, size=(80, 24))


def test_everything_fits_the_smallest_terminal(program):
    async def steps(app, pilot, until):
        lines = screen_text(app).splitlines()
        assert len(lines) == 24
        assert "busy" in lines[2]
        assert "q quit" in lines[-1]
        assert app.query_one("#processes").size.height >= 10

    drive(program, steps, size=(80, 24))


def test_a_terminal_that_is_too_small_is_told_and_one_that_grows_is_used(program):
    async def steps(app, pilot, until):
        assert "needs 80 x 24" in screen_text(app)
        await pilot.resize_terminal(130, 40)
        await until(lambda: "launches" in screen_text(app) and "needs 80 x 24" not in screen_text(app))
        assert app.query_one("#launches").display

    drive(program, steps, size=(60, 12))


def test_a_process_that_dies_leaves_the_view_working(tmp_path):
    with watched_program("--parts", "kernels", folder=tmp_path) as pid:

        async def steps(app, pilot, until):
            os.kill(pid, signal.SIGKILL)
            await until(lambda: app.shown.processes == [])
            await pilot.press("2", "1")
            assert "0 processes" in screen_text(app)

        drive(pid, steps)


def test_a_frame_that_arrives_while_the_view_closes_is_let_go(program):
    async def steps(app, pilot, until):
        # Closing takes the parts of the screen away first; the thread that reads may still hand a frame over.
        await app.screen.query("*").remove()
        app.show_frame(app.shown)

    drive(program, steps)


def test_one_picture_needs_no_terminal_and_no_textual(program):
    done = amdgpu("top", "--once", "--pid", program)
    assert done.returncode == 0
    assert done.stderr == ""
    for word in ("cpu:0", "memory", "saxpy", str(program), "launches/s"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout
    assert amdgpu("top", "--once", "--ascii", "--pid", program).stdout.isascii()


def test_json_is_one_versioned_document_a_line(program):
    done = amdgpu("top", "--json", "--count", "3", "--interval", "0.2", "--pid", program)
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert [frame["schema"] for frame in frames] == ["amdgpu.top/1"] * 3
    times = [frame["time_ns"] for frame in frames]
    assert times == sorted(set(times))
    assert all({row["name"] for row in frame["kernels"]} >= KERNELS for frame in frames)
    assert all(frame["processes"][0]["launches_per_second"] > 0 for frame in frames)
    frame = frames[-1]
    # What a machine's sensors know differs.
    frame["devices"] = [dict.fromkeys(device) | {"device": "cpu:0"} for device in frame["devices"]]
    for kernel in frame["kernels"]:
        kernel["p50_seconds"] = None
    check_shape("top", frame)


def test_an_interrupted_watch_ends_quietly(program):
    command = [sys.executable, "-m", "amdgpu", "top", "--json", "--interval", "0.1", "--pid", str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        json.loads(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == ""


def test_a_pipe_that_closes_ends_the_watch(program):
    command = f"{sys.executable} -m amdgpu top --json --interval 0.1 --pid {program} | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "needs a terminal"),
        (["--once", "--pid", "999999999"], "999999999"),
        (["--once", "--interval", "0"], "--interval"),
        (["--once", "--interval", "nan"], "--interval"),
        (["--json", "--count", "0"], "--count"),
    ],
)
def test_what_cannot_be_watched_is_explained(arguments, words):
    done = amdgpu("top", *arguments)
    # What the machine does not have is a failure; a number that makes no sense is a wrong argument.
    assert done.returncode == (2 if words in ("--interval", "--count") else 1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_real_terminal_it_draws_and_quits(program):
    pytest.importorskip("textual", reason="the extra `top` is not installed")
    code, drawn = in_terminal([*AMDGPU, "top", "--pid", str(program)], b"q", "telemetry_program")
    assert code == 0
    assert "\x1b[?1049h" in drawn
    assert "\x1b[?1049l" in drawn


def test_no_color_takes_the_colours_away(program):
    pytest.importorskip("textual", reason="the extra `top` is not installed")
    _, drawn = in_terminal(
        [*AMDGPU, "top", "--pid", str(program)], b"q", "telemetry_program", os.environ | {"NO_COLOR": "1"}
    )
    colours = set(re.findall(r"38;2;(\d+);(\d+);(\d+)", drawn))
    assert all(red == green == blue for red, green, blue in colours)


def test_without_textual_a_sentence_says_what_to_install(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfound = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'textual' else found(name, *rest)\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    code, drawn = in_terminal([*AMDGPU, "top"], b"", "textual-never", environment)
    assert code == 1
    assert "amdgpu-framework[top]" in drawn
