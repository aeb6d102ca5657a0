//! Whether a library's convolutions are right: small ones of each kind, compared with those of the CPU in float64.

use amdgpu_abi::Coded;
use amdgpu_matrix::vendor::{ConvolutionShape, Session, StoredTensor, VendorConvolution};
use amdgpu_matrix::{
    Convolve, ConvolveOptions, ConvolvePass, ImageLayout, Matrix, Sliding, TensorView,
    TensorViewMut,
};
use amdgpu_telemetry::fallback;
use smallvec::SmallVec;

use super::queued::{Convolved, Kind, NAME, submit};
use crate::vendor::samples::{Random, download, error_bound, upload};
use crate::{DeviceOps, Result};

/// Of the convolutions that are compared: whole vectors of channels and outputs of a group in every format, windows and images whose rows and
/// columns differ.
const BATCH: i64 = 2;
const CHANNELS: i64 = 16;
const OUTPUTS: i64 = 8;
const IMAGE: [i64; 3] = [5, 11, 9];
const WINDOW: [i64; 3] = [2, 3, 2];
const PADDING: [i64; 3] = [1, 1, 2];
/// What the result holds before.
const BEFORE: f64 = 7.0;

/// Compares convolutions with and without strides; says what is wrong.
pub fn is_right(ops: &DeviceOps, session: &Session<VendorConvolution>, kind: &Kind) -> bool {
    let refuse = |what: &str| {
        let reason = format!(
            "{} {what} for {} convolutions ({}) on {}: our own kernels compute them",
            session.library().name(),
            kind.number.name(),
            kind.pass.name(),
            ops.device().info().architecture
        );
        fallback(NAME, &reason);
        false
    };
    let mut tried = false;
    for stride in [[1; 3], [2, 1, 2]] {
        match compare(ops, session, &example(kind, stride)) {
            Ok(Some(true)) => tried = true,
            Ok(Some(false)) => return refuse("gives other results than our own kernels"),
            // The library does not compute it.
            Ok(None) => {}
            Err(error) => return refuse(&format!("fails with {}", error.code().class())),
        }
    }
    tried
}

/// A convolution of a kind.
fn example(kind: &Kind, stride: [i64; 3]) -> ConvolutionShape {
    let groups = kind.groups;
    let mut sliding = Sliding {
        stride,
        padding: PADDING,
        dilation: [kind.dilation; 3],
    };
    let (mut image, mut window) = (IMAGE, WINDOW);
    if kind.spatial == 2 {
        (image[0], window[0]) = (1, 1);
        (sliding.stride[0], sliding.padding[0], sliding.dilation[0]) = (1, 0, 1);
    }
    let mut result = [1; 3];
    for axis in 0..3 {
        let reach = sliding.dilation[axis] * (window[axis] - 1) + 1;
        result[axis] = (image[axis] + 2 * sliding.padding[axis] - reach) / sliding.stride[axis] + 1;
    }
    let tensor =
        |first, second, [depths, rows, columns]: [i64; 3]| [first, second, depths, rows, columns];
    ConvolutionShape {
        pass: kind.pass,
        number: kind.number,
        spatial: kind.spatial,
        image: tensor(BATCH, groups * CHANNELS, image),
        weight: tensor(groups * OUTPUTS, CHANNELS, window),
        result: tensor(BATCH, groups * OUTPUTS, result),
        sliding,
        groups,
        is_channels_last: kind.is_channels_last,
        has_bias: kind.has_bias,
    }
}

/// A tensor of an example: its numbers as the format holds them, in the order in which they are stored.
struct Sample {
    values: Vec<f64>,
    extents: Vec<i64>,
    strides: Vec<i64>,
}

impl Sample {
    fn of(stored: &StoredTensor, values: Vec<f64>) -> Self {
        let all = |numbers: &[i32; 5]| {
            let used = numbers[..stored.rank].iter();
            used.map(|number| i64::from(*number)).collect()
        };
        Self {
            values,
            extents: all(&stored.extents),
            strides: all(&stored.strides),
        }
    }

    fn view(&self) -> Result<TensorView<'_>> {
        let (extents, strides) = (&self.extents, &self.strides);
        Ok(TensorView::from_strided(&self.values, 0, extents, strides)?)
    }

    /// Absolute values.
    fn sizes(&self) -> Self {
        Self {
            values: self.values.iter().map(|value| value.abs()).collect(),
            extents: self.extents.clone(),
            strides: self.strides.clone(),
        }
    }
}

fn compare(
    ops: &DeviceOps,
    session: &Session<VendorConvolution>,
    shape: &ConvolutionShape,
) -> Result<Option<bool>> {
    let number = shape.number;
    let stored = [
        shape.image_tensor(),
        shape.weight_tensor(),
        shape.result_tensor(),
    ];
    let target = match shape.pass {
        ConvolvePass::Forward => 2,
        ConvolvePass::ImageGradient => 0,
        ConvolvePass::WeightGradient => 1,
    };
    let mut random = Random::new();
    let mut arrays = SmallVec::<[_; 3]>::new();
    for (index, tensor) in stored.iter().enumerate() {
        let shape = tensor.extents.map(|extent| extent as usize);
        let draw = |_| {
            if index == target {
                BEFORE
            } else {
                random.normal()
            }
        };
        let values: Vec<f64> = (0..shape.iter().product()).map(draw).collect();
        arrays.push(upload(ops, &values, &shape, number)?);
    }
    let outputs = shape.result[1] as usize;
    let bias: Vec<f64> = (0..outputs).map(|_| random.integer(8)).collect();
    let bias_made = upload(ops, &bias, &[outputs], number)?;
    let call = Convolved {
        shape,
        image: &arrays[0],
        weight: &arrays[1],
        result: &arrays[2],
        bias: shape.has_bias.then_some(&bias_made),
    };
    if !submit(ops, session, &call)? {
        return Ok(None);
    }
    let samples = arrays
        .iter()
        .zip(&stored)
        .map(|(array, tensor)| Ok(Sample::of(tensor, download(array, number)?)))
        .collect::<Result<SmallVec<[Sample; 3]>>>()?;
    let bias = shape.has_bias.then_some(bias);
    let wanted = on_host(shape, &samples, target, bias.as_deref())?;
    let sizes: SmallVec<[Sample; 3]> = samples.iter().map(Sample::sizes).collect();
    let bias_sizes: Option<Vec<f64>> = bias.map(|bias| bias.into_iter().map(f64::abs).collect());
    let scales = on_host(shape, &sizes, target, bias_sizes.as_deref())?;
    let bound = 2.0 * error_bound(number);
    let mut all = samples[target]
        .values
        .iter()
        .zip(wanted.iter().zip(&scales));
    Ok(Some(all.all(|(value, (wanted, scale))| {
        (value - wanted).abs() <= bound * scale
    })))
}

/// The same by the CPU in float64, in the order in which the target is stored.
fn on_host(
    shape: &ConvolutionShape,
    samples: &[Sample],
    target: usize,
    bias: Option<&[f64]>,
) -> Result<Vec<f64>> {
    let options = ConvolveOptions {
        operation: Convolve {
            spatial: shape.spatial,
            is_transposed: false,
        },
        sliding: shape.sliding,
        is_same: false,
        output_padding: [0; 3],
        groups: shape.groups,
        // The strides say where channels are.
        layout: ImageLayout::Nchw,
        thread_limit: None,
    };
    let outputs = [shape.result[1]];
    let [image, weight, result] = [0, 1, 2].map(|index| samples[index].view());
    let mut inputs: SmallVec<[TensorView<'_>; 3]> = match shape.pass {
        ConvolvePass::Forward => [image?, weight?].into_iter().collect(),
        ConvolvePass::ImageGradient => [result?, weight?].into_iter().collect(),
        ConvolvePass::WeightGradient => [image?, result?].into_iter().collect(),
    };
    if let Some(bias) = bias {
        inputs.push(TensorView::from_slice(bias, &outputs)?);
    }
    let wanted = &samples[target];
    let mut made = vec![0.0; wanted.values.len()];
    let (extents, strides) = (&wanted.extents, &wanted.strides);
    let mut out = TensorViewMut::from_strided(&mut made, 0, extents, strides)?;
    Matrix::global()?.convolve(shape.pass, &inputs, &mut out, &options)?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use amdgpu_matrix::vendor::Number;

    fn kind(spatial: usize, groups: i64, dilation: i64) -> Kind {
        Kind {
            pass: ConvolvePass::Forward,
            number: Number::F32,
            spatial,
            is_channels_last: true,
            has_bias: false,
            groups,
            dilation,
        }
    }

    #[test]
    fn examples_are_of_the_kind_that_they_stand_for() {
        for spatial in [2, 3] {
            for groups in [1, 2] {
                for dilation in [1, 2] {
                    let kind = kind(spatial, groups, dilation);
                    for stride in [[1; 3], [2, 1, 2]] {
                        let shape = example(&kind, stride);
                        assert_eq!(Kind::of(&shape), kind);
                        assert!(shape.result.iter().all(|extent| *extent >= 1));
                    }
                }
            }
        }
        assert_eq!(example(&kind(2, 2, 1), [2, 1, 2]).result, [2, 16, 1, 11, 6]);
    }
}
