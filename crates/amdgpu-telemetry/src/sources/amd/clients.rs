//! Processes that use AMD GPUs, from what the kernel writes about their open files.
//!
//! Source: `Documentation/gpu/drm-usage-stats.rst` and `drivers/gpu/drm/amd/amdgpu/amdgpu_fdinfo.c` of Linux. Processes of other users are seen
//! by root only. Nothing here touches a card.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::super::names::device_names;
use super::super::{Tree, tree};
use super::{find, visible_devices};

/// Processes and open files looked at, at most: more than a system has unless something is wrong with it.
const MAX_PROCESSES: usize = 32_768;
const MAX_FILES: usize = 65_536;

/// A process on a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Client {
    pub process_id: u32,
    pub command: String,
    pub device: String,
    /// Device memory; none where the driver does not tell.
    pub memory_bytes: Option<u64>,
    /// Time that its work took on each engine of the device.
    pub engine_seconds: BTreeMap<String, f64>,
}

/// Everyone with an open device, in the order of process numbers.
#[must_use]
pub fn clients(tree: &Tree) -> Vec<Client> {
    let cards = find(tree, None);
    if cards.is_empty() {
        return Vec::new();
    }
    let identities: Vec<_> = cards.into_iter().map(|card| card.identity).collect();
    let names = device_names("hip", &identities, visible_devices().as_deref());
    let device = |address: &str| {
        let place = identities
            .iter()
            .position(|identity| identity.address == address)?;
        Some(names[place].clone())
    };
    let mut processes: Vec<u32> = tree
        .list("proc")
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    processes.sort_unstable();
    let mut found = Vec::new();
    // A file that was inherited or sent is open in several processes; the first one is charged.
    let mut seen = HashSet::new();
    for process_id in processes.into_iter().take(MAX_PROCESSES) {
        let folder = tree.join("proc").join(process_id.to_string());
        let mut devices: BTreeMap<String, Client> = BTreeMap::new();
        for file in tree::names(&folder.join("fd")).into_iter().take(MAX_FILES) {
            if !is_device(&folder.join("fd").join(&file)) {
                continue;
            }
            let Ok(text) = tree::text(&folder.join("fdinfo").join(&file)) else {
                continue;
            };
            let Some(usage) = Usage::parse(&text) else {
                continue;
            };
            if let Some(name) = device(&usage.address)
                && seen.insert((usage.address.clone(), usage.client))
            {
                usage.add_to(devices.entry(name).or_default());
            }
        }
        let command = tree::text(&folder.join("comm")).unwrap_or_default();
        found.extend(devices.into_iter().map(|(device, client)| Client {
            process_id,
            command: command.clone(),
            device,
            ..client
        }));
    }
    found
}

fn is_device(link: &Path) -> bool {
    std::fs::read_link(link).is_ok_and(|target| target.starts_with("/dev/dri"))
}

/// What one open file says.
struct Usage {
    address: String,
    client: u64,
    memory_bytes: Option<u64>,
    engine_ns: Vec<(String, u64)>,
}

impl Usage {
    /// None for files of other drivers, and without an identity, which would be counted twice.
    fn parse(text: &str) -> Option<Self> {
        let mut usage = Self {
            address: String::new(),
            client: 0,
            memory_bytes: None,
            engine_ns: Vec::new(),
        };
        let (mut is_ours, mut has_client) = (false, false);
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim();
            let mut words = value.split_whitespace();
            let number = words.next().and_then(|word| word.parse::<u64>().ok());
            match key.trim() {
                "drm-driver" => is_ours = value == "amdgpu",
                "drm-pdev" => value.clone_into(&mut usage.address),
                "drm-client-id" => {
                    usage.client = number?;
                    has_client = true;
                }
                // The newer name of the two; both stand there and say the same.
                "drm-memory-vram" | "drm-resident-vram" => {
                    let unit = match words.next() {
                        None => 1,
                        Some("KiB") => 1 << 10,
                        Some("MiB") => 1 << 20,
                        Some(_) => continue,
                    };
                    usage.memory_bytes = number.and_then(|number| number.checked_mul(unit));
                }
                other => {
                    if let (Some(engine), Some(number), Some("ns")) =
                        (other.strip_prefix("drm-engine-"), number, words.next())
                    {
                        usage.engine_ns.push((engine.to_owned(), number));
                    }
                }
            }
        }
        (is_ours && has_client && !usage.address.is_empty()).then_some(usage)
    }

    fn add_to(self, client: &mut Client) {
        if let Some(bytes) = self.memory_bytes {
            client.memory_bytes = Some(client.memory_bytes.unwrap_or(0).saturating_add(bytes));
        }
        for (engine, ns) in self.engine_ns {
            *client.engine_seconds.entry(engine).or_default() += ns as f64 * 1e-9;
        }
    }
}
