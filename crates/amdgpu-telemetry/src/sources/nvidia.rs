//! NVIDIA GPUs, through NVML (`libnvidia-ml.so.1`), which is opened at run time where the driver brings it.
//!
//! - NVML wakes every GPU when it is opened, and keeps them awake while it is open. So it is not opened while one sleeps, and it is shut down
//!   when all GPUs that the driver may suspend are idle, for long enough that they can fall asleep.
//! - GPUs are known by their PCI addresses from the kernel's files; NVML's handles are found by them.

mod api;
mod gpu;

use std::path::PathBuf;
use std::time::Duration;

use super::amd::clients::Client;
use super::names::{Identity, device_names};
use super::power_state::{ASLEEP, RESTING, State};
use super::{Absence, Sink, Source, Tree, tree};
use api::Nvml;
use gpu::Gpu;

const FAST: usize = 0;
const SLOW: usize = 1;
const RARE: usize = 2;
const PERIODS: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(10),
];

/// GPUs of one machine, at most.
const MAX_GPUS: usize = 64;
const NVIDIA: &str = "0x10de";
/// PCI classes of display and 3-D controllers begin with it.
const DISPLAY_CLASS: &str = "0x03";

const ANOTHER_SLEEPS: Absence =
    Absence::new("another NVIDIA GPU is asleep, and opening NVML would wake it");

enum Driver {
    /// Not open; it was never tried, or given back so that GPUs can sleep.
    Closed,
    Open(Nvml),
    /// It cannot be opened, and will not be while this process lives.
    Missing(Absence),
}

/// See the module.
pub struct NvidiaSource {
    tree: Tree,
    visible: Option<String>,
    libraries: Vec<PathBuf>,
    driver: Driver,
    gpus: Option<Vec<Gpu>>,
}

impl NvidiaSource {
    #[must_use]
    pub fn new(tree: Tree) -> Self {
        Self::with_environment(
            tree,
            std::env::var("CUDA_VISIBLE_DEVICES").ok(),
            libraries(),
        )
    }

    /// `visible` is what `CUDA_VISIBLE_DEVICES` says; `libraries` are tried in order.
    #[must_use]
    pub fn with_environment(tree: Tree, visible: Option<String>, libraries: Vec<PathBuf>) -> Self {
        Self {
            tree,
            visible,
            libraries,
            driver: Driver::Closed,
            gpus: None,
        }
    }

    /// Opens NVML and learns the handles of the GPUs, if none of them sleeps.
    fn open(&mut self) {
        let nvml = match Nvml::open(&self.libraries) {
            Ok(nvml) => nvml,
            Err(reason) => {
                self.driver = Driver::Missing(reason);
                return;
            }
        };
        let gpus = self.gpus.get_or_insert_default();
        for gpu in gpus.iter_mut() {
            gpu.forget();
        }
        for index in 0..nvml.count().unwrap_or(0).min(MAX_GPUS as u32) {
            let Ok(handle) = nvml.handle(index) else {
                continue;
            };
            let address = nvml
                .address(handle)
                .unwrap_or_else(|_| format!("nvml:{index}"));
            let known = gpus.iter().position(|gpu| gpu.identity.address == address);
            let place = known.unwrap_or_else(|| {
                // Containers may hide the files of the bus.
                gpus.push(Gpu::new(&self.tree, address));
                gpus.len() - 1
            });
            gpus[place].learn(&nvml, handle);
        }
        name(gpus, self.visible.as_deref());
        self.driver = Driver::Open(nvml);
    }
}

impl Source for NvidiaSource {
    fn name(&self) -> &'static str {
        "nvml"
    }

    fn periods(&self) -> &'static [Duration] {
        &PERIODS
    }

    fn read(&mut self, group: usize, sink: &mut Sink<'_>) {
        let gpus = self.gpus.get_or_insert_with(|| {
            let mut gpus = find(&self.tree);
            name(&mut gpus, self.visible.as_deref());
            gpus
        });
        let now_ns = sink.now_ns();
        let states: Vec<State> = gpus.iter_mut().map(|gpu| gpu.power.state(now_ns)).collect();
        let one_sleeps = states.contains(&State::Asleep);
        let nobody_is_up = !states.is_empty() && !states.contains(&State::Awake);
        if matches!(self.driver, Driver::Open(_)) && nobody_is_up {
            self.driver = Driver::Closed;
        } else if matches!(self.driver, Driver::Closed) && !one_sleeps && !nobody_is_up {
            self.open();
        }
        let gpus = self.gpus.get_or_insert_default();
        for (place, gpu) in gpus.iter_mut().enumerate() {
            let state = states.get(place).copied().unwrap_or(State::Awake);
            gpu.tell_sleep(group, state == State::Asleep, sink);
            let reason = match (&self.driver, state) {
                (_, State::Asleep) => ASLEEP,
                (_, State::Resting) => RESTING,
                (Driver::Open(nvml), State::Awake) => {
                    gpu.read(group, nvml, sink);
                    continue;
                }
                (Driver::Closed, State::Awake) => ANOTHER_SLEEPS,
                (Driver::Missing(reason), State::Awake) => reason.clone(),
            };
            gpu.put_absent(group, &reason, sink);
        }
    }
}

fn libraries() -> Vec<PathBuf> {
    // The second is where the Windows Subsystem for Linux keeps it, outside the loader's path.
    ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"]
        .map(PathBuf::from)
        .to_vec()
}

/// GPUs that the kernel lists, in the order of their addresses, which is that of NVML.
fn find(tree: &Tree) -> Vec<Gpu> {
    let folder = "sys/bus/pci/devices";
    tree.list(folder)
        .into_iter()
        .filter(|address| {
            let says = |file: &str, begin: &str| {
                tree::text(&tree.join(folder).join(address).join(file))
                    .is_ok_and(|text| text.starts_with(begin))
            };
            says("vendor", NVIDIA) && says("class", DISPLAY_CLASS)
        })
        .take(MAX_GPUS)
        .map(|address| Gpu::new(tree, address))
        .collect()
}

fn name(gpus: &mut [Gpu], visible: Option<&str>) {
    let identities: Vec<Identity> = gpus.iter().map(|gpu| gpu.identity.clone()).collect();
    for (gpu, name) in gpus
        .iter_mut()
        .zip(device_names("cuda", &identities, visible))
    {
        gpu.set_name(&name);
    }
}

/// Processes that compute on NVIDIA GPUs; none if NVML cannot be opened, or would wake a GPU.
#[must_use]
pub fn clients(tree: &Tree) -> Vec<Client> {
    let mut source = NvidiaSource::new(tree.clone());
    let mut gpus = find(tree);
    if gpus
        .iter_mut()
        .any(|gpu| gpu.power.state(0) == State::Asleep)
    {
        return Vec::new();
    }
    source.gpus = Some(gpus);
    source.open();
    let (Driver::Open(nvml), Some(gpus)) = (&source.driver, &source.gpus) else {
        return Vec::new();
    };
    let mut found: Vec<Client> = gpus
        .iter()
        .flat_map(|gpu| gpu.clients(nvml, tree))
        .collect();
    found.sort_by_key(|client| client.process_id);
    found
}
