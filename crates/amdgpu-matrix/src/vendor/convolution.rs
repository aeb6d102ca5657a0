//! Convolutions that a vendor's library is asked for, and what is remembered of them.

use std::collections::HashMap;

use super::engine::{Answer, Engine, Workspace};
use super::product::Number;
use crate::{ConvolvePass, Error, Fitted, SPATIAL, Sliding};

/// Workspace that algorithms may ask for: as much as a call may take for itself beside its arrays. cuDNN's engines for images with their channels
/// second copy them to the other order: 64 images of 256 channels and 56 x 56 pixels in float32 take 205 MB.
pub(super) const MAX_WORKSPACE_BYTES: u64 = 1 << 30;
/// Shapes whose algorithm is remembered; asking for one takes longer than a launch.
const MAX_PLANS: usize = 1024;
/// The libraries' kernels read vectors of so many bytes.
pub(super) const ALIGNMENT_BYTES: u64 = 16;

/// What a convolution is, but for where its arrays lie. Extents are in the order batch, channels, depth, rows, columns; arrays have no gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvolutionShape {
    pub pass: ConvolvePass,
    pub number: Number,
    /// Axes that windows slide along, at least two: images of one row stand for those of one axis.
    pub spatial: usize,
    pub image: [i64; 5],
    /// Outputs, channels of a group, window.
    pub weight: [i64; 5],
    pub result: [i64; 5],
    pub sliding: Sliding,
    pub groups: i64,
    /// Whether images, results and weights are stored with their channels last.
    pub is_channels_last: bool,
    /// Whether each channel of the result gets a number; in the forward pass only.
    pub has_bias: bool,
}

/// A convolution of arrays in device memory.
#[derive(Clone, Copy, Debug)]
pub struct VendorConvolution {
    pub shape: ConvolutionShape,
    pub image: u64,
    pub weight: u64,
    pub result: u64,
    /// 0 without.
    pub bias: u64,
}

/// A tensor as libraries take it: extents and strides of batch, channels and the axes that windows slide along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredTensor {
    /// 4, or 5 where windows slide along depth, too.
    pub rank: usize,
    pub extents: [i32; 5],
    /// In elements.
    pub strides: [i32; 5],
}

impl ConvolutionShape {
    /// The shape of a convolution whose tensors fit; `None` where it pads more behind images than before them, which no library does.
    #[must_use]
    pub fn of(
        fitted: &Fitted,
        number: Number,
        (groups, is_channels_last, has_bias): (i64, bool, bool),
    ) -> Option<Self> {
        let has_depth = [fitted.image[2], fitted.result[2], fitted.weight[2]] != [1; 3];
        let shape = Self {
            pass: fitted.pass,
            number,
            spatial: if has_depth { 3 } else { 2 },
            image: fitted.image,
            weight: fitted.weight,
            result: fitted.result,
            sliding: fitted.sliding,
            groups,
            is_channels_last,
            has_bias,
        };
        shape.is_symmetric().then_some(shape)
    }

    /// Whether the result has the extents that as much padding on both sides gives.
    fn is_symmetric(&self) -> bool {
        let Sliding {
            stride,
            padding,
            dilation,
        } = &self.sliding;
        (0..SPATIAL).all(|axis| {
            let reach = dilation[axis] * (self.weight[axis + 2] - 1) + 1;
            let left = self.image[axis + 2] + 2 * padding[axis] - reach;
            left >= 0 && left / stride[axis] + 1 == self.result[axis + 2]
        })
    }

    /// Multiplications.
    #[must_use]
    pub fn work(&self) -> u128 {
        let product = |extents: &[i64]| extents.iter().map(|one| *one as u128).product::<u128>();
        product(&self.result) * product(&self.weight[1..])
    }

    fn tensor(&self, extents: &[i64; 5]) -> StoredTensor {
        let rank = self.spatial + 2;
        let mut made = StoredTensor {
            rank,
            extents: [1; 5],
            strides: [1; 5],
        };
        made.extents[..2].copy_from_slice(&[extents[0] as i32, extents[1] as i32]);
        for axis in 2..rank {
            made.extents[axis] = extents[axis + 5 - rank] as i32;
        }
        // From the axis whose neighbours are adjacent to the batch.
        let order: &[usize] = match (self.is_channels_last, rank) {
            (false, 4) => &[3, 2, 1, 0],
            (false, _) => &[4, 3, 2, 1, 0],
            (true, 4) => &[1, 3, 2, 0],
            (true, _) => &[1, 4, 3, 2, 0],
        };
        let mut stride = 1;
        for axis in order {
            made.strides[*axis] = stride;
            stride *= made.extents[*axis];
        }
        made
    }

    /// The images as they are stored.
    #[must_use]
    pub fn image_tensor(&self) -> StoredTensor {
        self.tensor(&self.image)
    }

    /// The weights as they are stored.
    #[must_use]
    pub fn weight_tensor(&self) -> StoredTensor {
        self.tensor(&self.weight)
    }

    /// The results as they are stored.
    #[must_use]
    pub fn result_tensor(&self) -> StoredTensor {
        self.tensor(&self.result)
    }

    /// One number for each channel of the result.
    pub(super) fn bias_tensor(&self) -> StoredTensor {
        self.tensor(&[1, self.result[1], 1, 1, 1])
    }

    /// Stride, padding and dilation along the axes that windows slide along.
    pub(super) fn steps(&self) -> [[i32; SPATIAL]; 3] {
        let Sliding {
            stride,
            padding,
            dilation,
        } = &self.sliding;
        [stride, padding, dilation].map(|all| {
            let mut made = [1; SPATIAL];
            for (step, value) in made.iter_mut().zip(&all[SPATIAL - self.spatial..]) {
                *step = *value as i32;
            }
            made
        })
    }
}

/// A library that is asked for an algorithm for each shape.
pub(super) trait Planner: Send {
    /// Descriptors and algorithm of a shape.
    type Plan: Send;

    /// A plan for a shape; `None` when the library does not compute it.
    fn plan(&self, shape: &ConvolutionShape) -> Result<Option<Self::Plan>, Error>;

    fn workspace_bytes(plan: &Self::Plan) -> u64;

    /// # Safety
    /// As for [`Engine::submit`]; the plan is that of the shape.
    unsafe fn run(
        &self,
        plan: &Self::Plan,
        work: &VendorConvolution,
        workspace: Workspace,
        stream: u64,
    ) -> Result<bool, Error>;

    /// Gives the descriptors of a plan back.
    fn forget(&self, plan: &Self::Plan);

    /// Gives the handle back.
    fn close(&self);
}

/// A handle with the plans of shapes that were convolved before.
pub(super) struct Planned<P: Planner> {
    planner: P,
    /// `None` for what the library does not compute.
    plans: HashMap<ConvolutionShape, Option<P::Plan>>,
}

impl<P: Planner> Planned<P> {
    pub fn of(planner: P) -> Self {
        Self {
            planner,
            plans: HashMap::new(),
        }
    }

    fn forget_plans(&mut self) {
        for plan in std::mem::take(&mut self.plans).into_values().flatten() {
            self.planner.forget(&plan);
        }
    }
}

impl<P: Planner> Engine<VendorConvolution> for Planned<P> {
    fn known(&self, work: &VendorConvolution) -> Option<Answer> {
        let plan = self.plans.get(&work.shape)?;
        Some(plan.as_ref().map_or(Answer::Refuses, |plan| {
            let workspace_bytes = P::workspace_bytes(plan);
            Answer::Computes { workspace_bytes }
        }))
    }

    fn prepare(&mut self, work: &VendorConvolution) -> Result<Answer, Error> {
        if !self.plans.contains_key(&work.shape) {
            if self.plans.len() >= MAX_PLANS {
                self.forget_plans();
            }
            let plan = self.planner.plan(&work.shape)?;
            self.plans.insert(work.shape, plan);
        }
        Ok(self.known(work).unwrap_or(Answer::Refuses))
    }

    unsafe fn submit(
        &mut self,
        work: &VendorConvolution,
        workspace: Workspace,
        stream: u64,
    ) -> Result<bool, Error> {
        // Another thread may have let the plans go since `prepare`.
        self.prepare(work)?;
        let Some(Some(plan)) = self.plans.get(&work.shape) else {
            return Ok(false);
        };
        if P::workspace_bytes(plan) > workspace.bytes {
            return Ok(false);
        }
        // SAFETY: the caller's contract; the plan is that of the shape.
        unsafe { self.planner.run(plan, work, workspace, stream) }
    }

    fn close(&mut self) {
        self.forget_plans();
        self.planner.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vendor::Work;

    fn shape(is_channels_last: bool, spatial: usize) -> ConvolutionShape {
        let depth = if spatial == 3 { 4 } else { 1 };
        ConvolutionShape {
            pass: ConvolvePass::Forward,
            number: Number::F32,
            spatial,
            image: [2, 6, depth, 9, 10],
            weight: [8, 3, 1, 3, 2],
            result: [2, 8, depth, 9, 5],
            sliding: Sliding {
                stride: [1, 1, 2],
                padding: [0, 1, 0],
                dilation: [1; 3],
            },
            groups: 2,
            is_channels_last,
            has_bias: false,
        }
    }

    fn work(shape: ConvolutionShape) -> VendorConvolution {
        VendorConvolution {
            shape,
            image: 0x1000,
            weight: 0x2000,
            result: 0x3000,
            bias: 0,
        }
    }

    #[test]
    fn tensors_have_the_strides_of_their_layout() {
        let image = shape(false, 2).image_tensor();
        assert_eq!((image.rank, image.extents), (4, [2, 6, 9, 10, 1]));
        assert_eq!(image.strides[..4], [540, 90, 10, 1]);
        let last = shape(true, 2);
        assert_eq!(last.image_tensor().strides[..4], [540, 1, 60, 6]);
        assert_eq!(last.weight_tensor().strides[..4], [18, 1, 6, 3]);
        let volume = shape(false, 3).image_tensor();
        assert_eq!((volume.rank, volume.extents), (5, [2, 6, 4, 9, 10]));
        assert_eq!(shape(true, 3).image_tensor().strides, [2160, 1, 540, 60, 6]);
        assert_eq!(shape(true, 2).steps()[0][..2], [1, 2]);
        assert_eq!(shape(true, 3).steps()[1], [0, 1, 0]);
    }

    #[test]
    fn results_of_other_padding_behind_than_before_are_for_no_library() {
        let fits = shape(false, 2);
        assert!(fits.is_symmetric());
        let mut longer = fits;
        longer.result[4] = 6;
        assert!(!longer.is_symmetric());
    }

    #[test]
    fn only_what_the_libraries_can_say_is_asked_of_them() {
        let plain = work(shape(false, 2));
        assert!(plain.is_representable());
        assert_eq!(plain.floating_point_operations(), 2 * 2 * 8 * 45 * 18);
        let mut large = plain;
        large.shape.image = [1 << 20, 6, 1, 90, 100];
        let mut empty = plain;
        empty.shape.image[0] = 0;
        let unaligned = VendorConvolution {
            weight: 0x2008,
            ..plain
        };
        let mut biased = plain;
        (biased.shape.has_bias, biased.shape.pass) = (true, ConvolvePass::ImageGradient);
        for refused in [large, empty, unaligned, biased] {
            assert!(!refused.is_representable(), "{refused:?}");
        }
    }
}
