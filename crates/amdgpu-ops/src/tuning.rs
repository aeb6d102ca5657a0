//! What was measured: for products of matrices, convolutions, forms of generated kernels, kernels of users and whatever else has a name, how long each way to compute them took, in a
//! database for each architecture.
//!
//! Contract
//! - [`database_of`] is the database of an architecture: measurements that come with the package, and below the cache folder those made
//!   here, in files of schema `amdgpu.tuning/1` that several processes may write.
//! - A damaged file is never overwritten: it is kept under another name, and that is told.
//! - A choice asks [`measured`]; whoever changes a database counts it ([`changes`]), and choices are made again.
//! - Measuring takes a child process of the host language, which registers itself ([`register`]); without one nothing is measured here.

mod database;
mod entries;
mod files;
mod forms;
mod records;
pub mod settings;
mod timings;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::archived::Archived;
use crate::archived::problem::{Epilogue, Problem};
use crate::kernel_form::KernelForm;
use crate::{DeviceOps, KernelKey};

pub use database::{
    Database, ImportError, Statistics, cache_folder, database_of, import, known_architectures,
};
pub use entries::{Content, Entry, SCHEMA, check_architecture, dump, parse};
pub use forms::Forms;
pub(crate) use forms::size_class;
pub use records::{Record, is_name};

/// The reason of ways that are measured again when there is time.
pub const NO_TIME: &str = "no time was left";

/// Counts what changed in any database of the process.
static CHANGES: AtomicU64 = AtomicU64::new(1);

/// The state of all databases: another number once a measurement changed.
#[must_use]
pub fn changes() -> u64 {
    CHANGES.load(Ordering::Acquire)
}

pub(crate) fn note_change() {
    CHANGES.fetch_add(1, Ordering::AcqRel);
}

/// A product that is to be measured now.
pub struct Request<'a> {
    /// Name of the device.
    pub device: &'a str,
    pub product: Problem,
    /// Every way to compute it, as the database names them.
    pub ways: Vec<String>,
    /// What the process may spend on measuring.
    pub budget_seconds: f64,
}

/// Measures a product and adds what it finds to the database; the measurement, where there is one.
pub type Measure = Box<dyn Fn(&Request<'_>) -> Option<Entry> + Send + Sync>;

static MEASURE: OnceLock<Measure> = OnceLock::new();

/// Registers what measures; the first one stays. Returns whether this was the first.
pub fn register(measure: Measure) -> bool {
    MEASURE.set(measure).is_ok()
}

/// What is known about a problem, from the database or, where `AMDGPU_TUNE` allows it, measured now. `ways` names what could be chosen.
pub(crate) fn measured(
    ops: &DeviceOps,
    problem: &Problem,
    ways: impl FnOnce() -> Vec<String>,
    budget_seconds: f64,
) -> Option<Entry> {
    let database = database_of(&Archived::of(ops).facts().architecture);
    // Kernels that leave the sums as they are differ in what they write only.
    let product = Problem {
        output: problem.operand.output(),
        ..*problem
    };
    let found = database.find(&product);
    let plain = Problem {
        epilogue: Epilogue::None,
        ..product
    };
    let is_known = || {
        let exact = database.exact(&plain);
        exact.is_some_and(|entry| !entry.failed.values().any(|reason| reason == NO_TIME))
    };
    // With one way there is nothing to choose.
    if budget_seconds <= 0.0 || is_known() || ways().len() < 2 {
        return found;
    }
    let Some(measure) = MEASURE.get() else {
        return found;
    };
    let all = crate::archived::ways(ops, &plain).unwrap_or_default();
    let request = Request {
        device: ops.name(),
        product: plain,
        ways: all.into_iter().map(|(name, _)| name).collect(),
        budget_seconds,
    };
    measure(&request).or(found)
}

/// The form of a kernel on a device; `key` tells it from others, `subject` is what the database calls it. Remembered until a measurement changes.
pub(crate) fn form_of(
    ops: &DeviceOps,
    key: &KernelKey,
    forms: &Forms,
    subject: impl FnOnce() -> String,
) -> KernelForm {
    let archived = Archived::of(ops);
    let made = archived.forms.get(key, changes, || {
        let database = database_of(&archived.facts().architecture);
        let record = database.find_record(&subject());
        Ok::<_, std::convert::Infallible>(forms.decide(record.as_ref()))
    });
    made.unwrap_or(forms.usual)
}
