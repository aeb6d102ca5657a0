//! Which library does which work, and by which functions.

use amdgpu_abi::Language;
use amdgpu_telemetry::Boundary;

use super::convolution::{ALIGNMENT_BYTES, Planned, VendorConvolution};
use super::engine::{Engine, Work};
use super::library::VendorLibrary;
use super::matrix_sum::{self, MatrixSum};
use super::open::Found;
use super::product::{Number, Product};
use super::{cudnn, lt, miopen, rocblas};
use crate::{ConvolvePass, Error};

impl Work for Product {
    const LIBRARIES: &'static [VendorLibrary] = &[
        VendorLibrary::CublasLt,
        VendorLibrary::HipblasLt,
        VendorLibrary::Rocblas,
    ];

    /// Whether the libraries' 32-bit extents hold it and there is something to compute; integer sums take integer factors only.
    fn is_representable(&self) -> bool {
        let limit = i32::MAX as u64;
        [self.rows, self.columns, self.depth, self.batch]
            .into_iter()
            .all(|extent| (1..=limit).contains(&extent))
            && (self.number != Number::I8
                || [self.alpha, self.beta]
                    .into_iter()
                    .all(|factor| factor.fract() == 0.0 && factor.abs() <= f64::from(i32::MAX)))
    }

    fn floating_point_operations(&self) -> u64 {
        [self.rows, self.columns, self.depth, self.batch]
            .into_iter()
            .fold(2_u64, u64::saturating_mul)
    }

    fn boundary(library: VendorLibrary) -> &'static Boundary {
        static CUBLASLT: Boundary = Boundary::new(Language::Rust, Language::C, "cublasLtMatmul");
        static HIPBLASLT: Boundary = Boundary::new(Language::Rust, Language::C, "hipblasLtMatmul");
        static ROCBLAS: Boundary = Boundary::new(
            Language::Rust,
            Language::C,
            "rocblas_gemm_strided_batched_ex",
        );
        match library {
            VendorLibrary::CublasLt => &CUBLASLT,
            VendorLibrary::HipblasLt => &HIPBLASLT,
            _ => &ROCBLAS,
        }
    }

    fn start(found: &Found) -> Result<Box<dyn Engine<Self>>, Error> {
        Ok(match found.library() {
            VendorLibrary::CublasLt => Box::new(lt::Lt::new(&lt::CUDA, found)?),
            VendorLibrary::HipblasLt => Box::new(lt::Lt::new(&lt::HIP, found)?),
            VendorLibrary::Rocblas => Box::new(rocblas::Rocblas::new(found)?),
            library => return Err(no_such_work(library, "products of matrices")),
        })
    }
}

impl Work for VendorConvolution {
    const LIBRARIES: &'static [VendorLibrary] = &[VendorLibrary::Cudnn, VendorLibrary::Miopen];

    /// Tensors of less than 2^31 elements at aligned addresses.
    fn is_representable(&self) -> bool {
        let shape = &self.shape;
        let limit = i128::from(i32::MAX);
        let fits = |extents: &[i64; 5]| {
            let count: i128 = extents.iter().map(|extent| i128::from(*extent)).product();
            extents.iter().all(|extent| *extent >= 1) && count <= limit
        };
        let sliding = &shape.sliding;
        let steps = [sliding.stride, sliding.padding, sliding.dilation];
        [&shape.image, &shape.weight, &shape.result]
            .into_iter()
            .all(fits)
            && steps
                .iter()
                .flatten()
                .all(|step| *step <= i64::from(i32::MAX))
            && (!shape.has_bias || shape.pass == ConvolvePass::Forward)
            && (self.image | self.weight | self.result | self.bias).is_multiple_of(ALIGNMENT_BYTES)
    }

    fn floating_point_operations(&self) -> u64 {
        u64::try_from(2 * self.shape.work()).unwrap_or(u64::MAX)
    }

    fn boundary(library: VendorLibrary) -> &'static Boundary {
        static CUDNN: Boundary =
            Boundary::new(Language::Rust, Language::C, "cudnnConvolutionForward");
        static MIOPEN: Boundary = Boundary::new(
            Language::Rust,
            Language::C,
            "miopenConvolutionForwardImmediate",
        );
        match library {
            VendorLibrary::Cudnn => &CUDNN,
            _ => &MIOPEN,
        }
    }

    fn start(found: &Found) -> Result<Box<dyn Engine<Self>>, Error> {
        Ok(match found.library() {
            VendorLibrary::Cudnn => Box::new(Planned::of(cudnn::Cudnn::new(found)?)),
            VendorLibrary::Miopen => Box::new(Planned::of(miopen::Miopen::new(found)?)),
            library => return Err(no_such_work(library, "convolutions")),
        })
    }
}

impl Work for MatrixSum {
    const LIBRARIES: &'static [VendorLibrary] = &[VendorLibrary::Cublas, VendorLibrary::Rocblas];

    fn is_representable(&self) -> bool {
        [self.rows, self.columns]
            .into_iter()
            .all(|extent| (1..=i32::MAX as u64).contains(&extent))
            && matches!(self.number, Number::F32 | Number::F64)
    }

    fn floating_point_operations(&self) -> u64 {
        3_u64.saturating_mul(self.rows).saturating_mul(self.columns)
    }

    fn boundary(library: VendorLibrary) -> &'static Boundary {
        static CUBLAS: Boundary = Boundary::new(Language::Rust, Language::C, "cublasSgeam");
        static ROCBLAS: Boundary = Boundary::new(Language::Rust, Language::C, "rocblas_sgeam");
        match library {
            VendorLibrary::Cublas => &CUBLAS,
            _ => &ROCBLAS,
        }
    }

    fn start(found: &Found) -> Result<Box<dyn Engine<Self>>, Error> {
        let dialect = match found.library() {
            VendorLibrary::Cublas => &matrix_sum::CUDA,
            VendorLibrary::Rocblas => &matrix_sum::HIP,
            library => return Err(no_such_work(library, "sums of matrices")),
        };
        Ok(Box::new(matrix_sum::Geam::new(dialect, found)?))
    }
}

/// The error for a library that is asked for work of another kind.
fn no_such_work(library: VendorLibrary, work: &str) -> Error {
    Error::refused(
        amdgpu_abi::ErrorCode::InvalidArgument,
        format!("{} computes no {work}", library.name()),
    )
}
