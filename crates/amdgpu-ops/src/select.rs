//! The first k keys of long lines, by kernels of the device, in the order of the keys: found by radix selection, then sorted.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use crate::div_ceil::DivCeil;
use crate::generated::radix::{COUNTED_CHUNK, DIGIT_BITS, KeySource, LineResult, chunk};
use crate::generated::select::{
    chunks_source, collect_source, count_source, line_source, line_words,
};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::Operand;
use crate::radix::{COUNTING_BLOCKS, Radix, Written, place_type};
use crate::scan::{self, Scan, ScanOptions};
use crate::words::words;
use crate::{Arg, Error, KernelKey, Result};

/// Keys that one block selects at most.
const LINE_KEYS: i64 = 4 * source::BLOCK;
/// Elements of a line that one block reads as fast as many do.
const LINE_LIMIT: i64 = 16_384;
/// Lines that keep a device busy with a block for each.
const MANY_LINES: i64 = 128;

/// What was found: the places of the first keys of each line in their own order, and in that of the keys which of them come first.
pub struct Selected {
    pub places: Array,
    pub order: Array,
}

/// Whether a block is enough for each line to select k of its keys.
#[must_use]
pub fn fits_block(lines: Lines, k: i64) -> bool {
    k <= LINE_KEYS && (lines.length <= LINE_LIMIT || lines.count >= MANY_LINES)
}

/// Writes the elements of the first k keys of lines, and their places, where a block is enough for each line.
///
/// # Errors
///
/// What the device reports.
pub fn write_first(of: &Radix<'_>, k: i64, [best, indices]: [&Array; 2]) -> Result<()> {
    let mut own = 1;
    while own * source::BLOCK < k {
        own *= 2;
    }
    let key = of.key.clone().text("select_line").with(own as u64);
    let kernel = of.ops.kernel(key, "select_line", || {
        line_source(&of.source, own, of.memory.dtype.size_bytes())
    })?;
    let mut args = [of.memory, best, indices].map(Arg::Array).to_vec();
    args.extend([of.lines.length, of.lines.stride, k].map(Arg::from));
    launch(&kernel, Shape::line(of.lines.count, source::BLOCK), &args)
}

/// The first k keys of the lines that a sort is for.
///
/// # Errors
///
/// `out-of-memory`; what the device reports.
pub fn first_keys(of: &Radix<'_>, k: i64) -> Result<Selected> {
    let selection = Selection::new(of, k)?;
    for digit in 0..selection.digits {
        selection.count(digit)?;
    }
    let (keys, places) = selection.collect()?;
    let candidates = Radix {
        ops: of.ops,
        memory: &keys,
        source: KeySource::keys(of.source.key, "key".to_owned()),
        key: KernelKey::new("radix").dtype(of.source.key).text("keys"),
        lines: Lines {
            count: of.lines.count,
            length: k,
            stride: 1,
        },
        bits: of.bits,
        place: Some(place_type(k)),
        wanted: None,
    };
    let order = candidates.places()?;
    Ok(Selected { places, order })
}

struct Selection<'a> {
    of: &'a Radix<'a>,
    k: i64,
    digits: i64,
    chunks: i64,
    /// What kernels know of each line.
    words: Array,
}

impl<'a> Selection<'a> {
    fn new(of: &'a Radix<'a>, k: i64) -> Result<Self> {
        let digits = i64::from(of.source.key.bits) / DIGIT_BITS;
        let count = of.lines.count * line_words(digits);
        let words = words(of.ops, count, count)?;
        Ok(Self {
            of,
            k,
            digits,
            chunks: of
                .lines
                .length
                .div_ceil_positive(chunk(of.source.is_wide())),
            words,
        })
    }

    fn key(&self, name: &str) -> KernelKey {
        self.of.key.clone().text(name)
    }

    /// Goes on by one digit.
    fn count(&self, digit: i64) -> Result<()> {
        let Radix {
            ops, source, lines, ..
        } = self.of;
        let kernel = ops.kernel(self.key("select_count"), "select_count", || {
            count_source(source)
        })?;
        let parts = lines
            .length
            .div_ceil_positive(COUNTED_CHUNK)
            .min((COUNTING_BLOCKS / lines.count).max(1));
        let mut args = [self.of.memory, &self.words].map(Arg::Array).to_vec();
        let sizes = [lines.length, lines.stride, parts];
        args.extend(sizes.map(Arg::from));
        args.extend([self.digits, digit, self.k].map(Arg::from));
        launch(
            &kernel,
            Shape::line(lines.count * parts, source::BLOCK),
            &args,
        )
    }

    /// Keys and places of each line up to the one that was found.
    fn collect(&self) -> Result<(Array, Array)> {
        let Radix {
            ops, source, lines, ..
        } = self.of;
        let known_words = line_words(self.digits);
        let shape = Shape::line(lines.count * self.chunks, source::BLOCK);
        let sizes = [lines.length, lines.stride, self.chunks, known_words].map(Arg::from);
        let counts = empty(self.of, &[lines.count, 2 * self.chunks], Dtype::I64)?;
        let count = ops.kernel(self.key("select_chunks"), "select_chunks", || {
            chunks_source(source)
        })?;
        let mut args = [self.of.memory, &self.words, &counts]
            .map(Arg::Array)
            .to_vec();
        args.extend(sizes);
        launch(&count, shape, &args)?;
        let sum = ScanOptions::new(Scan::Sum, 1);
        let ends = scan::on_device(ops, &Operand::of_array(counts), &sum, None)?;
        let place = place_type(lines.length);
        let taken = [lines.count * self.k];
        let keys = empty(self.of, &taken, source.key)?;
        let places = empty(self.of, &taken, place)?;
        let key = self.key("select_collect").dtype(place);
        let collect = ops.kernel(key, "select_collect", || collect_source(source, place))?;
        let arrays = [self.of.memory, &self.words, &ends, &keys, &places];
        let mut args = arrays.map(Arg::Array).to_vec();
        args.extend(sizes);
        args.push(Arg::from(self.k));
        launch(&collect, shape, &args)?;
        Ok((keys, places))
    }
}

fn empty(of: &Radix<'_>, shape: &[i64], dtype: Dtype) -> Result<Array> {
    let shape = Dims::from_slice(shape);
    let device = of.ops.device();
    Ok(Array::empty(device, shape, dtype, MemoryKind::Device)?)
}

impl Radix<'_> {
    /// The places of the sorted keys, line by line.
    ///
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn places(&self) -> Result<Array> {
        if !self.fits_block() {
            let sorted = self.sort()?.places;
            return sorted.ok_or_else(|| Error::no_kernel("a sort without places"));
        }
        let count = self.lines.count * self.lines.length;
        let places = empty(self, &[count], Dtype::I32)?;
        self.write_lines(&Written {
            out: &places,
            result: &LineResult::places(),
            key: self.key.clone().text("places"),
        })?;
        Ok(places)
    }
}
