//! Lines of keys in order, by kernels of the device: digits of eight bits from the last one to the first. Every order is a stable one.

use std::sync::Arc;

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::DTYPE_UINT;
use amdgpu_array::{Array, Dims};
use amdgpu_aura::Kernel;
use amdgpu_hal::MemoryKind;

use crate::div_ceil::DivCeil;
use crate::generated::radix::{
    COUNTED_CHUNK, DIGIT_BITS, DIGITS, KeySource, LineResult, chunk, count_source, line_source,
    word_dtype,
};
use crate::generated::radix_pass::{self, Pass, line_words, place_source};
use crate::generated::source;
use crate::launch::{Shape, launch};
use crate::lines::Lines;
use crate::{Arg, DeviceOps, KernelKey, Result};

pub const UINT32: Dtype = Dtype::new(DTYPE_UINT, 32);
/// Blocks that count digits at most: each adds its counts to those of all.
pub const COUNTING_BLOCKS: i64 = 512;

/// A sort of the lines of an array.
pub struct Radix<'a> {
    pub ops: &'a DeviceOps,
    /// What keys are made of: an array, the text that makes them, and what tells it from others.
    pub memory: &'a Array,
    pub source: KeySource,
    pub key: KernelKey,
    pub lines: Lines,
    /// Keys differ in so many bits, the last ones.
    pub bits: i64,
    /// The type of places within a line, where they are wanted.
    pub place: Option<Dtype>,
    /// A word of 64 bits on the device, unless which is set nothing is sorted.
    pub wanted: Option<&'a Array>,
}

/// Sorted keys, line by line, and where they come from.
pub struct Sorted {
    pub keys: Array,
    pub places: Option<Array>,
}

/// What a sort writes in place of keys and places.
pub struct Written<'a> {
    pub out: &'a Array,
    pub result: &'a LineResult,
    /// Tells the text of the result from others.
    pub key: KernelKey,
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
        self.lines.length <= chunk(self.source.is_wide())
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

    /// Sorts lines that fit a block, and writes their results.
    ///
    /// # Errors
    ///
    /// What the device reports.
    pub fn write_lines(&self, written: &Written<'_>) -> Result<()> {
        let mut own = 1;
        while own * source::BLOCK < self.lines.length {
            own *= 2;
        }
        let has_places = self.place.is_some();
        let key = written.key.clone().text("line");
        let key = key.with(own as u64).flag(has_places);
        let kernel = self.ops.kernel(key, "radix_line", || {
            line_source(&self.source, own, has_places, written.result)
        })?;
        let mut args = [self.memory, written.out].map(Arg::Array).to_vec();
        args.extend([self.lines.length, self.lines.stride, self.bits].map(Arg::from));
        launch(&kernel, Shape::line(self.lines.count, source::BLOCK), &args)
    }

    /// Sorts lines of any length, and writes their results.
    ///
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn write(&self, written: &Written<'_>) -> Result<()> {
        if self.fits_block() {
            return self.write_lines(written);
        }
        let passes = Passes::counted(self)?;
        let mut from = None;
        let mut spare = None;
        for pass in 0..passes.count - 1 {
            let to = self.free(&mut spare)?;
            passes.run(pass, from.as_ref(), &Target::Sorted(&to))?;
            spare = from.replace(to);
        }
        passes.run(passes.count - 1, from.as_ref(), &Target::Written(written))
    }

    /// Sorts lines of any length.
    ///
    /// # Errors
    ///
    /// `out-of-memory`; what the device reports.
    pub fn sort(&self) -> Result<Sorted> {
        let passes = Passes::counted(self)?;
        let mut from: Option<Sorted> = None;
        let mut spare = None;
        for pass in 0..passes.count {
            let to = self.free(&mut spare)?;
            passes.run(pass, from.as_ref(), &Target::Sorted(&to))?;
            spare = from.replace(to);
        }
        match from {
            Some(sorted) => Ok(sorted),
            None => Err(crate::Error::no_kernel("a sort by no bits")),
        }
    }

    /// Memory for the keys and places of a pass: what is there, or new.
    fn free(&self, spare: &mut Option<Sorted>) -> Result<Sorted> {
        if let Some(sorted) = spare.take() {
            return Ok(sorted);
        }
        let all = [self.lines.count * self.lines.length];
        Ok(Sorted {
            keys: self.array(&all, self.source.key)?,
            places: match self.place {
                Some(dtype) => Some(self.array(&all, dtype)?),
                None => None,
            },
        })
    }
}

/// What a pass writes.
enum Target<'a> {
    Sorted(&'a Sorted),
    Written(&'a Written<'a>),
}

/// The passes of a sort, whose digits have been counted.
struct Passes<'a> {
    of: &'a Radix<'a>,
    count: i64,
    chunks: i64,
    word: Dtype,
    /// Counts of digits, a ticket of each pass, and the words of chunks twice.
    memory: Array,
    /// Where tickets begin, and both kinds of words, in elements of the memory.
    tickets_at: i64,
    words_at: [i64; 2],
}

impl<'a> Passes<'a> {
    fn counted(of: &'a Radix<'a>) -> Result<Self> {
        let Lines { count, length, .. } = of.lines;
        let passes = of.bits.div_ceil_positive(DIGIT_BITS);
        let chunks = length.div_ceil_positive(radix_pass::chunk(of.source.is_wide(), of.place));
        let word = word_dtype(length);
        let tickets_at = count * passes * DIGITS;
        let words = count * line_words(chunks) * i64::from(word.bits) / 64;
        let words_at = [tickets_at + passes, tickets_at + passes + words];
        let memory = crate::words::words(of.ops, words_at[1] + words, words_at[1])?;
        let is_optional = of.wanted.is_some();
        let key = of.key.clone().text("count").with(passes as u64);
        let kernel = of.ops.kernel(key.flag(is_optional), "radix_count", || {
            count_source(&of.source, passes, is_optional)
        })?;
        let parts = length
            .div_ceil_positive(COUNTED_CHUNK)
            .min((COUNTING_BLOCKS / count).max(1));
        let mut args = [of.memory, &memory].map(Arg::Array).to_vec();
        args.extend([length, of.lines.stride, parts].map(Arg::from));
        args.extend(of.wanted.map(Arg::Array));
        launch(&kernel, Shape::line(count * parts, source::BLOCK), &args)?;
        Ok(Self {
            of,
            count: passes,
            chunks,
            word,
            memory,
            tickets_at,
            words_at,
        })
    }

    /// Puts keys in order by one digit; without `from` those of the memory.
    fn run(&self, pass: i64, from: Option<&Sorted>, target: &Target<'_>) -> Result<()> {
        let kernel = self.kernel(from.is_none(), target)?;
        let memory = from.map_or(self.of.memory, |from| &from.keys);
        let mut args = vec![Arg::Array(memory)];
        args.push(Arg::Array(match target {
            Target::Sorted(to) => &to.keys,
            Target::Written(written) => written.out,
        }));
        let places = from.and_then(|from| from.places.as_ref());
        args.extend(places.map(Arg::Array));
        if let Target::Sorted(to) = target {
            args.extend(to.places.as_ref().map(Arg::Array));
        }
        args.push(Arg::Array(&self.memory));
        let [own, next] = [pass % 2, (pass + 1) % 2].map(|turn| self.words_at[turn as usize]);
        let Lines {
            count,
            length,
            stride,
        } = self.of.lines;
        let entries = self.count * DIGITS;
        let sizes = [length, stride, self.chunks, pass, entries];
        args.extend(sizes.map(Arg::from));
        args.extend([self.tickets_at, own, next].map(Arg::from));
        args.extend(self.of.wanted.map(Arg::Array));
        launch(
            &kernel,
            Shape::line(count * self.chunks, source::BLOCK),
            &args,
        )
    }

    fn kernel(&self, is_first: bool, target: &Target<'_>) -> Result<Arc<Kernel>> {
        let Radix { ops, source, .. } = self.of;
        let (key, keys, result) = match (is_first, target) {
            (true, Target::Sorted(_)) => (self.of.key.clone(), source.clone(), None),
            (true, Target::Written(to)) => (to.key.clone(), source.clone(), Some(to.result)),
            (false, Target::Written(to)) => (to.key.clone(), source.made(), Some(to.result)),
            (false, Target::Sorted(_)) => (
                KernelKey::new("radix").text(&source.compared),
                KeySource::keys(source.key, source.compared.clone()),
                None,
            ),
        };
        let key = key.text("place").dtype(source.key);
        let is_optional = self.of.wanted.is_some();
        let mut key = key.flag(is_first).flag(is_optional).dtype(self.word);
        if let Some(dtype) = self.of.place {
            key = key.dtype(dtype);
        }
        ops.kernel(key, "radix_place", || {
            place_source(&Pass {
                keys: &keys,
                place: self.of.place,
                is_first,
                result,
                word: self.word,
                is_optional,
            })
        })
    }
}
