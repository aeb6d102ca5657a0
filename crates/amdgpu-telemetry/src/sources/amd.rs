//! AMD GPUs, through the files of the kernel's driver `amdgpu`.
//!
//! - Nothing is opened but files of sysfs; ROCm is not needed. The state of the power management is read before anything else: a suspended
//!   card stays asleep, and one that could fall asleep is left alone while it is idle (`power_state`).
//! - Files with one value and a document come first; the binary table fills in what they lack.
//! - Two things block for a second and more, and have a source of their own: counting PCI Express traffic, and `amd-smi`.
//!
//! Source: `Documentation/gpu/amdgpu` of Linux.

mod card;
pub mod clients;
mod decoded_metrics;
mod hwmon;
mod ras;
mod slow;
mod table;

use std::time::Duration;

use super::names::{Identity, device_names};
use super::{Sink, Source, Tree, tree};
use card::Card;
pub use slow::AmdSlowSource;

const FAST: usize = 0;
const SLOW: usize = 1;
const ERRORS: usize = 2;
const PERIODS: [Duration; 3] = [
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(10),
];

/// Cards of one machine, at most.
const MAX_CARDS: usize = 64;

/// See the module.
pub struct AmdSource {
    tree: Tree,
    visible: Option<String>,
    /// Whether `amd-smi` is there to tell energies whose unit only it knows.
    has_tool: bool,
    cards: Option<Vec<Card>>,
}

impl AmdSource {
    #[must_use]
    pub fn new(tree: Tree) -> Self {
        Self::with_environment(tree, visible_devices(), slow::tool().is_some())
    }

    /// `visible` is what `HIP_VISIBLE_DEVICES` says, `has_tool` whether `amd-smi` is installed.
    #[must_use]
    pub fn with_environment(tree: Tree, visible: Option<String>, has_tool: bool) -> Self {
        Self {
            tree,
            visible,
            has_tool,
            cards: None,
        }
    }
}

impl Source for AmdSource {
    fn name(&self) -> &'static str {
        "amd-sysfs"
    }

    fn periods(&self) -> &'static [Duration] {
        &PERIODS
    }

    fn read(&mut self, group: usize, sink: &mut Sink<'_>) {
        let cards = self
            .cards
            .get_or_insert_with(|| find(&self.tree, self.visible.as_deref()));
        for card in &mut *cards {
            card.leaves_energy = self.has_tool;
            card.read(group, sink);
        }
        if cards.is_empty() {
            // One may be plugged in, or its driver loaded.
            self.cards = None;
        }
    }
}

/// What the runtime is told of which devices to show; the second name is honoured by HIP as well.
fn visible_devices() -> Option<String> {
    ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
}

/// All cards of the driver, under the names that programs give them.
fn find(tree: &Tree, visible: Option<&str>) -> Vec<Card> {
    let nodes = tree.list("sys/class/drm");
    let is_card = |name: &&String| {
        name.strip_prefix("card")
            .is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut cards: Vec<Card> = nodes
        .iter()
        .filter(is_card)
        .take(MAX_CARDS)
        .filter_map(|node| Card::find(tree, node, &nodes))
        .collect();
    let order = runtime_order(tree);
    let place = |card: &Card| {
        order
            .iter()
            .position(|(address, _)| *address == card.identity.address)
    };
    cards.sort_by_key(|card| {
        (
            place(card).unwrap_or(usize::MAX),
            card.identity.address.clone(),
        )
    });
    let identities: Vec<Identity> = cards.iter().map(|card| card.identity.clone()).collect();
    for (card, name) in cards
        .iter_mut()
        .zip(device_names("hip", &identities, visible))
    {
        let architecture = place(card).map_or("", |place| &order[place].1);
        card.set_name(&name, architecture);
    }
    cards
}

/// PCI addresses in the order in which the runtime numbers devices, that of the compute driver's nodes, with their architectures.
fn runtime_order(tree: &Tree) -> Vec<(String, String)> {
    let folder = "sys/class/kfd/kfd/topology/nodes";
    let mut nodes: Vec<u32> = tree
        .list(folder)
        .iter()
        .filter_map(|name| name.parse().ok())
        .collect();
    nodes.sort_unstable();
    nodes
        .into_iter()
        .filter_map(|node| {
            let path = tree.join(folder).join(node.to_string()).join("properties");
            let properties = tree::text(&path).ok()?;
            let property = |name: &str| {
                properties.lines().find_map(|line| {
                    let (key, value) = line.split_once(' ')?;
                    (key == name).then(|| value.trim().parse::<u32>().ok())?
                })
            };
            // Nodes of processors have no shader units.
            (property("simd_count")? > 0).then_some(())?;
            let location = property("location_id")?;
            let (domain, version) = (
                property("domain").unwrap_or(0),
                property("gfx_target_version").unwrap_or(0),
            );
            let address = format!(
                "{domain:04x}:{:02x}:{:02x}.{:x}",
                location >> 8 & 0xff,
                location >> 3 & 0x1f,
                location & 7
            );
            // 90402 is gfx942, 110001 is gfx1101.
            let architecture = format!(
                "gfx{}{:x}{:x}",
                version / 10_000,
                version / 100 % 100,
                version % 100
            );
            Some((address, architecture))
        })
        .collect()
}

#[cfg(test)]
mod tests;
