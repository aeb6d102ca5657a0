//! Kernel arguments: checked against the parameters and packed into the block of bytes that every backend takes.

use amdgpu_abi::Dtype;
use amdgpu_abi::layout::{DTYPE_BFLOAT, DTYPE_BOOL, DTYPE_FLOAT, DTYPE_INT, DTYPE_UINT};

use crate::error::Error;

/// One argument of a launch, as the caller has it.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Memory the device can reach. `dtype` is absent for bare addresses, which fit every pointer parameter.
    Pointer {
        address: u64,
        dtype: Option<Dtype>,
        is_read_only: bool,
        /// Size of the memory, which checked launches hold the kernel to.
        bytes: u64,
    },
    Int(i128),
    Float(f64),
    Bool(bool),
    /// A struct by value, laid out as C does.
    Bytes(Box<[u8]>),
}

impl Argument {
    fn describe(&self) -> &'static str {
        match self {
            Self::Pointer { .. } => "an array",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Bool(_) => "a bool",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// What a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// `pointee` is absent for `void*` and pointers to structs, which accept memory of any dtype.
    Pointer {
        pointee: Option<Dtype>,
        is_const: bool,
    },
    Scalar {
        dtype: Dtype,
    },
    /// A struct by value.
    Struct,
}

/// One parameter of a kernel.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub type_name: String,
    pub kind: ParameterKind,
    /// What addresses must be multiples of; 1 where the parameter is no pointer or says nothing.
    pub align_bytes: u64,
    /// Size of what a pointer points to; 0 where the parameter is no pointer.
    pub element_bytes: u64,
    pub offset_bytes: usize,
    pub size_bytes: usize,
}

/// Why an argument does not fit; the caller adds kernel, parameter and position.
pub(crate) enum Misfit {
    Type(String),
    Value(String),
}

impl Misfit {
    pub(crate) fn at(self, kernel: &str, index: usize, parameter: &Parameter) -> Error {
        let (kernel, name) = (kernel.to_owned(), parameter.name.clone());
        match self {
            Self::Type(reason) => Error::ArgumentType {
                kernel,
                parameter: name,
                index,
                reason,
            },
            Self::Value(reason) => Error::ArgumentValue {
                kernel,
                parameter: name,
                index,
                reason,
            },
        }
    }
}

/// Write `argument` into its place in `buffer`, which is zeroed and as long as the argument block.
pub(crate) fn pack(
    parameter: &Parameter,
    argument: &Argument,
    buffer: &mut [u8],
) -> std::result::Result<(), Misfit> {
    let place = &mut buffer[parameter.offset_bytes..parameter.offset_bytes + parameter.size_bytes];
    match (parameter.kind, argument) {
        (
            ParameterKind::Pointer { pointee, is_const },
            Argument::Pointer {
                address,
                dtype,
                is_read_only,
                ..
            },
        ) => {
            if let (Some(wanted), Some(given)) = (pointee, dtype)
                && !is_compatible(wanted, *given)
            {
                return Err(Misfit::Type(format!(
                    "`{}` needs an array of {}, this one is of {}",
                    parameter.type_name,
                    wanted.name().unwrap_or("another type"),
                    given.name().unwrap_or("another type"),
                )));
            }
            if *is_read_only && !is_const {
                return Err(Misfit::Value(format!(
                    "the array is read-only, but `{}` may be written; declare it const or pass a writable copy",
                    parameter.type_name
                )));
            }
            if !address.is_multiple_of(parameter.align_bytes) {
                return Err(Misfit::Value(format!(
                    "the memory begins at {address:#x}, and `{}` needs a multiple of {} bytes; pass a copy",
                    parameter.type_name, parameter.align_bytes
                )));
            }
            place.copy_from_slice(&address.to_le_bytes());
            Ok(())
        }
        (ParameterKind::Scalar { dtype }, Argument::Int(value)) => {
            pack_integer(dtype, *value, parameter, place)
        }
        (ParameterKind::Scalar { dtype }, Argument::Bool(value)) => {
            pack_integer(dtype, i128::from(*value), parameter, place)
        }
        (ParameterKind::Scalar { dtype }, Argument::Float(value))
            if matches!(dtype.code, DTYPE_FLOAT | DTYPE_BFLOAT) =>
        {
            pack_float(dtype, *value, parameter, place)
        }
        (ParameterKind::Struct, Argument::Bytes(bytes)) => {
            if bytes.len() != place.len() {
                return Err(Misfit::Value(format!(
                    "`{}` has {} bytes, and {} are given; fields lie as in C, with its padding (numpy.dtype(..., align=True))",
                    parameter.type_name,
                    place.len(),
                    bytes.len()
                )));
            }
            place.copy_from_slice(bytes);
            Ok(())
        }
        (_, given) => Err(Misfit::Type(format!(
            "`{}` cannot be made from {}",
            parameter.type_name,
            given.describe()
        ))),
    }
}

/// Same width, and both integers or both the same kind: what a C cast of the pointer would keep meaningful. NumPy itself has no
/// bfloat16; arrays of its bits are uint16.
fn is_compatible(wanted: Dtype, given: Dtype) -> bool {
    let is_integer = |dtype: Dtype| matches!(dtype.code, DTYPE_INT | DTYPE_UINT | DTYPE_BOOL);
    wanted == given
        || (wanted.code == DTYPE_BFLOAT && given == Dtype::U16)
        || (wanted.bits == given.bits && is_integer(wanted) && is_integer(given))
}

fn pack_integer(
    dtype: Dtype,
    value: i128,
    parameter: &Parameter,
    place: &mut [u8],
) -> std::result::Result<(), Misfit> {
    let bits = u32::from(dtype.bits);
    let (low, high) = match dtype.code {
        DTYPE_FLOAT | DTYPE_BFLOAT => return pack_float(dtype, value as f64, parameter, place),
        DTYPE_BOOL => (0, 1),
        DTYPE_UINT => (0, (1_i128 << bits) - 1),
        _ => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
    };
    if value < low || value > high {
        return Err(Misfit::Value(format!(
            "{value} does not fit into `{}`, which holds {low} to {high}",
            parameter.type_name
        )));
    }
    place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
    Ok(())
}

fn pack_float(
    dtype: Dtype,
    value: f64,
    parameter: &Parameter,
    place: &mut [u8],
) -> std::result::Result<(), Misfit> {
    match dtype.bits {
        64 => place.copy_from_slice(&value.to_le_bytes()),
        32 => {
            let narrow = value as f32;
            if narrow.is_infinite() && value.is_finite() {
                return Err(Misfit::Value(format!(
                    "{value} does not fit into `{}`",
                    parameter.type_name
                )));
            }
            place.copy_from_slice(&narrow.to_le_bytes());
        }
        _ => {
            let (bits, infinity) = match dtype.code {
                DTYPE_BFLOAT => (amdgpu_compiler::bfloat16_from_f64(value), 0x7f80),
                _ => (amdgpu_compiler::half_from_f64(value), 0x7c00),
            };
            if bits & 0x7fff == infinity && value.is_finite() {
                return Err(Misfit::Value(format!(
                    "{value} does not fit into `{}`",
                    parameter.type_name
                )));
            }
            place.copy_from_slice(&bits.to_le_bytes());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(kind: ParameterKind, size_bytes: usize) -> Parameter {
        Parameter {
            name: "p".into(),
            type_name: "T".into(),
            kind,
            align_bytes: 1,
            element_bytes: 0,
            offset_bytes: 8,
            size_bytes,
        }
    }

    fn packed(parameter: &Parameter, argument: &Argument) -> Option<Vec<u8>> {
        let mut buffer = [0; 16];
        pack(parameter, argument, &mut buffer).ok()?;
        Some(buffer[8..8 + parameter.size_bytes].to_vec())
    }

    #[test]
    fn every_integer_type_takes_its_range_and_nothing_beyond() {
        for (dtype, low, high) in [
            (Dtype::I8, i128::from(i8::MIN), i128::from(i8::MAX)),
            (Dtype::I16, i128::from(i16::MIN), i128::from(i16::MAX)),
            (Dtype::I32, i128::from(i32::MIN), i128::from(i32::MAX)),
            (Dtype::I64, i128::from(i64::MIN), i128::from(i64::MAX)),
            (Dtype::U8, 0, i128::from(u8::MAX)),
            (Dtype::U16, 0, i128::from(u16::MAX)),
            (Dtype::U32, 0, i128::from(u32::MAX)),
            (Dtype::U64, 0, i128::from(u64::MAX)),
            (Dtype::BOOL, 0, 1),
        ] {
            let bytes = usize::from(dtype.bits).div_ceil(8);
            let number = parameter(ParameterKind::Scalar { dtype }, bytes);
            for value in [low, high] {
                let expected = value.to_le_bytes()[..bytes].to_vec();
                assert_eq!(packed(&number, &Argument::Int(value)), Some(expected));
            }
            for value in [low - 1, high + 1] {
                assert_eq!(packed(&number, &Argument::Int(value)), None, "{value}");
            }
        }
    }

    #[test]
    fn integers_are_range_checked_and_little_endian() {
        let int = parameter(ParameterKind::Scalar { dtype: Dtype::I32 }, 4);
        assert_eq!(
            packed(&int, &Argument::Int(-2)),
            Some((-2_i32).to_le_bytes().to_vec())
        );
        assert_eq!(packed(&int, &Argument::Int(1 << 31)), None);
        assert_eq!(packed(&int, &Argument::Float(1.0)), None);
        let unsigned = parameter(ParameterKind::Scalar { dtype: Dtype::U64 }, 8);
        assert_eq!(
            packed(&unsigned, &Argument::Int(i128::from(u64::MAX))),
            Some(vec![255; 8])
        );
        assert_eq!(packed(&unsigned, &Argument::Int(-1)), None);
    }

    #[test]
    fn narrow_floats_are_rounded_and_range_checked() {
        let half = parameter(ParameterKind::Scalar { dtype: Dtype::F16 }, 2);
        assert_eq!(packed(&half, &Argument::Float(1.0)), Some(vec![0, 0x3c]));
        assert_eq!(packed(&half, &Argument::Int(-2)), Some(vec![0, 0xc0]));
        assert_eq!(packed(&half, &Argument::Float(1e5)), None);
        let bfloat = parameter(ParameterKind::Scalar { dtype: Dtype::BF16 }, 2);
        assert_eq!(
            packed(&bfloat, &Argument::Float(1e38)),
            Some(vec![0x96, 0x7e])
        );
        assert_eq!(packed(&bfloat, &Argument::Float(1e39)), None);
    }

    #[test]
    fn structs_take_bytes_of_their_size_alone() {
        let bytes = parameter(ParameterKind::Struct, 5);
        let given = |count: usize| Argument::Bytes(vec![7; count].into());
        assert_eq!(packed(&bytes, &given(5)), Some(vec![7; 5]));
        assert_eq!(packed(&bytes, &given(4)), None);
        assert_eq!(packed(&bytes, &Argument::Int(3)), None);
        let int = parameter(ParameterKind::Scalar { dtype: Dtype::I32 }, 4);
        assert_eq!(packed(&int, &given(4)), None);
    }

    #[test]
    fn misaligned_addresses_are_refused() {
        let kind = ParameterKind::Pointer {
            pointee: Some(Dtype::F32),
            is_const: true,
        };
        let quads = Parameter {
            align_bytes: 16,
            ..parameter(kind, 8)
        };
        let at = |address| Argument::Pointer {
            address,
            dtype: None,
            is_read_only: false,
            bytes: 64,
        };
        assert!(packed(&quads, &at(32)).is_some());
        assert_eq!(packed(&quads, &at(36)), None);
    }

    #[test]
    fn floats_accept_integers_and_refuse_overflow() {
        let float = parameter(ParameterKind::Scalar { dtype: Dtype::F32 }, 4);
        assert_eq!(
            packed(&float, &Argument::Int(3)),
            Some(3.0_f32.to_le_bytes().to_vec())
        );
        assert_eq!(packed(&float, &Argument::Float(1e300)), None);
        assert!(packed(&float, &Argument::Float(f64::INFINITY)).is_some());
    }

    #[test]
    fn pointers_are_checked_for_dtype_and_for_writing() {
        let kind = ParameterKind::Pointer {
            pointee: Some(Dtype::F32),
            is_const: false,
        };
        let pointer = |dtype, is_read_only| Argument::Pointer {
            address: 7,
            dtype,
            is_read_only,
            bytes: 64,
        };
        let writable = parameter(kind, 8);
        assert!(packed(&writable, &pointer(Some(Dtype::F32), false)).is_some());
        assert!(packed(&writable, &pointer(None, false)).is_some());
        assert_eq!(packed(&writable, &pointer(Some(Dtype::F64), false)), None);
        assert_eq!(packed(&writable, &pointer(Some(Dtype::F32), true)), None);
        assert_eq!(packed(&writable, &Argument::Int(7)), None);
    }
}
