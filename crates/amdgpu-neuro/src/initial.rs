//! Initial values of weights and biases.

use std::path::Path;

use crate::error::Result;
use crate::npy;
use crate::philox::Stream;
use crate::plan::Initializer;
use crate::plan::resolve::values_of;

/// Number of a connection's weights as an object of the random streams.
pub(crate) const fn weight_object(connection: usize) -> u32 {
    (connection as u32) << 1
}

/// Number of a layer's biases as an object of the random streams.
pub(crate) const fn bias_object(layer: usize) -> u32 {
    (layer as u32) << 1 | 1
}

/// Fills `out`, which has `shape` row-major: `[inputs, outputs]` of weights, `[outputs]` of biases.
pub(crate) fn fill(
    initializer: &Initializer,
    stream: Stream,
    shape: &[usize],
    base_directory: &Path,
    out: &mut [f32],
) -> Result<()> {
    let fans = match *shape {
        [inputs, outputs] => (inputs as f64, outputs as f64),
        _ => (1.0, out.len() as f64),
    };
    if let Initializer::File { path } = initializer {
        return npy::read_into(&base_directory.join(path), shape, out);
    }
    if let Initializer::Array { name, values } = initializer {
        for (out, value) in out.iter_mut().zip(values_of(name, values.as_ref(), shape)?) {
            *out = *value as f32;
        }
        return Ok(());
    }
    fill_from(initializer, stream, fans, 0, out);
    Ok(())
}

/// Fills `out` with the values of positions `first ..` by every rule that does not read a file; `fans` are inputs and outputs of a weight.
pub(crate) fn fill_from(
    initializer: &Initializer,
    stream: Stream,
    fans: (f64, f64),
    first: u64,
    out: &mut [f32],
) {
    let (inputs, outputs) = fans;
    match initializer {
        Initializer::Constant { value } => out.fill(*value as f32),
        Initializer::Random { low, high } => stream.fill_uniform(first, *low, *high, out),
        Initializer::Normal {
            mean,
            standard_deviation,
        } => stream.fill_normal(first, *mean, *standard_deviation, out),
        Initializer::ClippedNormal {
            mean,
            standard_deviation,
            low,
            high,
        } => {
            stream.fill_normal(first, *mean, *standard_deviation, out);
            let (low, high) = (*low as f32, *high as f32);
            for value in out {
                *value = value.max(low).min(high);
            }
        }
        // Glorot and Bengio 2010, equation 16.
        Initializer::Xavier {} => {
            let limit = (6.0 / (inputs + outputs)).sqrt();
            stream.fill_uniform(first, -limit, limit, out);
        }
        // He et al. 2015, equation 10.
        Initializer::He {} => stream.fill_normal(first, 0.0, (2.0 / inputs).sqrt(), out),
        // Files are read, and expressions computed, by those who know the positions.
        Initializer::File { .. }
        | Initializer::Array { .. }
        | Initializer::Position { .. }
        | Initializer::Expression { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(initializer: &Initializer) -> Vec<f32> {
        let mut out = vec![0.0; 300 * 100];
        fill(
            initializer,
            Stream::new(1, 0, 0),
            &[300, 100],
            Path::new(""),
            &mut out,
        )
        .unwrap();
        out
    }

    #[test]
    fn xavier_and_he_have_the_spread_of_their_papers() {
        let xavier = values(&Initializer::Xavier {});
        let limit = (6.0_f32 / 400.0).sqrt();
        assert!(xavier.iter().all(|value| value.abs() <= limit));
        assert!(xavier.iter().any(|value| value.abs() > 0.99 * limit));
        let he = values(&Initializer::He {});
        let variance = he
            .iter()
            .map(|value| f64::from(*value).powi(2))
            .sum::<f64>()
            / he.len() as f64;
        assert!((variance - 2.0 / 300.0).abs() < 3e-4, "{variance}");
    }

    #[test]
    fn objects_of_weights_and_biases_never_meet() {
        assert_ne!(weight_object(3), bias_object(3));
        assert_ne!(weight_object(1), bias_object(0));
    }
}
