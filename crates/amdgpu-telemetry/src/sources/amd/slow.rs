//! What takes a second and more to ask: PCI Express traffic, which the driver counts while the reader waits, and `amd-smi`.
//!
//! Cards that the system may suspend are left out, since both would keep them awake. `amd-smi` is asked only for the energy of cards whose
//! table counts it in a unit that no document tells, and seldom: it is a Python program that takes half a second of a core.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::FromRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use amdgpu_abi::MetricId;
use serde_json::Value as Json;

use super::super::{Absence, Sink, Source, Tree};
use super::card::Card;
use super::{find, visible_devices};

const TRAFFIC: usize = 0;
const TOOL: usize = 1;
const PERIODS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(600)];

/// A tool that has not answered by then is stopped.
const TOOL_PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked after meanwhile.
const TOOL_PAUSE: Duration = Duration::from_millis(50);
/// More than it prints for the largest machine.
const MAX_ANSWER_BYTES: u64 = 4 << 20;

/// See the module.
pub struct AmdSlowSource {
    tree: Tree,
    visible: Option<String>,
    tool: Option<PathBuf>,
    /// Cards, and whether each counts its traffic.
    cards: Option<Vec<(Card, bool)>>,
}

impl AmdSlowSource {
    #[must_use]
    pub fn new(tree: Tree) -> Self {
        Self::with_environment(tree, visible_devices(), tool())
    }

    /// `visible` is what `HIP_VISIBLE_DEVICES` says, `tool` is where `amd-smi` is.
    #[must_use]
    pub fn with_environment(tree: Tree, visible: Option<String>, tool: Option<PathBuf>) -> Self {
        Self {
            tree,
            visible,
            tool,
            cards: None,
        }
    }
}

impl Source for AmdSlowSource {
    fn name(&self) -> &'static str {
        "amd-slow"
    }

    fn periods(&self) -> &'static [Duration] {
        &PERIODS
    }

    fn is_slow(&self) -> bool {
        true
    }

    fn read(&mut self, group: usize, sink: &mut Sink<'_>) {
        let cards = self.cards.get_or_insert_with(|| {
            let cards = find(&self.tree, self.visible.as_deref());
            cards.into_iter().map(|card| (card, true)).collect()
        });
        match group {
            TRAFFIC => read_traffic(cards, sink),
            TOOL => {
                if let Some(tool) = &self.tool {
                    read_energy(cards, tool, sink);
                }
            }
            _ => {}
        }
    }
}

fn read_traffic(cards: &mut [(Card, bool)], sink: &mut Sink<'_>) {
    for (card, counts) in cards {
        if !*counts || !card.may_be_read_slowly() {
            continue;
        }
        match card.pcie_bytes_per_second() {
            Ok(directions) => {
                for (direction, bytes) in ["receive", "transmit"].iter().zip(directions) {
                    let metric = MetricId::PcieThroughputBytesPerSecond;
                    card.reporter().put(sink, metric, &[direction], Ok(bytes));
                }
            }
            // Most cards do not count; their file is missing or holds nothing, and stays so.
            Err(_) => *counts = false,
        }
    }
}

fn read_energy(cards: &mut [(Card, bool)], tool: &Path, sink: &mut Sink<'_>) {
    let mut asked: Vec<&mut Card> = cards
        .iter_mut()
        .map(|(card, _)| card)
        .filter(|card| card.may_be_read_slowly())
        .filter_map(|card| card.has_unknown_energy().then_some(card))
        .collect();
    if asked.is_empty() {
        return;
    }
    let answer = ask(tool, &["list", "--json"])
        .and_then(|list| Ok((list, ask(tool, &["metric", "--energy", "--json"])?)));
    for card in &mut asked {
        let value = answer
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|(list, metric)| {
                energy_of(list, metric, &card.identity.address).ok_or(Absence::new(
                    "amd-smi does not tell the energy of this card",
                ))
            });
        card.reporter()
            .put(sink, MetricId::EnergyJoulesTotal, &[], value);
    }
}

/// Entries of all GPUs: a list, which newer versions wrap into an object.
fn entries(answer: &Json) -> &[Json] {
    let list = answer.get("gpu_data").unwrap_or(answer);
    list.as_array().map_or(&[], Vec::as_slice)
}

fn energy_of(list: &Json, metric: &Json, address: &str) -> Option<f64> {
    let named = |entry: &&Json| {
        let bdf = entry.get("bdf").and_then(Json::as_str);
        bdf.is_some_and(|bdf| bdf.eq_ignore_ascii_case(address))
    };
    let number = entries(list).iter().find(named)?.get("gpu")?;
    let entry = entries(metric)
        .iter()
        .find(|entry| entry.get("gpu") == Some(number))?;
    let energy = entry.get("energy")?.get("total_energy_consumption")?;
    let is_joules = energy.get("unit").and_then(Json::as_str) == Some("J");
    let joules = energy.get("value").and_then(Json::as_f64)?;
    (is_joules && joules >= 0.0).then_some(joules)
}

/// Where `amd-smi` is installed.
pub(super) fn tool() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join("amd-smi"))
        .find(|tool| tool.is_file())
}

/// The JSON that the tool prints, within the time and size it may take.
fn ask(tool: &Path, arguments: &[&str]) -> Result<Json, Absence> {
    let failed = |what: String| Absence::from(format!("amd-smi {}: {what}", arguments.join(" ")));
    // A file in memory instead of a pipe, which would have to be emptied while the tool runs.
    // SAFETY: the name is a valid string; the number that comes back is a new file of ours alone, or negative.
    let number = unsafe { libc::memfd_create(c"amd-smi".as_ptr(), libc::MFD_CLOEXEC) };
    if number < 0 {
        return Err(failed(std::io::Error::last_os_error().to_string()));
    }
    // SAFETY: as above; it is open and nobody else closes it.
    let mut answer = unsafe { File::from_raw_fd(number) };
    let output = answer
        .try_clone()
        .map_err(|error| failed(error.to_string()))?;
    let mut child = Command::new(tool)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let deadline = Instant::now() + TOOL_PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(TOOL_PAUSE),
            Ok(None) => {
                // It may have ended in between; either way it is gone after the wait.
                let _ = child.kill();
                let _ = child.wait();
                return Err(failed("no answer in time".to_owned()));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
    };
    if !status.success() {
        return Err(failed(status.to_string()));
    }
    let mut text = String::new();
    answer
        .seek(SeekFrom::Start(0))
        .and_then(|_| answer.take(MAX_ANSWER_BYTES).read_to_string(&mut text))
        .map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
}
