//! The first k keys of long lines, by kernels of the device, in the order of the keys: found by radix selection, then sorted.

use amdgpu_abi::Dtype;
use amdgpu_array::{Array, Dims};
use amdgpu_hal::MemoryKind;

use crate::div_ceil::DivCeil;
use crate::generated::radix::{DIGIT_BITS, DIGITS, KeySource, LineResult, chunk};
use crate::generated::select::{chunks_source, collect_source, count_source, pick_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::Operand;
use crate::radix::{Radix, UINT32, place_type};
use crate::scan::{self, Scan, ScanOptions};
use crate::{Arg, Error, KernelKey, Result};

/// What was found: the places of the first keys of each line in their own order, and in that of the keys which of them come first.
pub struct Selected {
    pub places: Array,
    pub order: Array,
}

/// The first k keys of the lines that a sort is for.
///
/// # Errors
///
/// `out-of-memory`; what the device reports.
pub fn first_keys(of: &Radix<'_>, k: i64) -> Result<Selected> {
    let selection = Selection::new(of, k)?;
    for (shift, width, above) in digits(of.bits) {
        selection.pick(shift, width, above)?;
    }
    let (keys, places) = selection.collect()?;
    let candidates = Radix {
        ops: of.ops,
        memory: &keys,
        source: KeySource::keys(of.source.is_wide),
        key: KernelKey::new("radix").flag(of.source.is_wide).text("keys"),
        lines: Lines {
            count: of.lines.count,
            length: k,
            stride: 1,
        },
        bits: of.bits,
        place: Some(place_type(k)),
    };
    let order = candidates.places()?;
    Ok(Selected { places, order })
}

/// Digits from the first one on: the bits below, how many it has, and the bit behind it.
fn digits((first, end): (i64, i64)) -> impl Iterator<Item = (i64, i64, i64)> {
    let mut above = end;
    std::iter::from_fn(move || {
        if above <= first {
            return None;
        }
        let shift = (above - DIGIT_BITS).max(first);
        let digit = (shift, above - shift, above);
        above = shift;
        Some(digit)
    })
}

struct Selection<'a> {
    of: &'a Radix<'a>,
    k: i64,
    chunks: i64,
    prefixes: Array,
    wanted: Array,
}

impl<'a> Selection<'a> {
    fn new(of: &'a Radix<'a>, k: i64) -> Result<Self> {
        let key = if of.source.is_wide {
            Dtype::U64
        } else {
            UINT32
        };
        let lines = [of.lines.count];
        let prefixes = empty(of, &lines, key)?;
        prefixes.fill(&0_u64.to_ne_bytes()[..key.size_bytes()])?;
        let wanted = empty(of, &lines, Dtype::I64)?;
        wanted.fill(&k.to_ne_bytes())?;
        Ok(Self {
            of,
            k,
            chunks: of.lines.length.div_ceil_positive(chunk(of.source.is_wide)),
            prefixes,
            wanted,
        })
    }

    fn shape(&self) -> Shape {
        Shape::line(self.of.lines.count * self.chunks, source::BLOCK)
    }

    fn sizes(&self) -> [Arg<'static>; 3] {
        let Lines { length, stride, .. } = self.of.lines;
        [length, stride, self.chunks].map(Arg::from)
    }

    fn key(&self, name: &str) -> KernelKey {
        self.of.key.clone().text(name)
    }

    /// Goes on by one digit.
    fn pick(&self, shift: i64, width: i64, above: i64) -> Result<()> {
        let Radix { ops, source, .. } = self.of;
        let counts = empty(self.of, &[self.of.lines.count, DIGITS], Dtype::U64)?;
        counts.fill(&0_u64.to_ne_bytes())?;
        let count = ops.kernel(self.key("select_count"), "select_count", || {
            count_source(source)
        })?;
        let mut args = [self.of.memory, &self.prefixes, &counts]
            .map(Arg::Array)
            .to_vec();
        args.extend(self.sizes());
        args.extend([shift, (1 << width) - 1, above].map(Arg::from));
        launch(&count, self.shape(), &args)?;
        let key = KernelKey::new("select_pick").flag(source.is_wide);
        let pick = ops.kernel(key, "select_pick", || pick_source(source.is_wide))?;
        let mut args = [&counts, &self.prefixes, &self.wanted]
            .map(Arg::Array)
            .to_vec();
        args.push(Arg::from(width));
        launch(
            &pick,
            Shape::line(self.of.lines.count, source::BLOCK),
            &args,
        )
    }

    /// Keys and places of each line up to the one that was found.
    fn collect(&self) -> Result<(Array, Array)> {
        let Radix { ops, source, .. } = self.of;
        let (first_bit, _) = self.of.bits;
        let counts = empty(self.of, &[self.of.lines.count, 2 * self.chunks], Dtype::I64)?;
        let count = ops.kernel(self.key("select_chunks"), "select_chunks", || {
            chunks_source(source)
        })?;
        let mut args = [self.of.memory, &self.prefixes, &counts]
            .map(Arg::Array)
            .to_vec();
        args.extend(self.sizes());
        args.push(Arg::from(first_bit));
        launch(&count, self.shape(), &args)?;
        let sum = ScanOptions::new(Scan::Sum, 1);
        let ends = scan::on_device(ops, &Operand::of_array(counts), &sum, None)?;
        let place = place_type(self.of.lines.length);
        let taken = [self.of.lines.count * self.k];
        let keys = empty(self.of, &taken, self.prefixes.dtype)?;
        let places = empty(self.of, &taken, place)?;
        let key = self.key("select_collect").dtype(place);
        let collect = ops.kernel(key, "select_collect", || collect_source(source, place))?;
        let arrays = [self.of.memory, &self.prefixes, &ends, &keys, &places];
        let mut args = arrays.map(Arg::Array).to_vec();
        args.extend(self.sizes());
        args.extend([first_bit, self.k].map(Arg::from));
        launch(&collect, self.shape(), &args)?;
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
        self.write_lines(
            &places,
            &LineResult::places(),
            self.key.clone().text("places"),
        )?;
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_begin_at_the_last_bit() {
        assert_eq!(
            digits((12, 32)).collect::<Vec<_>>(),
            [(24, 8, 32), (16, 8, 24), (12, 4, 16)]
        );
        assert_eq!(digits((0, 8)).collect::<Vec<_>>(), [(0, 8, 8)]);
    }
}
