//! Which way a convolution is computed on a GPU: by an archived kernel, by generated ones, or by the vendor's library.
//!
//! The order is that of products: what `AMDGPU_MATMUL` demands; what was measured; without a measurement ours. The choice is a pure function of
//! what the device has and of what the tuning database knows of the convolution.

use amdgpu_abi::Dtype;
use amdgpu_array::recording;
use amdgpu_hal::DeviceKind;
use amdgpu_matrix::vendor::{ConvolutionShape, Number, VendorConvolution, VendorLibrary, Work};
use amdgpu_matrix::{ConvolvePass, Fitted, ImageLayout, SPATIAL};

use super::Convolution;
use crate::archived::Archived;
use crate::archived::choice::{Demand, LIBRARY_CALL_SECONDS, VENDOR_MARGIN};
use crate::choices::Choices;
use crate::tuning::{self, Record};
use crate::vendor::ConvolutionLibraries;
use crate::{DeviceOps, Error, Result};

/// How a convolution is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By an archived kernel, or where none fits by generated ones.
    Archived,
    Generated,
    Vendor(VendorLibrary),
}

impl Way {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let ours = [Self::Archived, Self::Generated];
        let ours = ours.into_iter().find(|way| way.name() == name);
        ours.or_else(|| VendorLibrary::from_name(name).map(Self::Vendor))
    }

    /// What the database calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Generated => "generated",
            Self::Vendor(library) => library.name(),
        }
    }
}

/// What a choice depends on beside the convolution.
pub struct Situation<'a> {
    /// Whether there are archived kernels, and the call is of the kind that they compute.
    pub has_archived: bool,
    /// Libraries that are there, right or not.
    pub libraries: &'a [VendorLibrary],
    /// Whether a library was found right for the kind of convolution and computes this one; asked before it is chosen.
    pub is_usable: &'a dyn Fn(VendorLibrary) -> bool,
}

impl Situation<'_> {
    fn own(&self) -> Way {
        if self.has_archived {
            Way::Archived
        } else {
            Way::Generated
        }
    }

    /// Every way to compute the convolution; libraries that are there, right or not.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        let mut found = vec![Way::Generated];
        if self.has_archived {
            found.push(Way::Archived);
        }
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
        record
            .and_then(|record| self.fastest(record, demand))
            .unwrap_or(self.own())
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
    /// By shape, whether archived kernels may compute it, and whether kernels of ours alone may.
    choices: Choices<(ConvolutionShape, bool, bool), Way>,
}

/// The way of a convolution, and its shape where libraries know such; `has_archived` says whether the call is of the kind that archived
/// kernels compute.
///
/// # Errors
///
/// `library-missing` for a damaged archive; `invalid-argument` where `AMDGPU_MATMUL` cannot be understood.
pub fn choose(
    ops: &DeviceOps,
    fitted: &Fitted,
    call: &Convolution<'_>,
    (is_archivable, has_bias): (bool, bool),
) -> Result<(Way, Option<ConvolutionShape>)> {
    let archived = Archived::of(ops);
    let has_archived = is_archivable && archived.archive()?.is_some();
    let own = if has_archived {
        Way::Archived
    } else {
        Way::Generated
    };
    let Some(shape) = shape_of(ops, fitted, call, has_bias) else {
        return Ok((own, None));
    };
    // No library goes into a graph.
    let is_ours = recording::is_recording();
    let ways = &archived.convolutions;
    let way = ways
        .choices
        .get(&(shape, has_archived, is_ours), tuning::changes, || {
            let demand = if is_ours {
                Demand::Ours
            } else {
                tuning::settings::demand()?
            };
            let libraries = if demand == Demand::Ours {
                Vec::new()
            } else {
                ways.libraries.all(ops)
            };
            let situation = Situation {
                has_archived,
                libraries: &libraries,
                is_usable: &|library| ways.libraries.is_usable(ops, library, &shape),
            };
            let database = tuning::database_of(&archived.facts().architecture);
            let record = database.find_record(&subject(&shape));
            let way = situation.decide(demand, record.as_ref());
            if demand == Demand::Vendor && !matches!(way, Way::Vendor(_)) {
                ways.libraries.tell_absence(ops, &shape);
            }
            Ok::<_, Error>(way)
        })?;
    Ok((way, Some(shape)))
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
    let archived = Archived::of(ops);
    let libraries = archived.convolutions.libraries.all(ops);
    let situation = Situation {
        has_archived: call.pass == ConvolvePass::Forward && archived.archive()?.is_some(),
        libraries: &libraries,
        is_usable: &|_| true,
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
    use amdgpu_matrix::Sliding;

    const CUDNN: Way = Way::Vendor(VendorLibrary::Cudnn);

    fn decide(demand: Demand, record: Option<&Record>, is_usable: bool) -> Way {
        let situation = Situation {
            has_archived: true,
            libraries: &[VendorLibrary::Cudnn],
            is_usable: &|_| is_usable,
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
        for way in [Way::Archived, Way::Generated, CUDNN] {
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
