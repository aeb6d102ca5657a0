//! Attention and its gradients by the kernels of `zig/src/kernels/attention*.zig`, which keep no scores in memory.

use amdgpu_abi::Dtype;
use amdgpu_array::Array;
use amdgpu_hal::MemoryKind;
use smallvec::SmallVec;

use super::Archived;
use super::archive::ArchivedKernel;
use super::load::Steps;
use super::problem::{Number, VECTOR_BYTES};
use super::split_k::int;
use super::tensor_map::{AttentionKey, Rows};
use crate::launch::Shape;
use crate::transpose::dense;
use crate::{Arg, DeviceOps, Error, Operand, Result};

/// Queries, or keys of the gradients by them, that a block computes.
const BLOCK_ROWS: u64 = 128;
/// Kernels are for queries of so many elements, filled up with zeros.
const SIZE_STEP: u64 = 64;
/// `cuTensorMapEncodeTiled`: strides are below 2^40 bytes.
const STRIDE_BYTES_LIMIT: u64 = 1 << 40;

/// What archived kernels compute attention of.
pub struct Flash<'a> {
    pub ops: &'a DeviceOps,
    /// Queries, keys, values, and gradients of the result; of attention alone any array like the queries. The axes are batches (if there are four),
    /// heads, rows and elements.
    pub inputs: [&'a Operand; 4],
    pub batches: u64,
    /// Of a batch.
    pub heads: u64,
    pub queries: u64,
    pub key_heads: u64,
    pub keys: u64,
    /// Elements of a query and of a value.
    pub size: u64,
    pub scale: f64,
    pub is_causal: bool,
    /// Truth values or addends, broadcast to the scores.
    pub mask: Option<&'a Operand>,
}

impl Flash<'_> {
    /// Writes the result, if there are kernels for it.
    ///
    /// # Errors
    ///
    /// `library-missing` for a damaged archive; what the device reports.
    pub fn attention(&self, out: &Array) -> Result<bool> {
        if let Some(mask) = self.mask {
            return self.with_mask(mask, out);
        }
        let Some([kernel]) = self.kernels(["attention"], &[out])? else {
            return Ok(false);
        };
        let maps = self.maps()?;
        // Neither logarithms nor levels are written, and no gradient is read.
        let own = [out, out, out, out, out];
        self.launch(kernel, own, &maps, self.blocks_of_queries())?;
        Ok(true)
    }

    /// Writes the gradients by queries, keys and values, if there are kernels for them.
    ///
    /// # Errors
    ///
    /// As [`attention`](Self::attention).
    pub fn gradients(&self, [by_q, by_k, by_v]: [&Array; 3]) -> Result<bool> {
        let kinds = [
            "attention_levels",
            "attention_by_queries",
            "attention_by_keys",
        ];
        if self.mask.is_some() {
            return Ok(false);
        }
        let Some(kernels) = self.kernels(kinds, &[by_q, by_k, by_v])? else {
            return Ok(false);
        };
        let [levels_of, by_queries, by_keys] = kernels;
        let gradient = dense(self.ops, self.inputs[3])?;
        let (maps, lines) = (self.maps()?, [self.statistics()?, self.statistics()?]);
        let own = |first, second| [first, second, &gradient, &lines[0], &lines[1]];
        let blocks = self.blocks_of_queries();
        self.launch(levels_of, own(by_q, by_q), &maps, blocks)?;
        self.launch(by_queries, own(by_q, by_q), &maps, blocks)?;
        let blocks = self.batches * self.key_heads * self.keys.div_ceil(BLOCK_ROWS);
        self.launch(by_keys, own(by_k, by_v), &maps, blocks)?;
        Ok(true)
    }

    fn with_mask(&self, mask: &Operand, out: &Array) -> Result<bool> {
        let Some((format, strides)) = mask_format(mask) else {
            return Ok(false);
        };
        let Some([kernel]) = self.kernels(["attention_masked"], &[out])? else {
            return Ok(false);
        };
        let maps = self.maps()?;
        let mut args: SmallVec<[Arg<'_>; 20]> = SmallVec::new();
        args.push(Arg::Array(out));
        args.extend(self.extents().map(int));
        args.push(int(u64::from(self.is_causal)));
        args.push(Arg::Float(self.scale));
        args.push(Arg::Array(&maps.maps));
        let data = mask
            .array
            .as_ref()
            .ok_or_else(|| Error::no_kernel("a mask that is a number"))?;
        args.push(Arg::Address(data));
        args.push(int(format));
        args.extend(strides.map(int));
        let blocks = self.blocks_of_queries() as i64;
        let shape = Shape::line(blocks, i64::from(kernel.threads));
        let read = self.read(&maps);
        Steps::of(self.ops)?.launch_beside(kernel, shape, &args, &read)?;
        Ok(true)
    }

    /// Of queries and keys, queries' heads for each of keys, elements, and heads of a batch.
    fn extents(&self) -> [u64; 5] {
        let group = self.heads / self.key_heads;
        [self.queries, self.keys, group, self.size, self.heads]
    }

    fn blocks_of_queries(&self) -> u64 {
        self.batches * self.heads * self.queries.div_ceil(BLOCK_ROWS)
    }

    /// The kernels of some kinds; `None` where one of them is missing, or does not take the arrays.
    fn kernels<const N: usize>(
        &self,
        kinds: [&str; N],
        outs: &[&Array],
    ) -> Result<Option<[&ArchivedKernel; N]>> {
        let Some(archive) = Archived::of(self.ops).archive()? else {
            return Ok(None);
        };
        if !self.fits(outs) {
            return Ok(None);
        }
        let size = self.size.next_multiple_of(SIZE_STEP);
        let number = Number::of_dtype(self.inputs[0].dtype);
        let found = kinds.map(|kind| {
            archive.first(kind, |kernel| {
                kernel.number == number && kernel.size == size
            })
        });
        let all: SmallVec<[&ArchivedKernel; N]> = found.into_iter().flatten().collect();
        Ok(<[&ArchivedKernel; N]>::try_from(all.as_slice()).ok())
    }

    /// Results go out by 16 bytes. The largest of scores times a factor is the largest of the products where that is positive.
    fn fits(&self, outs: &[&Array]) -> bool {
        let extents = [self.heads, self.queries, self.key_heads, self.keys];
        // Rows of all heads are counted in 32 bits, of which one is for signs.
        let heads = self.batches.saturating_mul(self.heads);
        let most = heads.saturating_mul(self.queries.max(self.keys) + BLOCK_ROWS);
        let row_bytes = self.size * self.inputs[0].item_bytes() as u64;
        let is_aligned = |x: &&Array| x.address().address().is_multiple_of(VECTOR_BYTES);
        extents.iter().all(|extent| *extent > 0)
            && i32::try_from(most).is_ok()
            && row_bytes.is_multiple_of(VECTOR_BYTES)
            && outs.iter().all(is_aligned)
            && self.scale.is_finite()
            && self.scale > 0.0
    }

    /// Memory for logarithms or levels.
    fn statistics(&self) -> Result<Array> {
        let rows = self.batches * self.heads * following(self.queries);
        let shape = [rows as i64];
        let device = self.ops.device();
        let kind = MemoryKind::Device;
        Ok(Array::empty(device, shape.as_slice(), Dtype::F32, kind)?)
    }

    /// Descriptors of the inputs, with copies of those that TMA cannot walk, which have to live until the launches.
    fn maps(&self) -> Result<Maps> {
        let mut copies = SmallVec::new();
        let mut inputs: SmallVec<[Rows; 4]> = SmallVec::new();
        for (place, operand) in self.inputs.iter().enumerate() {
            let known = self.inputs[..place]
                .iter()
                .position(|one| std::ptr::eq(*one, *operand));
            inputs.push(match (known, rows_of(operand)) {
                (Some(known), _) => inputs[known],
                (None, Some(rows)) => rows,
                (None, None) => {
                    let copy = dense(self.ops, operand)?;
                    let rows = rows_of(&Operand::of_array(copy.clone()));
                    copies.push(copy);
                    rows.ok_or_else(|| Error::no_kernel("rows that are not multiples of 16 bytes"))?
                }
            });
        }
        let key = AttentionKey {
            number: Number::of_dtype(self.inputs[0].dtype).unwrap_or(Number::F16),
            inputs: [inputs[0], inputs[1], inputs[2], inputs[3]],
        };
        let maps = Archived::of(self.ops).maps.of_attention(self.ops, &key)?;
        Ok(Maps { maps, copies })
    }

    fn launch(
        &self,
        kernel: &ArchivedKernel,
        own: [&Array; 5],
        maps: &Maps,
        blocks: u64,
    ) -> Result<()> {
        let mut args: SmallVec<[Arg<'_>; 20]> = own.into_iter().map(Arg::Array).collect();
        args.extend(self.extents().map(int));
        args.push(int(following(self.queries)));
        args.push(int(u64::from(self.is_causal)));
        args.push(Arg::Float(self.scale));
        args.push(Arg::Array(&maps.maps));
        let shape = Shape::line(blocks as i64, i64::from(kernel.threads));
        let read = self.read(maps);
        Steps::of(self.ops)?.launch_beside(kernel, shape, &args, &read)
    }

    /// The arrays that descriptors lead to.
    fn read<'b>(&'b self, maps: &'b Maps) -> SmallVec<[&'b Array; 8]> {
        let inputs = self.inputs.iter().filter_map(|one| one.array.as_ref());
        inputs.chain(&maps.copies).collect()
    }
}

/// What a launch reads its inputs by.
struct Maps {
    maps: Array,
    copies: SmallVec<[Array; 4]>,
}

/// The rows of an array as TMA walks them. `None` for others.
fn rows_of(operand: &Operand) -> Option<Rows> {
    let address = operand.address();
    let bytes = operand.item_bytes() as u64;
    let (shape, strides) = walk(&operand.shape, &operand.strides, bytes)?;
    address.is_multiple_of(VECTOR_BYTES).then_some(Rows {
        address,
        shape,
        strides,
    })
}

/// Extents from the last axis on, and strides from the last axis but one on, of elements that lie side by side in rows at multiples of 16 bytes.
fn walk(shape: &[i64], strides: &[i64], bytes: u64) -> Option<([u64; 4], [u64; 3])> {
    let (mut extents, mut steps) = ([1; 4], [0; 4]);
    for (place, (extent, stride)) in shape.iter().zip(strides).rev().enumerate() {
        *extents.get_mut(place)? = u64::try_from(*extent).ok()?;
        steps[place] = u64::try_from(*stride).ok()?;
    }
    for (extent, step) in extents.iter().zip(&mut steps).skip(1) {
        if *extent == 1 {
            // Never walked, but the driver looks at it.
            *step = VECTOR_BYTES / bytes;
        }
        let step_bytes = *step * bytes;
        let is_whole = step_bytes > 0 && step_bytes.is_multiple_of(VECTOR_BYTES);
        if !is_whole || step_bytes >= STRIDE_BYTES_LIMIT {
            return None;
        }
    }
    let [first, rest @ ..] = steps;
    (first == 1 || extents[0] == 1).then_some((extents, rest))
}

/// The number of a mask's format, as `attention.zig` has it, and its strides by batch, head, query and key.
fn mask_format(mask: &Operand) -> Option<(u64, [u64; 4])> {
    let format = u64::from(mask.dtype == Dtype::BOOL);
    let mut strides = [0; 4];
    for (axis, stride) in (4_usize.checked_sub(mask.rank())?..).zip(&mask.strides) {
        strides[axis] = u64::try_from(*stride).ok()?;
    }
    let fits = strides[2..].iter().all(|one| u32::try_from(*one).is_ok());
    fits.then_some((format, strides))
}

/// Logarithms and levels from one head to the next: the kernels write and copy them by whole blocks.
fn following(queries: u64) -> u64 {
    queries.next_multiple_of(BLOCK_ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_where_they_lie_if_their_steps_are_multiples_of_16_bytes() {
        // (batches, tokens, heads, elements) with heads in front of tokens.
        let strides = [100 * 3 * 64, 64, 3 * 64, 1];
        assert_eq!(
            walk(&[2, 3, 100, 64], &strides, 2),
            Some(([64, 100, 3, 2], [192, 64, 19_200]))
        );
        // Axes of one element have any step, and missing ones are such.
        assert_eq!(
            walk(&[1, 5, 40], &[7, 40, 1], 2),
            Some(([40, 5, 1, 1], [40, 8, 8]))
        );
    }

    #[test]
    fn rows_with_gaps_odd_steps_or_one_row_many_times_are_copied() {
        assert_eq!(walk(&[3, 100, 64], &[12_800, 128, 2], 2), None);
        assert_eq!(walk(&[3, 100, 36], &[3600, 36, 1], 2), None);
        assert_eq!(walk(&[3, 100, 64], &[0, 64, 1], 2), None);
        assert_eq!(walk(&[3, 100, 64], &[-6400, 64, 1], 2), None);
        assert_eq!(walk(&[2, 2, 3, 10, 64], &[3840, 1920, 640, 64, 1], 2), None);
    }
}
