"""Reads the counts out of what the test runners print."""

from __future__ import annotations

import re
from dataclasses import dataclass, field


@dataclass
class Counts:
    """What one run of one runner came to. `skips` pairs a test with the reason why it did not run."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    skips: list[tuple[str, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Counts) -> None:
        """Adds another run to this one."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.skips += other.skips
        self.failures += other.failures

    def settle(self, exit_code: int, name: str, explanation: str = "") -> Counts:
        """Counts a runner that ended badly without naming a test as one failure: it must not look like a success."""
        if exit_code != 0 and self.failed == 0:
            self.failed = 1
            how = f"ended by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
            self.failures.append(f"{name}: the runner {how}{explanation}")
        elif exit_code == 0 and self.passed + self.failed + self.skipped == 0:
            self.failed = 1
            self.failures.append(f"{name}: the runner succeeded but reported no test at all")
        return self


def read_cargo(output: str) -> Counts:
    """Sums `test result:` over the binaries of a `cargo test`."""
    counts = Counts()
    pattern = r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored"
    for match in re.finditer(pattern, output, re.MULTILINE):
        counts.passed += int(match[1])
        counts.failed += int(match[2])
        counts.skipped += int(match[3])
    for match in re.finditer(r"^test (.+?) \.\.\. ignored(?:, (.+))?$", output, re.MULTILINE):
        counts.skips.append((match[1], match[2] or "marked #[ignore]"))
    counts.failures += [match[1] for match in re.finditer(r"^test (.+?) \.\.\. FAILED$", output, re.MULTILINE)]
    skips = _skips_on_the_way(output, counts.failures)
    counts.skips += skips
    counts.skipped += len(skips)
    counts.passed -= len(skips)
    return counts


def _skips_on_the_way(output: str, failures: list[str]) -> list[tuple[str, str]]:
    """Rust's tests cannot end as skipped: those that printed `skipped: REASON` and returned, with the reason."""
    skips = []
    for block in re.finditer(r"^---- (.+?) stdout ----\n(.*?)(?=^---- |^\w+:$|\Z)", output, re.MULTILINE | re.DOTALL):
        reason = re.search(r"^skipped: (.+)$", block[2], re.MULTILINE)
        if reason is not None and block[1] not in failures:
            skips.append((block[1], reason[1]))
    return skips


def read_zig(output: str) -> Counts:
    """The summary of `zig test`: `All 3 tests passed.` or `1 passed; 1 skipped; 1 failed.`"""
    counts = Counts()
    for match in re.finditer(r"^All (\d+) tests? passed\.$", output, re.MULTILINE):
        counts.passed += int(match[1])
    for match in re.finditer(r"^(\d+) passed; (\d+) skipped; (\d+) failed\.$", output, re.MULTILINE):
        counts.passed += int(match[1])
        counts.skipped += int(match[2])
        counts.failed += int(match[3])
    for match in re.finditer(r"^\d+/\d+ (.+?)\.\.\.SKIP$", output, re.MULTILINE):
        counts.skips.append((match[1], "returned error.SkipZigTest"))
    current = ""
    for line in output.splitlines():
        started = re.match(r"\d+/\d+ (.+?)\.\.\.", line)
        current = started[1] if started else current
        if current and (line.startswith("FAIL (") or re.search(r"\.\.\.FAIL \(", line)):
            counts.failures.append(current)
    return counts


def read_nim(output: str) -> Counts:
    """The lines of Nim's unittest: `[OK]`, `[FAILED]`, `[SKIPPED]`."""
    counts = Counts()
    for match in re.finditer(r"^\s*\[(OK|FAILED|SKIPPED)\] (.+)$", output, re.MULTILINE):
        if match[1] == "OK":
            counts.passed += 1
        elif match[1] == "FAILED":
            counts.failed += 1
            counts.failures.append(match[2].strip())
        else:
            counts.skipped += 1
            counts.skips.append((match[2].strip(), "called skip()"))
    return counts


def read_julia(output: str) -> Counts:
    """The tables of Julia's Test: the row after each header holds the sums of that test set."""
    counts = Counts()
    lines = output.splitlines()
    for header, row in zip(lines, lines[1:], strict=False):
        if not header.startswith("Test Summary:") or "|" not in row:
            continue
        title, _, numbers = row.partition("|")
        values = dict(zip(header.partition("|")[2].split(), numbers.split(), strict=False))
        counts.passed += int(values.get("Pass", 0))
        counts.failed += int(values.get("Fail", 0)) + int(values.get("Error", 0))
        broken = int(values.get("Broken", 0))
        if broken:
            counts.skipped += broken
            counts.skips.append((title.strip(), f"{broken} marked @test_skip or @test_broken"))
    counts.failures += [
        match[1] for match in re.finditer(r"^(.+): (?:Test Failed|Error During Test) at", output, re.MULTILINE)
    ]
    return counts


def read_node(output: str) -> Counts:
    """node:test, which ends with `# pass 3` (TAP); its other reporter has the information sign in place of `#`."""
    counts = Counts()
    for match in re.finditer(r"^(?:#|\u2139) (pass|fail|cancelled|skipped|todo) (\d+)$", output, re.MULTILINE):
        number = int(match[2])
        if match[1] == "pass":
            counts.passed += number
        elif match[1] in ("fail", "cancelled"):
            counts.failed += number
        else:
            counts.skipped += number
    for match in re.finditer(r"^\s*ok \d+ - (.+?) # SKIP(?: (.+))?$", output, re.MULTILINE):
        counts.skips.append((match[1], match[2] or "marked skip"))
    counts.failures += [match[1] for match in re.finditer(r"^\s*not ok \d+ - (.+)$", output, re.MULTILINE)]
    return counts


def read_pytest(output: str) -> Counts:
    """pytest's last line and, from its `-r fEsx` report, the names and reasons."""
    counts = Counts()
    totals = [line for line in output.splitlines() if re.search(r"\d+ \w+.* in [\d.]+s", line)]
    if totals:
        words = {match[2]: int(match[1]) for match in re.finditer(r"(\d+) (\w+)", totals[-1])}
        counts.passed = words.get("passed", 0) + words.get("xpassed", 0)
        counts.failed = words.get("failed", 0) + words.get("error", 0) + words.get("errors", 0)
        counts.skipped = words.get("skipped", 0) + words.get("xfailed", 0)
    for match in re.finditer(r"^SKIPPED \[(\d+)\] (.+?): (.+)$", output, re.MULTILINE):
        times = f" ({match[1]} tests)" if match[1] != "1" else ""
        counts.skips.append((match[2] + times, match[3]))
    for match in re.finditer(r"^XFAIL (\S+)(?: - (.+))?$", output, re.MULTILINE):
        counts.skips.append((match[1], f"expected to fail: {match[2] or 'no reason given'}"))
    counts.failures += [match[1] for match in re.finditer(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)]
    return counts
