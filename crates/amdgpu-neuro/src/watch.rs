//! Snapshots of the networks of this process, for watchers (dashboard, `amdgpu top`).
//!
//! A network updates its own [`NetworkSnapshot`] from time to time; a watcher reads the snapshots. Nobody waits for a network that is being stepped, and
//! a network never waits for a reader longer than it takes to copy a few numbers.

mod network_snapshot;
mod raster;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use amdgpu_hal::ForkLocal;
use amdgpu_telemetry::attach::{Question, Topic, provide};
use serde_json::Value;

pub(crate) use network_snapshot::{NetworkSnapshot, Population, RunInterval, WeightSample};
pub(crate) use raster::RasterSample;

/// Networks of one answer.
const MAX_NETWORKS: usize = 64;

static SNAPSHOTS: ForkLocal<Mutex<Vec<Weak<NetworkSnapshot>>>> = ForkLocal::new(Mutex::default);

/// Lets watchers see a network as long as it lives.
pub(crate) fn register(snapshot: &Arc<NetworkSnapshot>) {
    provide(Topic::Networks, all_networks);
    let mut snapshots = SNAPSHOTS.lock().unwrap_or_else(PoisonError::into_inner);
    snapshots.retain(|other| other.strong_count() > 0);
    snapshots.push(Arc::downgrade(snapshot));
}

/// The networks that did something last come first.
#[expect(clippy::unnecessary_wraps, reason = "the type of every provider")]
fn all_networks(_: &Question) -> Result<Value, String> {
    let mut snapshots: Vec<Arc<NetworkSnapshot>> = {
        let snapshots = SNAPSHOTS.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.iter().filter_map(Weak::upgrade).collect()
    };
    snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.last_change_ns()));
    snapshots.truncate(MAX_NETWORKS);
    Ok(snapshots
        .iter()
        .map(|snapshot| snapshot.to_json())
        .collect())
}
