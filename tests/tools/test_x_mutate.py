"""`./x mutate`: the draw, the switch, who is to blame for an error, trials with limits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from x import cli, core_library
from x.failure import Failure
from x.mutation import cargo, command, faults, schemata, trial
from x.mutation.areas import AREAS, RustArea
from x.mutation.faults import Fault
from x.mutation.report import Result, Verdict
from x.mutation.text_area import near_python_tests
from x.mutation.text_faults import LANGUAGES, faults_of_text
from x.mutation.units import Unit, nearest
from x.mutation.working_copy import refresh, source_names
from x.paths import ROOT

SOURCE = b"""\
fn sum(a: u32, b: u32) -> u32 {
    a + b
}

fn less(a: u32, b: u32) -> bool {
    a < b
}
"""


def fault(before: str, after: str, *, function: str = "f", line: int = 1) -> Fault:
    start = SOURCE.index(before.encode())
    body = (SOURCE.rindex(b"{", 0, start), SOURCE.index(b"}", start) + 1)
    return Fault("lib.rs", line, function, "arithmetic", before, after, (start, start + len(before)), body)


def test_a_body_is_switched_between_its_faults_and_itself() -> None:
    made = schemata.instrument(SOURCE, {3: fault("+", "-"), 7: fault("+", "*"), 9: fault("<", "<=")})
    flat = "".join(made.text.decode().split())
    assert (
        "fnsum(a:u32,b:u32)->u32{matchcrate::mutation_switch::active(&[3,7]){3=>{a-b},7=>{a*b},_=>{a+b}}}fnless" in flat
    )
    assert "{matchcrate::mutation_switch::active(&[9]){9=>{a<=b},_=>{a<b}}}" in flat


def test_an_error_is_blamed_on_the_fault_in_its_line() -> None:
    made = schemata.instrument(SOURCE, {3: fault("+", "-"), 7: fault("+", "*"), 9: fault("<", "<=")})
    lines = made.text.decode().splitlines()
    assert made.suspects(lines.index("    a - b") + 1) == (3,)
    assert made.suspects(lines.index("    a * b") + 1) == (7,)
    # An error in the original text of a switched function can come from any of its faults.
    assert made.suspects(lines.index("    a + b") + 1) == (3, 7)
    assert made.suspects(lines.index("    a < b") + 1) == (9,)


def compiler_error(line: int, file: str = "lib.rs") -> str:
    span = {"file_name": file, "line_start": line, "is_primary": True, "expansion": None}
    message = {"level": "error", "spans": [span], "code": None, "rendered": "error: no"}
    return json.dumps({"reason": "compiler-message", "message": message}, separators=(",", ":"))


def test_an_error_without_a_fault_stops_the_run() -> None:
    made = schemata.instrument(SOURCE, {3: fault("+", "-")})
    line = made.text.decode().splitlines().index("    a - b") + 1
    assert cargo.refused(compiler_error(line), {"lib.rs": made}) == {3}
    with pytest.raises(Failure, match="no fault is to blame"):
        cargo.refused(compiler_error(line, "other.rs"), {"lib.rs": made})


def test_a_seed_draws_the_same_faults_and_one_of_each_line() -> None:
    many = [fault("+", after, line=line) for line in range(40) for after in ("-", "*", "/")]
    first = faults.drawn(many, 5)
    assert first == faults.drawn(many, 5)
    assert first != faults.drawn(many, 6)
    assert len(first) == len({f.line for f in first}) == 40


def test_names_tell_equal_faults_apart_and_do_not_depend_on_lines() -> None:
    first, second = faults.numbered([fault("+", "-", line=1), fault("+", "-", line=2)])
    assert first.name != second.name
    assert first.name == faults.numbered([fault("+", "-", line=9)])[0].name


@pytest.mark.parametrize(
    ("output", "name"),
    [
        (b"test passes::folds ... ok\ntest passes::shifts ... FAILED\n", "passes::shifts"),
        (b"test panics - should panic ... FAILED\n", "panics"),
        (b"FAILED tests/tools/test_x.py::test_y - assert 1 == 2\n", "tests/tools/test_x.py::test_y"),
        (b"    not ok 3 - reconnects\n", "reconnects"),
        (b"test fine ... ok\n# FAILED is a word\n", ""),
    ],
)
def test_failed_tests_are_read_from_each_runner(output: bytes, name: str) -> None:
    assert trial.failed_test(output) == name


def program(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", text)


def test_a_trial_ends_at_the_first_failed_test_at_the_limit_or_by_its_exit_code(tmp_path: Path) -> None:
    def noticed(text: str, limit_s: float = 60.0) -> str:
        return trial.run(program(text), cwd=tmp_path, environment={}, limit_s=limit_s).noticed_by

    assert noticed("print('fine')") == ""
    assert noticed("raise SystemExit(3)") == "exit code 3"
    assert noticed("import os; os.abort()") == "signal SIGABRT"
    assert noticed("import time; time.sleep(600)", 0.5) == "time limit"
    endless = "print('test a ... FAILED', flush=True)\nwhile True: pass"
    assert noticed(endless) == "a"
    assert noticed("x = bytearray(16 << 30)") == "exit code 1"


def test_units_that_do_not_reach_a_fault_are_not_run(tmp_path: Path) -> None:
    record = f"import os; open(os.environ['{schemata.REACHED_VARIABLE}'], 'a').write('4\\ttests::sums\\n')"
    unit = Unit("quick", program(record), tmp_path)
    assert unit.measure() == ""
    assert unit.reached == {4: {"tests::sums"}}
    assert nearest([unit], 4) == [unit]
    assert nearest([unit], 5) == []


def test_named_tests_run_before_the_whole_program(tmp_path: Path) -> None:
    text = "import sys\nprint('test', '+'.join(sys.argv[1:]) or 'all', '... FAILED')"
    unit = Unit("lib", program(text), tmp_path, only=list, reached={4: {"b", "a", "main"}})
    assert unit.notices(4) == "a+b"
    unit.only = None
    assert unit.notices(4) == "all"


def test_the_copy_follows_the_tree_and_keeps_times_of_what_did_not_change(tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    root.mkdir()
    trial.run(("git", "init", "-q"), cwd=root, environment={}, limit_s=60.0)
    (root / "a.rs").write_text("a")
    (root / "b.rs").write_text("b")
    refresh({"b.rs": b"changed", "new.rs": b"new"}, root, copy)
    assert [(copy / name).read_text() for name in ("a.rs", "b.rs", "new.rs")] == ["a", "changed", "new"]
    before = (copy / "a.rs").stat().st_mtime_ns
    (root / "b.rs").unlink()
    refresh({}, root, copy)
    assert sorted(source_names(root)) == ["a.rs"]
    assert (copy / "a.rs").stat().st_mtime_ns == before
    assert not (copy / "b.rs").exists()
    assert not (copy / "new.rs").exists()


def test_what_is_built_into_the_copy_leaves_the_tree_alone(tmp_path: Path) -> None:
    root, copy = tmp_path / "root", tmp_path / "copy"
    folder = Path("python/amdgpu/_lib")
    (root / folder / "include").mkdir(parents=True)
    trial.run(("git", "init", "-q"), cwd=root, environment={}, limit_s=60.0)
    (root / ".gitignore").write_text("_lib/\n")
    (root / folder / "libamdgpu.so").write_bytes(b"whole")
    refresh({}, root, copy)
    library = copy / folder / "libamdgpu.so"
    assert library.read_bytes() == b"whole"
    assert (copy / folder / "include").is_dir()
    built = tmp_path / "built.so"
    built.write_bytes(b"with faults")
    core_library.place(built, copy / folder / "other.so")
    (copy / folder / "other.so").replace(library)
    assert (root / folder / "libamdgpu.so").read_bytes() == b"whole"
    refresh({}, root, copy)
    assert library.read_bytes() == b"whole"


def test_cargo_is_told_once_which_messages_are_wanted() -> None:
    assert cargo.with_messages(["check"]) == ["check", "--message-format=json"]
    arguments = core_library.cargo_arguments("amdgpu-python", profile="dev")
    assert cargo.with_messages(arguments) == arguments
    assert "--profile=dev" in arguments
    assert "--profile=release" in core_library.cargo_arguments("amdgpu-python")


def test_crates_above_an_area_are_found_in_the_manifests() -> None:
    above = cargo.dependents(("amdgpu-compiler",))
    assert {"amdgpu-aura", "amdgpu-neuro"} <= {*above}
    assert {"amdgpu-hal", "amdgpu-python", "amdgpu-compiler"}.isdisjoint(above)


def test_programs_without_a_harness_get_no_names_of_tests() -> None:
    assert cargo.programs_without_harness(ROOT / "crates" / "amdgpu-telemetry" / "Cargo.toml") == {"attach"}


def test_every_area_names_crates_and_tests_that_exist() -> None:
    for area in AREAS.values():
        if isinstance(area, RustArea):
            for name in area.crates:
                assert (ROOT / "crates" / name / "src" / "lib.rs").exists()
            for name in area.python_tests:
                assert (ROOT / name).exists(), name


def test_arguments_are_checked() -> None:
    options = cli.parser().parse_args(["mutate", "hal", "--count", "7", "--seed", "3"])
    assert (options.areas, options.count, options.seed) == (["hal"], 7, 3)
    with pytest.raises(Failure, match="halt"):
        command.validate(["halt"], 1)
    with pytest.raises(Failure, match="at least 1"):
        command.validate(["hal"], 0)


def test_the_record_counts_what_was_noticed() -> None:
    result = Result("hal", 1, 90, 2, [Verdict(fault("+", "-"), "a::b", "hal lib"), Verdict(fault("<", "<="))])
    assert result.killed == 1
    assert result.row()[3:7] == ("2", "1", "1", "50 %")
    assert json.loads(json.dumps(result.as_json()))["faults"][0]["killed_by"] == "a::b"


def changed(language: str, source: str) -> set[str]:
    """The source after each fault."""
    content = source.encode()
    found = faults_of_text("a", content, LANGUAGES[language])
    return {(content[: f.edit[0]] + f.after.encode() + content[f.edit[1] :]).decode() for f in found}


@pytest.mark.parametrize(
    ("language", "source", "wanted"),
    [
        ("python", "if a < b:\n    self.x = y\n", {"if not (a < b):\n    self.x = y\n", "if a < b:\n    pass\n"}),
        ("python", "x += 1  # ü + 2\n", {"x -= 1  # ü + 2\n", "x += 2  # ü + 2\n", "x += 0  # ü + 2\n"}),
        ("zig", "    if (n > 4) try f(n);\n", {"    if (!(n > 4)) try f(n);\n", "    if (n >= 4) try f(n);\n"}),
        ("zig", "    queue.push(7);\n", {"    {}\n", "    queue.push(8);\n"}),
        ("nim", "  if a and b:\n    add(x)\n", {"  if a or b:\n    add(x)\n", "  if a and b:\n    discard\n"}),
        ("julia", "    while i <= 2.5\n", {"    while !(i <= 2.5)\n", "    while i <= (2.5 + 1.0)\n"}),
        ("typescript", "  if (a === 1) {\n", {"  if (!(a === 1)) {\n", "  if (a !== 1) {\n", "  if (a === 2) {\n"}),
    ],
)
def test_other_languages_get_faults_in_tokens_and_lines(language: str, source: str, wanted: set[str]) -> None:
    assert wanted <= changed(language, source)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", 'def f(a: int | None = None, *b: list[3]) -> dict[2]:\n    """1 + 2"""\n    # 3 < 4\n'),
        ("python", "def f():\n    name = g(a)\n    return name\n"),
        ("zig", 'test "adds" {\n    try f(1 + 2);\n}\n// 1 + 2\n'),
        ("nim", 'const text = "1 + 2" # 3 and 4\n'),
        ("julia", '# 1 + 2\nf("3 + 4")\n'),
        ("typescript", "import { a } from './b1';\n/* 1 + 2 */\nconst a: A<number> = `x + 1`;\n"),
    ],
)
def test_comments_strings_annotations_and_tests_get_no_faults(language: str, source: str) -> None:
    assert changed(language, source) == set()


def test_python_tests_near_a_module_share_words_with_its_path() -> None:
    assert near_python_tests("python/amdgpu/ops/reduce.py")[0] == "tests/ops/test_reduce.py"
    assert "tests/server/test_load.py" in near_python_tests("python/amdgpu/server/pace.py")
