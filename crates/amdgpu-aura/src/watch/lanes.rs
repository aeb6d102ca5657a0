//! What the lanes of the newest checked launches did, with the kernel's text where it is still loaded.

use std::collections::BTreeMap;
use std::sync::Arc;

use amdgpu_hal::cpu::checked::{AccessKind, LANES, LaneActivity, LaneRow, lane_activity};
use serde_json::{Value, json};

use crate::kernel::Kernel;

/// The newest checked launches; `loaded` are the kernels whose text is known.
pub(super) fn newest(loaded: &BTreeMap<String, Arc<Kernel>>) -> Value {
    let source_of = |launch: &LaneActivity| {
        let mut checked = loaded.values().filter(|kernel| kernel.is_checked());
        let kernel = checked.find(|kernel| kernel.facts().name == launch.kernel)?;
        Some(kernel.source().to_owned())
    };
    let launches: Vec<Value> = lane_activity()
        .iter()
        .map(|launch| {
            json!({
                "kernel": launch.kernel,
                "file": launch.file,
                "source": source_of(launch),
                "lanes": LANES,
                "grid": launch.grid,
                "block": launch.block,
                "time_ns": launch.started_ns,
                "rows": launch.rows.iter().map(row).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({ "launches": launches })
}

fn row(row: &LaneRow) -> Value {
    let kind = match row.kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Atomic => "atomic",
    };
    json!({ "line": row.line, "kind": kind, "counts": row.counts })
}
