//! What a plan depends on, as words that are compared.

use std::sync::Arc;

use amdgpu_aura::OpenDevice;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::Given;
use crate::array::Array;

/// What loads are aligned to at most.
const VECTOR_BYTES: u64 = 16;
/// Room for two arrays of four axes with their options.
const USUAL_WORDS: usize = 48;
/// Tuples in tuples; no options are nested deeper than pairs of extents.
const MAX_DEPTH: usize = 4;

/// Kinds of values; no two values of different kinds have the same words.
#[derive(Clone, Copy)]
#[repr(u64)]
enum Kind {
    None,
    Bool,
    Integer,
    Float,
    Text,
    Sequence,
    Array,
}

/// A call of an operation on arrays of one device.
pub(super) struct Call<'py> {
    pub key: Box<[u64]>,
    /// In the order of the arguments.
    pub given: Vec<Given<'py>>,
    /// Somebody beside the device's kernels knows the memory of an array.
    pub is_shared: bool,
    device: Arc<OpenDevice>,
}

impl<'py> Call<'py> {
    /// The call; None where its launches may depend on more than its key.
    pub fn of(options: &Bound<'py, PyTuple>, arrays: &Bound<'py, PyTuple>) -> Option<Self> {
        let mut words = Words {
            list: Vec::with_capacity(USUAL_WORDS),
            given: Vec::with_capacity(arrays.len()),
            device: None,
            is_shared: false,
        };
        words.sequence(options.iter_borrowed(), options.len(), 0)?;
        words.sequence(arrays.iter_borrowed(), arrays.len(), 0)?;
        Some(Self {
            key: words.list.into_boxed_slice(),
            given: words.given,
            is_shared: words.is_shared,
            device: words.device?,
        })
    }

    pub fn device(&self) -> &Arc<OpenDevice> {
        &self.device
    }
}

struct Words<'py> {
    list: Vec<u64>,
    given: Vec<Given<'py>>,
    device: Option<Arc<OpenDevice>>,
    is_shared: bool,
}

impl<'py> Words<'py> {
    fn sequence<'a>(
        &mut self,
        values: impl Iterator<Item = Borrowed<'a, 'py, PyAny>>,
        count: usize,
        depth: usize,
    ) -> Option<()>
    where
        'py: 'a,
    {
        if depth > MAX_DEPTH {
            return None;
        }
        self.list.push(Kind::Sequence as u64 | (count as u64) << 8);
        for value in values {
            self.value(&value, depth)?;
        }
        Some(())
    }

    fn value(&mut self, value: &Bound<'py, PyAny>, depth: usize) -> Option<()> {
        if let Ok(array) = value.cast_exact::<Array>() {
            return self.array(array);
        }
        if value.is_none() {
            self.list.push(Kind::None as u64);
        } else if let Ok(text) = value.cast_exact::<PyString>() {
            let text = text.to_str().ok()?.as_bytes();
            self.list.push(Kind::Text as u64 | (text.len() as u64) << 8);
            self.list.extend(text.chunks(8).map(|chunk| {
                let mut word = [0; 8];
                word[..chunk.len()].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            }));
        } else if value.is_exact_instance_of::<PyInt>() {
            let number: i64 = value.extract().ok()?;
            self.list
                .extend([Kind::Integer as u64, number.cast_unsigned()]);
        } else if value.is_exact_instance_of::<PyFloat>() {
            let number: f64 = value.extract().ok()?;
            self.list.extend([Kind::Float as u64, number.to_bits()]);
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            self.list
                .push(Kind::Bool as u64 | u64::from(truth.is_true()) << 8);
        } else if let Ok(values) = value.cast_exact::<PyTuple>() {
            self.sequence(values.iter_borrowed(), values.len(), depth + 1)?;
        } else if let Ok(values) = value.cast_exact::<PyList>() {
            let values = values.to_tuple();
            self.sequence(values.iter_borrowed(), values.len(), depth + 1)?;
        } else {
            return None;
        }
        Some(())
    }

    /// Arrays whose memory is of one open device, alive and not empty; no others have plans.
    fn array(&mut self, array: &Bound<'py, Array>) -> Option<()> {
        let inner = array.get();
        let (device, is_lent) = inner.allocated_by()?;
        match &self.device {
            None => self.device = Some(Arc::clone(device)),
            Some(known) if Arc::ptr_eq(known, device) => {}
            Some(_) => return None,
        }
        if inner.is_freed() {
            return None;
        }
        self.is_shared |= is_lent;
        let address = inner.data().expose_provenance() as u64;
        let (first, end) = inner.byte_range()?;
        // The same memory under the same layout may be read and written at once; other overlaps are looked at closely.
        let mut twin = self.given.len();
        for (index, other) in self.given.iter().enumerate() {
            let known = other.array.get();
            if other.address == address
                && known.shape == inner.shape
                && known.strides == inner.strides
                && known.dtype == inner.dtype
            {
                twin = index;
                break;
            }
            let (from, to) = known.byte_range()?;
            if first < to && from < end {
                return None;
            }
        }
        let dtype = inner.dtype;
        self.list.push(
            Kind::Array as u64
                | (inner.shape.len() as u64) << 8
                | u64::from(inner.is_read_only) << 16
                | (address % VECTOR_BYTES) << 24
                | (twin as u64) << 32,
        );
        self.list.push(
            u64::from(dtype.code) | u64::from(dtype.bits) << 8 | u64::from(dtype.lanes) << 16,
        );
        let extents = inner.shape.iter().chain(&inner.strides);
        self.list
            .extend(extents.map(|extent| extent.cast_unsigned()));
        self.given.push(Given {
            array: array.clone(),
            address,
            memory: inner.keep(),
        });
        Some(())
    }
}
