//! Lines of keys in order, by kernels of the device: digits of eight bits from the last one to the first. Every order is a stable one.

use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_UINT;
use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;

use crate::div_ceil::DivCeil;
use crate::generated::radix::{
    DIGIT_BITS, DIGITS, KeySource, LineResult, chunk, count_source, line_source, own_keys,
    place_source,
};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::operand::Operand;
use crate::scan::{self, Scan, ScanOptions};
use crate::{Arg, DeviceOps, KernelKey, Result};

pub const UINT32: Dtype = Dtype::new(DTYPE_UINT, 32);

/// A sort of the lines of an array.
pub struct Radix<'a> {
    pub ops: &'a DeviceOps,
    /// What keys are made of: an array, the text that makes them, and what tells it from others.
    pub memory: &'a Array,
    pub source: KeySource,
    pub key: KernelKey,
    pub lines: Lines,
    /// The first bit that keys are sorted by, and the one behind the last.
    pub bits: (i64, i64),
    /// The type of places within a line, where they are wanted.
    pub place: Option<Dtype>,
}

/// Sorted keys, line by line, and where they come from.
pub struct Sorted {
    pub keys: Array,
    pub places: Option<Array>,
}

/// The type of places within a line of so many elements.
#[must_use]
pub fn place_type(length: i64) -> Dtype {
    if source::is_narrow(length) {
        Dtype::I32
    } else {
        Dtype::I64
    }
}

impl Radix<'_> {
    /// Whether one block holds a line.
    #[must_use]
    pub fn fits_block(&self) -> bool {
        self.lines.length <= chunk(self.source.is_wide)
    }

    fn array(&self, shape: &[i64], dtype: Dtype) -> Result<Array> {
        let shape = Dims::from_slice(shape);
        Ok(Array::empty(
            self.ops.device(),
            shape,
            dtype,
            MemoryKind::Device,
        )?)
    }

    fn digits(&self) -> impl Iterator<Item = (i64, i64)> {
        let (first, end) = self.bits;
        (first..end)
            .step_by(DIGIT_BITS as usize)
            .map(move |shift| (shift, (1 << DIGIT_BITS.min(end - shift)) - 1))
    }

    /// Sorts lines that fit a block, and writes their results.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn write_lines(&self, out: &Array, result: &LineResult, key: KernelKey) -> Result<()> {
        let mut own = 1;
        while own * source::BLOCK < self.lines.length {
            own *= 2;
        }
        let has_places = self.place.is_some();
        let key = key.with(own as u64).flag(has_places);
        let kernel = self.ops.kernel(key, "radix_line", || {
            line_source(&self.source, own, has_places, result)
        })?;
        let mut args = [self.memory, out].map(Arg::Array).to_vec();
        let (first, end) = self.bits;
        args.extend([self.lines.length, self.lines.stride, first, end].map(Arg::from));
        launch(&kernel, Shape::line(self.lines.count, source::BLOCK), &args)
    }

    /// Sorts lines of any length.
    ///
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn sort(&self) -> Result<Sorted> {
        let is_wide = self.source.is_wide;
        let chunks = self.lines.length.div_ceil_positive(chunk(is_wide));
        let all = [self.lines.count * self.lines.length];
        let key_dtype = if is_wide { Dtype::U64 } else { UINT32 };
        let counts = self.array(&[self.lines.count, DIGITS * chunks], Dtype::I64)?;
        let mut from: Option<Sorted> = None;
        let mut spare: Option<Sorted> = None;
        for (shift, mask) in self.digits() {
            let to = match spare.take() {
                Some(sorted) => sorted,
                None => Sorted {
                    keys: self.array(&all, key_dtype)?,
                    places: match self.place {
                        Some(dtype) => Some(self.array(&all, dtype)?),
                        None => None,
                    },
                },
            };
            self.pass(from.as_ref(), &to, &counts, [chunks, shift, mask])?;
            spare = from.replace(to);
        }
        match from {
            Some(sorted) => Ok(sorted),
            None => Err(crate::Error::no_kernel("a sort by no bits")),
        }
    }

    /// Puts keys in order by one digit; without `from` those of the memory.
    fn pass(
        &self,
        from: Option<&Sorted>,
        to: &Sorted,
        counts: &Array,
        [chunks, shift, mask]: [i64; 3],
    ) -> Result<()> {
        let [count, place] = self.kernels(from.is_none())?;
        let memory = from.map_or(self.memory, |from| &from.keys);
        let shape = Shape::line(self.lines.count * chunks, source::BLOCK);
        let sizes = [self.lines.length, self.lines.stride, chunks, shift, mask].map(Arg::from);
        let mut args = [memory, counts].map(Arg::Array).to_vec();
        args.extend(sizes);
        launch(&count, shape, &args)?;
        let sum = ScanOptions::new(Scan::Sum, 1);
        let ends = scan::on_device(self.ops, &Operand::of_array(counts.clone()), &sum, None)?;
        let mut args = [memory, &to.keys, &ends].map(Arg::Array).to_vec();
        args.extend(sizes);
        if let Some(places_out) = &to.places {
            // Places of the first digit are where keys stand: nothing is read.
            let places = from.and_then(|from| from.places.as_ref());
            args.extend([places.unwrap_or(places_out), places_out].map(Arg::Array));
        }
        launch(&place, shape, &args)
    }

    fn kernels(&self, is_first: bool) -> Result<[Arc<Kernel>; 2]> {
        let (key, source) = if is_first {
            (self.key.clone(), self.source.clone())
        } else {
            let is_wide = self.source.is_wide;
            let key = KernelKey::new("radix").flag(is_wide);
            (key, KeySource::keys(is_wide))
        };
        let own = own_keys(source.is_wide) as u64;
        let of_count = key.clone().text("count").with(own);
        let count = self
            .ops
            .kernel(of_count, "radix_count", || count_source(&source))?;
        let mut of_place = key.text("place").flag(is_first);
        if let Some(dtype) = self.place {
            of_place = of_place.dtype(dtype);
        }
        let place = self.ops.kernel(of_place, "radix_place", || {
            place_source(&source, self.place, is_first)
        })?;
        Ok([count, place])
    }
}
