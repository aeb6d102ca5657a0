//! Who reduces, and how: a library for all ranks at once, or each rank by itself in the order of ranks.

use std::ffi::{CStr, CString};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use smallvec::SmallVec;

use super::{Shared, locked, nccl};
use crate::amdgpu::{Operand, agpu};
use crate::call::Call;
use crate::devices::Device;
use crate::failure::{Failure, Outcome};
use crate::tensor::{Tensor, View};

/// Steps of one pass have at most so many inputs (`agpu_ops_fused_at`).
const MOST_INPUTS: usize = 6;
/// `AGPU_COPY_BETWEEN_DEVICES`.
const BETWEEN_DEVICES: u32 = 3;
/// Says which engine is wanted: auto, nccl or copies.
const SETTING: &str = "AMDGPU_TENSORFLOW_COLLECTIVES";

/// How much an engine has reduced. A collective of all ranks counts once.
pub struct Count {
    pub engine: &'static CStr,
    pub collectives: AtomicU64,
    pub tensors: AtomicU64,
    pub bytes: AtomicU64,
}

const fn count(engine: &'static CStr) -> Count {
    Count {
        engine,
        collectives: AtomicU64::new(0),
        tensors: AtomicU64::new(0),
        bytes: AtomicU64::new(0),
    }
}

/// In the order of [`Engine`].
pub static COUNTS: [Count; 4] = [
    count(c"nccl"),
    count(c"copies"),
    count(c"direct"),
    count(c"host"),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    /// NCCL, or RCCL on AMD GPUs.
    Nccl,
    /// Each rank copies what the others have to its own device, and sums there.
    Copies,
    /// All ranks are on one device, whose kernels read everything.
    Direct,
    /// Tensors in the memory of the host, as TensorFlow keeps int32.
    Host,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    Sum,
    Mean,
}

impl Reduction {
    pub fn of_name(name: &str) -> Outcome<Self> {
        match name {
            "sum" => Ok(Self::Sum),
            "mean" => Ok(Self::Mean),
            _ => Err(Failure::refused(format!(
                "reduction is {name:?}; known are sum and mean"
            ))),
        }
    }
}

static NCCL_FOLDERS: Mutex<String> = Mutex::new(String::new());

/// Says where wheels may have put NCCL, one folder a line.
pub fn set_nccl_folders(folders: String) {
    *locked(&NCCL_FOLDERS) = folders;
}

/// The kind of a device, and its number for the driver.
fn kind_and_number(device: &Device) -> (&str, i32) {
    let name = device.name.to_str().unwrap_or_default();
    let (kind, number) = name.split_once(':').unwrap_or((name, ""));
    (kind, number.parse().unwrap_or_default())
}

/// Who reduces between devices; where nobody asked for it, also why it is not NCCL.
fn choose(devices: &[&Device]) -> Outcome<(Engine, Option<String>)> {
    let (kind, _) = kind_and_number(devices[0]);
    if let Some(other) = devices.iter().find(|one| kind_and_number(one).0 != kind) {
        return Err(Failure::refused(format!(
            "collectives need devices of one kind; {} and {} are of two",
            devices[0].name.to_string_lossy(),
            other.name.to_string_lossy()
        )));
    }
    let asked = std::env::var(SETTING).unwrap_or_default();
    if !matches!(asked.as_str(), "" | "auto" | "nccl" | "copies") {
        return Err(Failure::refused(format!(
            "{SETTING} is {asked:?}; known are auto, nccl and copies"
        )));
    }
    let is_one = devices.iter().all(|device| device.name == devices[0].name);
    let own = if is_one {
        Engine::Direct
    } else {
        Engine::Copies
    };
    if asked == "copies" {
        return Ok((Engine::Copies, None));
    }
    match nccl_for(devices) {
        Ok(_) => Ok((Engine::Nccl, None)),
        Err(failure) if asked == "nccl" => Err(Failure::refused(format!(
            "{SETTING} is nccl: {}",
            failure.message
        ))),
        Err(failure) => Ok((own, Some(failure.message))),
    }
}

/// The library, where it can reduce between the devices.
fn nccl_for(devices: &[&Device]) -> Outcome<&'static nccl::Nccl> {
    let (kind, _) = kind_and_number(devices[0]);
    if kind != "cuda" && kind != "hip" {
        return Err(Failure::refused(format!(
            "NCCL and RCCL work on GPUs, not on {kind}"
        )));
    }
    let mut numbers = numbers(devices);
    numbers.sort_unstable();
    if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Failure::refused(
            "two ranks are on one GPU, and NCCL needs one for each",
        ));
    }
    nccl::open(kind == "hip", &locked(&NCCL_FOLDERS))
}

fn numbers(devices: &[&Device]) -> Vec<i32> {
    let number = |device: &&Device| kind_and_number(device).1;
    devices.iter().map(number).collect()
}

/// Which engine reduces between devices, and behind a tab why it is not NCCL.
pub fn engine_of_devices(devices: &[&Device]) -> Outcome<CString> {
    let (engine, reason) = choose(devices)?;
    let name = COUNTS[engine as usize].engine.to_string_lossy();
    let reason = reason.unwrap_or_default();
    Ok(crate::failure::c_text(&format!("{name}\t{reason}")))
}

/// Reduces what all ranks shared into the results of one of them.
pub fn all_reduce(call: &Call, all: &[Arc<Shared>], rank: usize, reduction: Reduction) -> Outcome {
    let devices: SmallVec<[&Device; 8]> = all.iter().map(|one| one.queue.device).collect();
    let engine = if all[rank].is_host {
        Engine::Host
    } else {
        choose(&devices)?.0
    };
    match engine {
        Engine::Nccl => submit_once(&devices, all, reduction)?,
        _ => sum_in_order(call, all, rank, reduction, engine == Engine::Copies)?,
    }
    if rank == 0 {
        let shared = &all[0].tensors;
        let bytes = shared.iter().map(|tensor| bytes_of(tensor)).sum();
        let count = &COUNTS[engine as usize];
        count.collectives.fetch_add(1, Ordering::Relaxed);
        count
            .tensors
            .fetch_add(shared.len() as u64, Ordering::Relaxed);
        count.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
    Ok(())
}

fn bytes_of(view: &View) -> u64 {
    view.len() as u64 * view.dtype.item_bytes() as u64
}

/// The rank that comes first gives the library the work of all.
fn submit_once(devices: &[&Device], all: &[Arc<Shared>], reduction: Reduction) -> Outcome {
    let mut submitted = locked(&all[0].submitted);
    let work = || {
        let nccl = nccl_for(devices)?;
        nccl.all_reduce(&numbers(devices), all, reduction == Reduction::Mean)
    };
    submitted.get_or_insert_with(work).clone()
}

/// Reads what the others shared, and sums in the order of ranks, so that every rank has the same bits each time.
fn sum_in_order(
    call: &Call,
    all: &[Arc<Shared>],
    rank: usize,
    reduction: Reduction,
    is_apart: bool,
) -> Outcome {
    for one in all {
        one.begin_reading(call.stream)?;
    }
    for (place, result) in all[rank].results.iter().enumerate() {
        if result.is_empty() {
            continue;
        }
        let copies: Vec<Option<Tensor>> = { all.iter().enumerate() }
            .map(|(of, shared)| {
                let is_far = is_apart && of != rank;
                is_far
                    .then(|| copied(call, &shared.tensors[place]))
                    .transpose()
            })
            .collect::<Outcome<_>>()?;
        let views: Vec<&View> = { all.iter().zip(&copies) }
            .map(|(shared, copy)| &**copy.as_ref().unwrap_or(&shared.tensors[place]))
            .collect();
        sum(call, &views, reduction, result)?;
    }
    all.iter().try_for_each(|one| one.end_reading(call.stream))
}

/// A tensor of another device in memory of this one.
fn copied(call: &Call, from: &Tensor) -> Outcome<Tensor> {
    let made = call.temporary(from.dtype, &from.shape)?;
    agpu!(agpu_raw_copy(
        call.device,
        made.address,
        from.address.cast_const(),
        bytes_of(from),
        BETWEEN_DEVICES,
        call.stream.handle
    ))?;
    Ok(made)
}

/// The sum of views in their order, or their mean.
fn sum(call: &Call, views: &[&View], reduction: Reduction, out: &View) -> Outcome {
    let dtype = out.dtype.name()?.to_string_lossy();
    let mut left = views;
    let mut begun = None;
    while !left.is_empty() {
        let room = MOST_INPUTS - usize::from(begun.is_some());
        let (now, later) = left.split_at(room.min(left.len()));
        let inputs: SmallVec<[&View; MOST_INPUTS]> =
            begun.into_iter().chain(now.iter().copied()).collect();
        let is_last = later.is_empty() && reduction == Reduction::Mean;
        let divisor = is_last.then_some(views.len());
        let steps = crate::failure::c_text(&steps(inputs.len(), &dtype, divisor));
        let operands: SmallVec<[Operand; MOST_INPUTS]> = { inputs.iter() }
            .map(|view| view.operand())
            .collect::<Outcome<_>>()?;
        let to = out.operand()?;
        agpu!(agpu_ops_fused_at(
            call.device,
            steps.as_ptr(),
            operands.as_ptr(),
            operands.len(),
            &raw const to,
        ))?;
        (left, begun) = (later, Some(out));
    }
    Ok(())
}

/// Steps that add so many inputs one behind the other, and divide at the end: `add(i0, i1) float32; add(s0, i2) float32`.
fn steps(inputs: usize, dtype: &str, divisor: Option<usize>) -> String {
    let mut text = format!("add(i0, i1) {dtype}");
    for input in 2..inputs {
        // Writing to a text does not fail.
        let _ = write!(text, "; add(s{}, i{input}) {dtype}", input - 2);
    }
    if let Some(divisor) = divisor {
        let last = inputs - 2;
        let _ = write!(text, "; divide(s{last}, {divisor}.0 {dtype}) {dtype}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_steps_in_the_order_of_ranks() {
        assert_eq!(steps(2, "float16", None), "add(i0, i1) float16");
        assert_eq!(
            steps(3, "float32", Some(7)),
            "add(i0, i1) float32; add(s0, i2) float32; divide(s1, 7.0 float32) float32"
        );
    }
}
