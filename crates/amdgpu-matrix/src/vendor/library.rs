//! The names of the libraries.

use amdgpu_hal::DeviceKind;

/// The libraries that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VendorLibrary {
    CublasLt,
    Cublas,
    Cudnn,
    HipblasLt,
    Rocblas,
    Miopen,
}

impl VendorLibrary {
    pub const ALL: [Self; 6] = [
        Self::CublasLt,
        Self::Cublas,
        Self::Cudnn,
        Self::HipblasLt,
        Self::Rocblas,
        Self::Miopen,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CublasLt => "cublaslt",
            Self::Cublas => "cublas",
            Self::Cudnn => "cudnn",
            Self::HipblasLt => "hipblaslt",
            Self::Rocblas => "rocblas",
            Self::Miopen => "miopen",
        }
    }

    /// The kind of device that it drives.
    #[must_use]
    pub const fn device_kind(self) -> DeviceKind {
        match self {
            Self::CublasLt | Self::Cublas | Self::Cudnn => DeviceKind::Cuda,
            Self::HipblasLt | Self::Rocblas | Self::Miopen => DeviceKind::Hip,
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.name() == name)
    }
}
