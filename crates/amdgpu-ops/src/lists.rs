//! Operations on lists of tensors by one launch for all of them: steps of optimizers, and functions of elements.
//!
//! A table in memory of the device has the addresses, lengths and numbers of the tensors; a block of the kernel works on a part of one of them. A list
//! that was used before, with the same memory, finds its table there.

pub(crate) mod tables;

use amdgpu_abi::promotion::{compute_type, is_float};
use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, recording};
use amdgpu_hal::MemoryKind;
use amdgpu_matrix::Elementwise;
use smallvec::SmallVec;

use crate::div_ceil::DivCeil;
use crate::generated::formulas;
use crate::generated::lists::{
    INPUT_LIMIT, LIST_ROWS, ListBody, ListKernel, PART, TABLE_WORDS, slots_of, table_source,
};
use crate::generated::loss::computed;
use crate::generated::source;
use crate::launch::{Shape, launch, launch_beside};
use crate::{Arg, DeviceOps, Error, KernelKey, Result};

/// What an operation takes of one tensor of each list.
#[derive(Clone, Debug, Default)]
pub struct ListItem {
    /// By the slots of the operation ([`slots`]); `None` for what is left out, the same of all items. On the heap: lists of items are moved.
    pub memory: Vec<Option<Array>>,
    /// By the numbers of the operation, or none where all items share them.
    pub numbers: SmallVec<[f64; 4]>,
}

/// The operation of a name: "adam", "sgd", "unscale", "lerp", "addcmul", "addcdiv", or one of elements with so many inputs.
///
/// # Errors
///
/// `invalid-argument` for a name that is none.
pub fn find(name: &str) -> Result<ListBody> {
    if let Some(row) = LIST_ROWS.iter().find(|row| row.name == name) {
        return Ok(ListBody::Row(row));
    }
    let known = Elementwise::from_name(name).filter(|one| one.inputs().len() <= INPUT_LIMIT);
    let Some(operation) = known else {
        let rows: Vec<_> = LIST_ROWS.iter().map(|row| row.name).collect();
        return Err(Error::refused(
            ErrorCode::InvalidArgument,
            format!(
                "{name:?} is no operation on lists; known are {} and functions of elements",
                rows.join(", ")
            ),
        ));
    };
    Ok(ListBody::Elementwise(
        operation.name(),
        operation.inputs().len(),
    ))
}

/// Runs an operation for all items, which may be none. Writes where the slots of the operation say so; memory may be the same in several slots of an
/// item. `numbers` are those that all items share.
///
/// # Errors
///
/// `shape-mismatch` for memory of one item that differs in length, `unsupported-dtype` for what is no float or differs between items, `not-contiguous`,
/// `read-only`, `invalid-argument` for missing memory or numbers; [`Error::NoKernel`] for a function without a kernel.
pub fn list_step(
    ops: &DeviceOps,
    body: ListBody,
    items: &[ListItem],
    numbers: &[f64],
) -> Result<()> {
    let Some(first) = items.first() else {
        return Ok(());
    };
    let dtypes: SmallVec<[Option<Dtype>; 8]> = body
        .slots()
        .iter()
        .zip(first.memory.iter().chain(std::iter::repeat(&None)))
        .map(|(_, array)| array.as_ref().map(|one| one.dtype))
        .collect();
    for (place, item) in items.iter().enumerate() {
        check(&body, &dtypes, item, place)?;
    }
    let has_own_numbers = !first.numbers.is_empty();
    let lengths = items.iter().map(|item| item.numbers.len());
    check_numbers(&body, lengths, has_own_numbers, numbers.len())?;
    let text = text_of(ops, body, &dtypes, has_own_numbers)?;
    run(ops, &text, items, numbers)
}

/// What an operation takes of one tensor of each list, by addresses: of the slots that have a dtype.
#[derive(Clone, Debug)]
pub struct AddressItem<'a> {
    pub elements: i64,
    pub addresses: SmallVec<[u64; 8]>,
    pub numbers: &'a [f64],
}

/// [`list_step`] on memory that the caller has looked at, for each slot of the operation with its dtype or `None`.
///
/// # Errors
///
/// As [`list_step`] for dtypes, numbers and missing slots.
///
/// # Safety
///
/// Addresses are aligned and of memory with so many elements, or one, that the device's own allocator gave, that nobody else was told of and that no
/// other stream uses.
pub unsafe fn list_step_at(
    ops: &DeviceOps,
    body: ListBody,
    dtypes: &[Option<Dtype>],
    items: &[AddressItem<'_>],
    numbers: &[f64],
) -> Result<()> {
    let Some(first) = items.first() else {
        return Ok(());
    };
    let mut slots = slots_of(body, dtypes).zip(dtypes).enumerate();
    if let Some((place, _)) = slots.find(|(_, (slot, dtype))| dtype.is_none() && !slot.is_optional)
    {
        return Err(missing(&body, place));
    }
    let has_own_numbers = !first.numbers.is_empty();
    let lengths = items.iter().map(|item| item.numbers.len());
    check_numbers(&body, lengths, has_own_numbers, numbers.len())?;
    let text = text_of(ops, body, dtypes, has_own_numbers)?;
    let mut table = Table::for_items(items.len(), &text);
    for item in items {
        table.push(item.elements, item.addresses.iter().copied(), item.numbers);
    }
    table.launch(ops, &text, numbers, &[])
}

fn text_of<'a>(
    ops: &DeviceOps,
    body: ListBody,
    dtypes: &'a [Option<Dtype>],
    has_own_numbers: bool,
) -> Result<ListKernel<'a>> {
    Ok(ListKernel {
        body,
        computed: computed_in(&body, dtypes)?,
        dtypes,
        has_own_numbers,
        is_packed: !ops.device().info().capabilities.host_visible,
    })
}

/// The dtype that elements are computed in.
fn computed_in(body: &ListBody, dtypes: &[Option<Dtype>]) -> Result<Dtype> {
    let name = body.name();
    let Some(own) = dtypes[0] else {
        return Err(missing(body, 0));
    };
    if let ListBody::Elementwise(..) = body {
        let computed = compute_type(own);
        let is_one = dtypes.iter().flatten().all(|dtype| *dtype == own);
        if is_one && is_float(own) && formulas::formula(name, computed).is_some() {
            return Ok(computed);
        }
        return Err(Error::no_kernel(format!(
            "{name} of lists of {} has no kernel",
            own.name().unwrap_or("?")
        )));
    }
    if dtypes.iter().flatten().all(|dtype| is_float(*dtype)) {
        return Ok(computed(own));
    }
    Err(Error::refused(
        ErrorCode::UnsupportedDtype,
        format!("{name}: lists are of floats, so convert them first"),
    ))
}

fn missing(body: &ListBody, slot: usize) -> Error {
    Error::refused(
        ErrorCode::InvalidArgument,
        format!("{}: {} is missing", body.name(), body.slots()[slot].name),
    )
}

/// Refuses an item that is not like the others, or not as the slots say.
fn check(body: &ListBody, dtypes: &[Option<Dtype>], item: &ListItem, place: usize) -> Result<()> {
    let refused = |code: ErrorCode, slot: usize, why: &str| {
        let (name, slot) = (body.name(), body.slots()[slot].name);
        Err(Error::refused(
            code,
            format!("{name}: {slot} of item {place} {why}"),
        ))
    };
    let mut elements = None;
    for (number, slot) in slots_of(*body, dtypes).enumerate() {
        let Some(array) = item.memory.get(number).and_then(Option::as_ref) else {
            if dtypes[number].is_none() && slot.is_optional {
                continue;
            }
            return Err(missing(body, number));
        };
        if dtypes[number] != Some(array.dtype) {
            let why = "has another dtype than in the first item, or is missing there";
            return refused(ErrorCode::UnsupportedDtype, number, why);
        }
        if slot.access.writes() && array.is_read_only {
            return refused(ErrorCode::ReadOnly, number, "is read-only");
        }
        if !array.is_contiguous() {
            return refused(ErrorCode::NotContiguous, number, "has gaps");
        }
        if !slot.access.is_each() {
            if array.len() != 1 {
                return refused(ErrorCode::ShapeMismatch, number, "has not one element");
            }
        } else if *elements.get_or_insert(array.len()) != array.len() {
            let why = "has another number of elements than the memory before it";
            return refused(ErrorCode::ShapeMismatch, number, why);
        }
    }
    Ok(())
}

/// Looks at how many numbers each item has of its own, and how many all share.
fn check_numbers(
    body: &ListBody,
    mut lengths: impl Iterator<Item = usize>,
    has_own: bool,
    shared: usize,
) -> Result<()> {
    let wanted = body.numbers().len();
    let of_each = if has_own { wanted } else { 0 };
    if lengths.all(|length| length == of_each) && (has_own || shared == wanted) {
        return Ok(());
    }
    Err(Error::refused(
        ErrorCode::InvalidArgument,
        format!(
            "{} takes {wanted} numbers ({}), of each item or of all",
            body.name(),
            body.numbers().join(", ")
        ),
    ))
}

fn run(ops: &DeviceOps, text: &ListKernel<'_>, items: &[ListItem], numbers: &[f64]) -> Result<()> {
    let mut table = Table::for_items(items.len(), text);
    let mut arrays = Vec::with_capacity(items.len() * text.dtypes.len());
    for item in items {
        let memory = || item.memory.iter().flatten();
        for array in memory() {
            array.check_alive()?;
            arrays.push(array);
        }
        let addresses = memory().map(|array| array.address().address());
        table.push(elements_of(&text.body, item), addresses, &item.numbers);
    }
    table.launch(ops, text, numbers, &arrays)
}

/// The words of a table, and how many blocks work by it.
struct Table {
    words: Vec<u64>,
    blocks: i64,
    count: i64,
}

impl Table {
    fn for_items(count: usize, text: &ListKernel<'_>) -> Self {
        Self {
            words: Vec::with_capacity(count * text.words()),
            blocks: 0,
            count: 0,
        }
    }

    fn push(&mut self, elements: i64, addresses: impl Iterator<Item = u64>, numbers: &[f64]) {
        if elements == 0 {
            return;
        }
        self.words.extend([self.blocks as u64, elements as u64]);
        self.words.extend(addresses);
        self.words
            .extend(numbers.iter().map(|number| number.to_bits()));
        self.blocks += elements.div_ceil_positive(PART);
        self.count += 1;
    }

    /// Launches the kernel, which also reaches these arrays.
    fn launch(
        self,
        ops: &DeviceOps,
        text: &ListKernel<'_>,
        numbers: &[f64],
        arrays: &[&Array],
    ) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let table = table_of(ops, self.words)?;
        let kernel = ops.kernel(key_of(text), "list_step", || text.source())?;
        let mut args: SmallVec<[Arg<'_>; 10]> = SmallVec::new();
        args.extend([Arg::Array(&table), Arg::from(self.count)]);
        if !text.has_own_numbers {
            args.extend(numbers.iter().map(|number| Arg::Float(*number)));
        }
        launch_beside(
            &kernel,
            Shape::line(self.blocks, source::BLOCK),
            &args,
            arrays,
        )
    }
}

fn elements_of(body: &ListBody, item: &ListItem) -> i64 {
    let each = body.slots().iter().zip(&item.memory);
    let mut lengths = each
        .filter(|(slot, _)| slot.access.is_each())
        .filter_map(|(_, array)| array.as_ref().map(Array::len));
    lengths.next().unwrap_or(0)
}

fn key_of(text: &ListKernel<'_>) -> KernelKey {
    let mut key = KernelKey::new("list step")
        .text(text.body.name())
        .flag(text.has_own_numbers)
        .flag(text.is_packed);
    for dtype in text.dtypes {
        key = key.flag(dtype.is_some());
        if let Some(dtype) = dtype {
            key = key.dtype(*dtype);
        }
    }
    key
}

/// The words in memory of the device.
fn table_of(ops: &DeviceOps, mut words: Vec<u64>) -> Result<Array> {
    let is_host = ops.device().info().capabilities.host_visible;
    if is_host {
        return from_host(ops, &words);
    }
    words.resize(words.len().next_multiple_of(TABLE_WORDS), 0);
    // What a graph holds writes its table each time: this one may have gone by then.
    if recording::is_recording() {
        return written(ops, &words);
    }
    let mut tables = match ops.tables().lock() {
        Ok(tables) => tables,
        Err(poisoned) => poisoned.into_inner(),
    };
    if let Some(table) = tables.find(&words) {
        return Ok(table);
    }
    let table = written(ops, &words)?;
    tables.keep(words, table.clone());
    Ok(table)
}

fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn from_host(ops: &DeviceOps, words: &[u64]) -> Result<Array> {
    let shape = [words.len() as i64];
    let bytes = bytes_of(words);
    Ok(Array::from_host(
        ops.device(),
        &bytes,
        shape.as_slice(),
        Dtype::U64,
    )?)
}

/// A new table that launches write, behind what the device still does with the memory.
fn written(ops: &DeviceOps, words: &[u64]) -> Result<Array> {
    let device = ops.device();
    let whole = [words.len() as i64];
    let table = Array::empty(device, whole.as_slice(), Dtype::U64, MemoryKind::Device)?;
    let kernel = ops.kernel(KernelKey::new("write words"), "write_words", table_source)?;
    for (place, part) in words.chunks_exact(TABLE_WORDS).enumerate() {
        let bytes = bytes_of(part);
        let shape = amdgpu_array::Dims::from_slice(&[TABLE_WORDS as i64]);
        let strides = amdgpu_array::row_major(&shape);
        let own = table.view_at((place * TABLE_WORDS) as i64, shape, strides);
        launch(
            &kernel,
            Shape::line(1, 1),
            &[Arg::Array(&own), Arg::Bytes(&bytes)],
        )?;
    }
    Ok(table)
}
