//! Graphs of this process that are ready to run, for watchers (the dashboard, `amdgpu.telemetry.attach`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use amdgpu_hal::ForkLocal;
use amdgpu_telemetry::attach::{Question, Topic, provide};
use amdgpu_telemetry::now_ns;
use serde_json::{Value, json};

use crate::passes::Report;
use crate::{Graph, NodeId, Plan};

/// Graphs of one answer.
const MAX_GRAPHS: usize = 32;
/// Nodes of a graph that are told: more than a picture shows.
const MAX_NODES: usize = 400;

static WATCHED: ForkLocal<Mutex<Vec<Weak<Watched>>>> = ForkLocal::new(Mutex::default);

/// How long a node took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timing {
    pub node: NodeId,
    pub seconds: f64,
}

/// A graph with what its runs left for watchers.
pub(crate) struct Watched {
    pub graph: Graph,
    pub plan: Plan,
    device: String,
    /// What it is called, and what the passes did to it.
    origin: OnceLock<(String, Vec<String>)>,
    runs: AtomicU64,
    made_ns: u64,
    last_run_ns: AtomicU64,
    profile: Mutex<Option<Profile>>,
}

struct Profile {
    timings: Vec<Timing>,
    time_ns: u64,
}

impl Watched {
    /// Lets watchers see a graph as long as it lives.
    pub fn new(graph: Graph, plan: Plan, device: &str) -> Arc<Self> {
        provide(Topic::Graphs, all_graphs);
        let made_ns = now_ns();
        let made = Arc::new(Self {
            graph,
            plan,
            device: device.to_owned(),
            origin: OnceLock::new(),
            runs: AtomicU64::new(0),
            made_ns,
            last_run_ns: AtomicU64::new(made_ns),
            profile: Mutex::default(),
        });
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|other| other.strong_count() > 0);
        watched.push(Arc::downgrade(&made));
        made
    }

    pub fn set_origin(&self, name: &str, report: &Report) {
        let _ = self.origin.set((name.to_owned(), report.notes.clone()));
    }

    pub fn note_run(&self, timings: Option<&[Timing]>) {
        let now = now_ns();
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.last_run_ns.store(now, Ordering::Relaxed);
        if let Some(timings) = timings {
            let profile = Profile {
                timings: timings.to_vec(),
                time_ns: now,
            };
            *self.profile.lock().unwrap_or_else(PoisonError::into_inner) = Some(profile);
        }
    }

    fn to_json(&self) -> Value {
        let (name, notes) = match self.origin.get() {
            Some((name, notes)) => (name.as_str(), notes.as_slice()),
            None => ("graph", &[][..]),
        };
        let profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner);
        let seconds = |id: u32| {
            let timings = profile.iter().flat_map(|profile| &profile.timings);
            let mut own = timings.filter(|timing| timing.node.0 == id);
            own.next().map(|timing| timing.seconds)
        };
        let first = self.graph.ids().zip(self.graph.nodes()).take(MAX_NODES);
        let all: Vec<Value> = first
            .map(|(id, node)| {
                json!({
                    "id": id.0,
                    "operation": node.operation_name(),
                    "name": node.name,
                    "inputs": node.reads().map(|read| read.0).collect::<Vec<_>>(),
                    "shape": node.shape.as_slice(),
                    "dtype": node.dtype.name(),
                    "steps": node.steps(),
                    "bytes": node.bytes(),
                    "seconds": seconds(id.0),
                })
            })
            .collect();
        json!({
            "name": name,
            "device": self.device,
            "nodes": all,
            "node_count": self.graph.nodes().len(),
            "outputs": self.graph.outputs().iter().map(|id| id.0).collect::<Vec<_>>(),
            "notes": notes,
            "shared_bytes": self.plan.bytes,
            "unshared_bytes": self.plan.unshared_bytes,
            "runs": self.runs.load(Ordering::Relaxed),
            "made_ns": self.made_ns,
            "last_run_ns": self.last_run_ns.load(Ordering::Relaxed),
            "profiled_ns": profile.as_ref().map(|profile| profile.time_ns),
        })
    }
}

/// The graphs that ran last come first.
#[expect(clippy::unnecessary_wraps, reason = "the type of every provider")]
fn all_graphs(_: &Question) -> Result<Value, String> {
    let mut watched: Vec<Arc<Watched>> = {
        let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        watched.iter().filter_map(Weak::upgrade).collect()
    };
    watched.sort_by_key(|one| std::cmp::Reverse(one.last_run_ns.load(Ordering::Relaxed)));
    watched.truncate(MAX_GRAPHS);
    Ok(watched.iter().map(|one| one.to_json()).collect())
}
