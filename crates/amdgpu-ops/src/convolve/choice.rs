//! Which way a convolution is computed on a GPU: by an archived kernel, as products and forward convolutions, by generated kernels, or by the
//! vendor's library.
//!
//! The order is that of products: what `AMDGPU_MATMUL` demands; what was measured; without a measurement the library for large convolutions of
//! the kinds in which ours are behind, else ours. The choice is a pure function of what the device has and of what the tuning database knows
//! of the convolution.

use amdgpu_abi::Dtype;
use amdgpu_array::recording;
use amdgpu_hal::DeviceKind;
use amdgpu_matrix::vendor::{ConvolutionShape, Number, VendorConvolution, VendorLibrary, Work};
use amdgpu_matrix::{ConvolvePass, Fitted, ImageLayout, SPATIAL};
use smallvec::SmallVec;

use super::{Convolution, Lowering};
use crate::archived::Archived;
use crate::archived::choice::{Demand, LIBRARY_CALL_SECONDS, VENDOR_MARGIN};
use crate::choices::Choices;
use crate::tuning::{self, Record};
use crate::vendor::ConvolutionLibraries;
use crate::{DeviceOps, Result};

/// From so many multiplications on several forward convolutions take longer than a call of a library keeps the host.
const LIBRARY_FROM: u128 = 1 << 30;
/// The same where ours is a generated kernel, which multiplies without matrix units.
const LIBRARY_FROM_GENERATED: u128 = 1 << 27;
/// Patches of so many bytes take longer to write and to read again.
const LONG_PATCH_BYTES: u128 = 192 << 20;
/// Pixels of planes of 7 x 7, the last ones of ResNet-50.
const SMALL_PLANE_PIXELS: i64 = 49;

/// How a convolution is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By an archived kernel, or where none fits by generated ones.
    Archived,
    /// As forward convolutions and products of matrices, by the kernels that there are for these.
    Lowered,
    Generated,
    Vendor(VendorLibrary),
}

impl Way {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let ours = [Self::Archived, Self::Lowered, Self::Generated];
        let ours = ours.into_iter().find(|way| way.name() == name);
        ours.or_else(|| VendorLibrary::from_name(name).map(Self::Vendor))
    }

    /// What the database calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Lowered => "lowered",
            Self::Generated => "generated",
            Self::Vendor(library) => library.name(),
        }
    }
}

/// What of ours may compute a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Whether it is a forward pass of a convolution that is not transposed, which archived kernels compute.
    pub is_forward: bool,
    /// Whether it has a [`Lowering`](super::Lowering).
    pub is_lowered: bool,
    pub has_bias: bool,
}

/// What a choice depends on beside the convolution.
pub struct Situation<'a> {
    /// The ways of ours, best first.
    pub ours: &'a [Way],
    /// Libraries that are there, right or not.
    pub libraries: &'a [VendorLibrary],
    /// Whether a library was found right for the kind of convolution and computes this one; asked before it is chosen.
    pub is_usable: &'a dyn Fn(VendorLibrary) -> bool,
    /// Whether libraries are faster by far as far as is known, so that they are taken without a measurement.
    pub is_for_library: bool,
}

impl Situation<'_> {
    fn own(&self) -> Way {
        self.ours.first().copied().unwrap_or(Way::Generated)
    }

    /// Every way to compute the convolution; libraries that are there, right or not.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        let mut found: Vec<Way> = self.ours.iter().rev().copied().collect();
        found.extend(self.libraries.iter().copied().map(Way::Vendor));
        found
    }

    /// The best library that may compute the convolution.
    #[must_use]
    pub fn first_usable(&self) -> Option<VendorLibrary> {
        let mut all = self.libraries.iter().copied();
        all.find(|library| (self.is_usable)(*library))
    }

    /// The way of a convolution; `record` is what was measured of it.
    #[must_use]
    pub fn decide(&self, demand: Demand, record: Option<&Record>) -> Way {
        if demand == Demand::Vendor {
            return self.first_usable().map_or(self.own(), Way::Vendor);
        }
        if let Some(way) = record.and_then(|record| self.fastest(record, demand)) {
            return way;
        }
        let library = (demand == Demand::Auto && self.is_for_library)
            .then(|| self.first_usable())
            .flatten();
        library.map_or(self.own(), Way::Vendor)
    }

    /// The fastest of the measured ways that can be gone here; a library has to be faster than ours by a margin.
    fn fastest(&self, record: &Record, demand: Demand) -> Option<Way> {
        let all = self.ways();
        let known: Vec<(f64, Way)> = record
            .ranking()
            .into_iter()
            .filter_map(|(name, seconds)| {
                let way = all.iter().find(|way| way.name() == name)?;
                Some((seconds, *way))
            })
            .collect();
        let is_own = |way: &Way| !matches!(way, Way::Vendor(_));
        let own = known.iter().find(|(_, way)| is_own(way)).copied();
        for (seconds, way) in known {
            let Way::Vendor(library) = way else {
                return Some(way);
            };
            let of_library = seconds.max(LIBRARY_CALL_SECONDS);
            let is_faster =
                own.is_none_or(|(own_seconds, _)| own_seconds >= VENDOR_MARGIN * of_library);
            if demand == Demand::Auto && is_faster && (self.is_usable)(library) {
                return Some(way);
            }
        }
        own.map(|(_, way)| way)
    }
}

/// What is kept of convolutions for a device: its libraries, and what was chosen.
#[derive(Default)]
pub struct Ways {
    pub libraries: ConvolutionLibraries,
    /// By shape, what of ours may compute it, and whether kernels of ours alone may.
    choices: Choices<(ConvolutionShape, Kind, bool), Way>,
}

/// The ways of ours to compute a kind of convolution on a device, best first. Without an archive products and forward convolutions are
/// generated kernels, too, and gain nothing.
///
/// # Errors
///
/// `library-missing` for a damaged archive.
pub fn ours(ops: &DeviceOps, kind: Kind) -> Result<SmallVec<[Way; 3]>> {
    let has_archive = Archived::of(ops).archive()?.is_some();
    let mut found = SmallVec::new();
    if has_archive && kind.is_lowered {
        found.push(Way::Lowered);
    }
    if has_archive && kind.is_forward {
        found.push(Way::Archived);
    }
    found.push(Way::Generated);
    Ok(found)
}

/// Whether a convolution is the library's without a measurement, where `own` is the way of ours: on an H200, 64 images of the layers of ResNet-50,
/// a call of cuDNN kept the host for 22 to 78 us (ours for 24 to 45), and ours was no worse by more than that but where a gradient by the images
/// takes several forward convolutions (0.27 to 0.97 ms beside 0.12 to 0.18), or patches are long (0.24 to 5 ms beside 0.15 to 0.55). In tf32 larger
/// windows than one pixel take ours 0.11 to 0.22 ms and cuDNN 0.06 to 0.17, and gradients by weights with channels last 0.15 to 0.63 beside 0.04 to
/// 0.18, but for planes of 7 x 7.
#[must_use]
pub fn is_for_library(shape: &ConvolutionShape, own: Way) -> bool {
    let is_plain = matches!(shape.number, Number::F32 | Number::F64);
    let is_tf32 = shape.number == Number::Tf32 && shape.work() >= LIBRARY_FROM;
    match (own, shape.pass) {
        (Way::Generated, _) => shape.work() >= LIBRARY_FROM_GENERATED,
        (Way::Archived, ConvolvePass::Forward) | (Way::Lowered, ConvolvePass::ImageGradient)
            if is_tf32 && shape.weight[2..] != [1; SPATIAL] =>
        {
            true
        }
        (Way::Lowered, ConvolvePass::WeightGradient)
            if is_tf32 && shape.is_channels_last && !has_small_planes(shape) =>
        {
            true
        }
        (Way::Lowered, ConvolvePass::ImageGradient) => {
            !is_plain && shape.sliding.stride != [1; SPATIAL] && shape.work() >= LIBRARY_FROM
        }
        (Way::Lowered, ConvolvePass::WeightGradient) => {
            !is_plain && patch_bytes(shape) >= LONG_PATCH_BYTES
        }
        _ => false,
    }
}

/// Whether planes of results have so few pixels that a gradient by the weight is as fast as a product of ours.
fn has_small_planes(shape: &ConvolutionShape) -> bool {
    shape.result[2..].iter().product::<i64>() <= SMALL_PLANE_PIXELS
}

/// Of the patches that a gradient by the weight is the product of; none are copied for windows of one pixel.
fn patch_bytes(shape: &ConvolutionShape) -> u128 {
    if shape.weight[2..] == [1; SPATIAL] {
        return 0;
    }
    let per_output = shape.work() / shape.result[1].max(1) as u128;
    per_output * shape.groups as u128 * u128::from(shape.number.bytes())
}

/// The way of a convolution, and its shape where libraries know such.
///
/// # Errors
///
/// `library-missing` for a damaged archive; `invalid-argument` where `AMDGPU_MATMUL` cannot be understood.
pub fn choose(
    ops: &DeviceOps,
    fitted: &Fitted,
    call: &Convolution<'_>,
    kind: Kind,
) -> Result<(Way, Option<ConvolutionShape>)> {
    let Some(shape) = shape_of(ops, fitted, call, kind.has_bias) else {
        return Ok((ours(ops, kind)?[0], None));
    };
    // No library goes into a graph.
    let is_ours = recording::is_recording();
    let ways = &Archived::of(ops).convolutions;
    let key = (shape, kind, is_ours);
    let way = ways.choices.get(&key, tuning::changes, || {
        let demand = if is_ours {
            Demand::Ours
        } else {
            tuning::settings::demand()?
        };
        decide(ops, &shape, kind, demand)
    })?;
    Ok((way, Some(shape)))
}

fn decide(ops: &DeviceOps, shape: &ConvolutionShape, kind: Kind, demand: Demand) -> Result<Way> {
    let archived = Archived::of(ops);
    let known = &archived.convolutions.libraries;
    let libraries = if demand == Demand::Ours {
        Vec::new()
    } else {
        known.all(ops)
    };
    let ours = ours(ops, kind)?;
    let situation = Situation {
        ours: &ours,
        libraries: &libraries,
        is_usable: &|library| known.is_usable(ops, library, shape),
        is_for_library: is_for_library(shape, ours[0]),
    };
    let database = tuning::database_of(&archived.facts().architecture);
    let record = database.find_record(&subject(shape));
    let way = situation.decide(demand, record.as_ref());
    if demand == Demand::Vendor && !matches!(way, Way::Vendor(_)) {
        known.tell_absence(ops, shape);
    }
    Ok(way)
}

/// The libraries of a device that convolve and are there, best first; opened now if they were not.
#[must_use]
pub fn libraries(ops: &DeviceOps) -> Vec<VendorLibrary> {
    Archived::of(ops).convolutions.libraries.all(ops)
}

/// Whether a library of a device computes a convolution, and was found right for its kind.
pub fn is_usable(ops: &DeviceOps, library: VendorLibrary, shape: &ConvolutionShape) -> bool {
    let libraries = &Archived::of(ops).convolutions.libraries;
    libraries.is_usable(ops, library, shape)
}

/// The ways to compute a convolution of images and weights of these shapes, and what the tuning database calls it; no ways where there is
/// nothing to choose from.
///
/// # Errors
///
/// As [`convolve`](super::convolve) for what does not fit; `library-missing` for a damaged archive.
pub fn ways(
    ops: &DeviceOps,
    call: &Convolution<'_>,
    (x, weight, dtype): (&[i64], &[i64], Dtype),
) -> Result<(String, Vec<Way>)> {
    let result = call.options.describe((x, dtype), (weight, dtype))?;
    let (inputs, shape) = match call.pass {
        ConvolvePass::Forward => ([x, weight], [].as_slice()),
        ConvolvePass::ImageGradient => ([result.shape.as_slice(), weight], x),
        ConvolvePass::WeightGradient => ([x, result.shape.as_slice()], weight),
    };
    let given = inputs.map(|shape| (shape, dtype));
    let fitted = call.options.fit(call.pass, &given, shape)?;
    let Some(shape) = shape_of(ops, &fitted, call, false) else {
        return Ok((String::new(), Vec::new()));
    };
    let kind = Kind {
        is_forward: call.pass == ConvolvePass::Forward && fitted.pass == ConvolvePass::Forward,
        is_lowered: Lowering::of(&fitted, &call.options, false).is_some(),
        has_bias: false,
    };
    let situation = Situation {
        ours: &ours(ops, kind)?,
        libraries: &libraries(ops),
        is_usable: &|_| true,
        is_for_library: false,
    };
    Ok((subject(&shape), situation.ways()))
}

/// What was chosen on a device so far, in no order.
#[must_use]
pub fn chosen(ops: &DeviceOps) -> Vec<Way> {
    Archived::of(ops).convolutions.choices.all()
}

/// The shape as libraries know it; `None` for what none of them can be asked for, and on devices that none of them drives.
pub fn shape_of(
    ops: &DeviceOps,
    fitted: &Fitted,
    call: &Convolution<'_>,
    has_bias: bool,
) -> Option<ConvolutionShape> {
    let (dtype, kind) = (fitted.described.dtype, ops.device().info().kind);
    let mut known = VendorConvolution::LIBRARIES.iter();
    if !known.any(|library| library.device_kind() == kind) {
        return None;
    }
    // Units of AMD have no tf32; with it float32 may lose digits, and need not.
    let is_tf32 = call.is_tf32 && kind == DeviceKind::Cuda;
    let number = if dtype == Dtype::F32 && is_tf32 {
        Number::Tf32
    } else {
        Number::of_dtype(dtype)?
    };
    let is_channels_last = call.options.layout == ImageLayout::Nhwc;
    let stored = (call.options.groups, is_channels_last, has_bias);
    ConvolutionShape::of(fitted, number, stored)
}

/// What the tuning database calls a convolution: everything that the fastest way depends on, but for the architecture. A bias changes little
/// about it, so that a plain convolution stands in for one with a bias.
#[must_use]
pub fn subject(shape: &ConvolutionShape) -> String {
    let axes = |all: &[i64]| {
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        all.join("x")
    };
    let first = 5 - shape.spatial;
    let tensor =
        |extents: &[i64; 5]| format!("{}x{}", axes(&extents[..2]), axes(&extents[first..]));
    let along = |steps: &[i64; SPATIAL]| axes(&steps[SPATIAL - shape.spatial..]);
    let sliding = &shape.sliding;
    format!(
        "convolution {} {} {} image {} weight {} result {} stride {} padding {} dilation {} groups {}",
        shape.pass.name(),
        shape.number.name(),
        if shape.is_channels_last {
            "nhwc"
        } else {
            "nchw"
        },
        tensor(&shape.image),
        tensor(&shape.weight),
        tensor(&shape.result),
        along(&sliding.stride),
        along(&sliding.padding),
        along(&sliding.dilation),
        shape.groups
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ConvolvePass::{Forward, ImageGradient, WeightGradient};
    use amdgpu_matrix::Sliding;

    const CUDNN: Way = Way::Vendor(VendorLibrary::Cudnn);

    fn decide(demand: Demand, record: Option<&Record>, is_usable: bool) -> Way {
        decide_for(demand, record, (is_usable, false))
    }

    fn decide_for(
        demand: Demand,
        record: Option<&Record>,
        (is_usable, is_for_library): (bool, bool),
    ) -> Way {
        let situation = Situation {
            ours: &[Way::Archived, Way::Generated],
            libraries: &[VendorLibrary::Cudnn],
            is_usable: &|_| is_usable,
            is_for_library,
        };
        situation.decide(demand, record)
    }

    fn record(ways: &[(&str, f64)]) -> Record {
        let mut made = Record::of("convolution");
        let ways = ways
            .iter()
            .map(|(name, seconds)| ((*name).to_owned(), *seconds));
        made.seconds.extend(ways);
        made
    }

    #[test]
    fn without_a_measurement_the_library_computes_what_is_demanded_of_it_and_it_was_found_right_for()
     {
        for (demand, is_usable, expected) in [
            (Demand::Auto, true, Way::Archived),
            (Demand::Ours, true, Way::Archived),
            (Demand::Vendor, true, CUDNN),
            (Demand::Vendor, false, Way::Archived),
        ] {
            assert_eq!(decide(demand, None, is_usable), expected, "{demand:?}");
        }
    }

    #[test]
    fn large_convolutions_are_the_librarys_unless_something_was_measured() {
        let measured = record(&[("archived", 1.0), ("cudnn", 2.0)]);
        for (demand, record, is_usable, expected) in [
            (Demand::Auto, None, true, CUDNN),
            (Demand::Auto, None, false, Way::Archived),
            (Demand::Ours, None, true, Way::Archived),
            (Demand::Auto, Some(&measured), true, Way::Archived),
        ] {
            assert_eq!(decide_for(demand, record, (is_usable, true)), expected);
        }
    }

    #[test]
    fn what_ours_are_behind_in_is_for_the_library() {
        let shape = |pass, number, [channels, extent, window, stride]: [i64; 4]| ConvolutionShape {
            pass,
            number,
            spatial: 2,
            image: [64, channels, 1, extent * stride, extent * stride],
            weight: [64, channels, 1, window, window],
            result: [64, 64, 1, extent, extent],
            sliding: Sliding {
                stride: [1, stride, stride],
                padding: [0; 3],
                dilation: [1; 3],
            },
            groups: 1,
            is_channels_last: false,
            has_bias: false,
        };
        let (ours, generated) = (Way::Lowered, Way::Generated);
        for (pass, number, extents, own, expected) in [
            (Forward, Number::Tf32, [64, 56, 3, 1], Way::Archived, true),
            (Forward, Number::Tf32, [8, 8, 3, 1], Way::Archived, false),
            (Forward, Number::Bf16, [64, 56, 3, 1], Way::Archived, false),
            (Forward, Number::Tf32, [64, 56, 1, 1], ours, false),
            (ImageGradient, Number::Tf32, [64, 56, 3, 1], ours, true),
            (ImageGradient, Number::Tf32, [64, 56, 1, 1], ours, false),
            (ImageGradient, Number::Tf32, [64, 56, 3, 2], ours, true),
            (ImageGradient, Number::Tf32, [64, 4, 3, 2], ours, false),
            (ImageGradient, Number::F32, [64, 56, 3, 2], ours, false),
            (WeightGradient, Number::Tf32, [64, 56, 3, 1], ours, true),
            (WeightGradient, Number::Bf16, [64, 56, 3, 1], ours, true),
            (WeightGradient, Number::Tf32, [64, 14, 3, 1], ours, false),
            (WeightGradient, Number::Tf32, [256, 56, 1, 1], ours, false),
            (WeightGradient, Number::F32, [64, 56, 3, 1], ours, false),
            (Forward, Number::F32, [64, 56, 3, 1], generated, true),
            (Forward, Number::F32, [8, 8, 3, 1], generated, false),
        ] {
            let shape = shape(pass, number, extents);
            assert_eq!(is_for_library(&shape, own), expected, "{shape:?} {own:?}");
        }
        for (extents, expected) in [([256, 56, 1, 1], true), ([2048, 7, 1, 1], false)] {
            let last = ConvolutionShape {
                is_channels_last: true,
                ..shape(WeightGradient, Number::Tf32, extents)
            };
            assert_eq!(is_for_library(&last, ours), expected, "{last:?}");
        }
    }

    #[test]
    fn a_measured_library_has_to_be_right_and_faster_by_a_margin() {
        let chosen = |ours: f64, library: f64, demand, is_usable| {
            let known = record(&[("generated", ours), ("cudnn", library), ("another", 0.1)]);
            decide(demand, Some(&known), is_usable)
        };
        assert_eq!(chosen(2.0, 1.0, Demand::Auto, true), CUDNN);
        assert_eq!(chosen(1.02, 1.0, Demand::Auto, true), Way::Generated);
        assert_eq!(chosen(2.0, 1.0, Demand::Auto, false), Way::Generated);
        assert_eq!(chosen(2.0, 1.0, Demand::Ours, true), Way::Generated);
        // A call of a library keeps the host for longer than a small kernel runs.
        assert_eq!(chosen(20e-6, 10e-6, Demand::Auto, true), Way::Generated);
        let archived = record(&[("generated", 2.0), ("archived", 1.0)]);
        assert_eq!(decide(Demand::Auto, Some(&archived), true), Way::Archived);
    }

    #[test]
    fn ways_are_found_by_their_names() {
        for way in [Way::Archived, Way::Lowered, Way::Generated, CUDNN] {
            assert_eq!(Way::from_name(way.name()), Some(way));
        }
        assert_eq!(Way::from_name("another"), None);
    }

    #[test]
    fn a_subject_says_what_the_fastest_way_depends_on() {
        let shape = ConvolutionShape {
            pass: ConvolvePass::Forward,
            number: Number::F32,
            spatial: 2,
            image: [2, 6, 1, 9, 10],
            weight: [8, 3, 1, 3, 2],
            result: [2, 8, 1, 9, 5],
            sliding: Sliding {
                stride: [1, 1, 2],
                padding: [0, 1, 0],
                dilation: [1; 3],
            },
            groups: 2,
            is_channels_last: true,
            has_bias: true,
        };
        assert_eq!(
            subject(&shape),
            "convolution forward f32 nhwc image 2x6x9x10 weight 8x3x3x2 result 2x8x9x5 stride 1x2 padding 1x0 dilation 1x1 groups 2"
        );
    }
}
