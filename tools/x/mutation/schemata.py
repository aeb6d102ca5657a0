"""Puts many faults into one source text, each behind a run-time switch (mutant schemata; Untch, Offutt and Harrold 1993).

The body `B` of a function with the faults 3 and 7 becomes

    { match crate::mutation_switch::active(&[3, 7]) { 3 => B3, 7 => B7, _ => B } }

so one build serves every fault, and a program that is told nothing runs the original.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from x.failure import Failure
from x.mutation.faults import Fault

ACTIVE_VARIABLE = "AMDGPU_MUTANT"
REACHED_VARIABLE = "AMDGPU_MUTANTS_REACHED"

SWITCH_TEMPLATE = """\
//! Which fault is switched on, and in a recording run, which are reached by whom. Written by `./x mutate`.
#![allow(warnings, clippy::all, clippy::pedantic)]

use std::collections::HashSet;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

const UNREAD: u32 = u32::MAX;
const RECORDING: u32 = u32::MAX - 1;
const NONE: u32 = u32::MAX - 2;

static ACTIVE: AtomicU32 = AtomicU32::new(UNREAD);
static SEEN: Mutex<Option<HashSet<(u32, String)>>> = Mutex::new(None);

#[inline]
pub fn active(here: &[u32]) -> u32 {
    match ACTIVE.load(Ordering::Relaxed) {
        UNREAD => read(here),
        RECORDING => record(here),
        number => number,
    }
}

#[cold]
fn read(here: &[u32]) -> u32 {
    let number = if std::env::var_os("@REACHED@").is_some() {
        RECORDING
    } else {
        std::env::var("@ACTIVE@").ok().and_then(|text| text.parse().ok()).unwrap_or(NONE)
    };
    ACTIVE.store(number, Ordering::Relaxed);
    active(here)
}

#[cold]
fn record(here: &[u32]) -> u32 {
    let thread = std::thread::current().name().unwrap_or("").to_string();
    let mut seen = SEEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let seen = seen.get_or_insert_with(HashSet::new);
    let mut lines = String::new();
    for number in here {
        if seen.insert((*number, thread.clone())) {
            lines += &format!("{number}\\t{thread}\\n");
        }
    }
    if !lines.is_empty() {
        let path = std::env::var_os("@REACHED@").unwrap_or_default();
        if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path) {
            let _ = file.write_all(lines.as_bytes());
        }
    }
    NONE
}
"""
SWITCH_MODULE = SWITCH_TEMPLATE.replace("@REACHED@", REACHED_VARIABLE).replace("@ACTIVE@", ACTIVE_VARIABLE)


@dataclass(frozen=True)
class Place:
    """Lines of the written text, counted from 1, and the faults that an error there speaks against."""

    first_line: int
    last_line: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Instrumented:
    """A source text with its faults; `arms` are the lines of one fault each, `bodies` those of whole functions."""

    text: bytes
    arms: tuple[Place, ...]
    bodies: tuple[Place, ...]

    def suspects(self, line: int) -> tuple[int, ...]:
        """The faults that can have caused an error in this line."""
        for place in (*self.arms, *self.bodies):
            if place.first_line <= line <= place.last_line:
                return place.numbers
        return ()


def instrument(text: bytes, faults: Mapping[int, Fault]) -> Instrumented:
    """`text` with the faults, which are keyed by the number that switches them on."""
    by_body: dict[tuple[int, int], list[int]] = {}
    for number, fault in faults.items():
        by_body.setdefault(fault.body, []).append(number)
    written = bytearray()
    arms: list[Place] = []
    bodies: list[Place] = []
    place = 0

    def line() -> int:
        return written.count(b"\n") + 1

    for (start, end), numbers in sorted(by_body.items()):
        written += text[place:start]
        first = line()
        written += b"{ match crate::mutation_switch::active(&%s) {\n" % str(numbers).encode()
        for number in numbers:
            edit = faults[number].edit
            if text[edit[0] : edit[1]] != faults[number].before.encode():
                raise Failure(f"{faults[number].file} has changed since its faults were listed", fix="run this again")
            arm_first = line()
            written += b"%d => " % number
            written += text[start : edit[0]] + faults[number].after.encode() + text[edit[1] : end]
            arms.append(Place(arm_first, line(), (number,)))
            written += b",\n"
        written += b"_ => " + text[start:end] + b" } }"
        bodies.append(Place(first, line(), tuple(numbers)))
        place = end
    written += text[place:]
    return Instrumented(bytes(written), tuple(arms), tuple(bodies))
