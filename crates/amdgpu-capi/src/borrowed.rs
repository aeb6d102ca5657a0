//! What C hands over: pointers that are checked for null, texts, structs that state their size.
//!
//! Every type here is what the parameter is in C. That a pointer which is not null points at what its type says, for the time of the call,
//! is the promise of the caller (include/amdgpu/runtime.h), and the reason why the unsafe blocks of this file are sound.

use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;

use crate::status::{Answer, Failure};

/// A struct beyond this size is a size that was not set.
const MAX_STRUCT_BYTES: usize = 4096;

/// A text that ends with a null byte, or null.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

impl Text {
    /// The text; null is an error.
    pub fn required<'a>(self, name: &str) -> Answer<&'a str> {
        self.optional(name)?
            .ok_or_else(|| Failure::invalid(format!("{name} is NULL; pass a text")))
    }

    /// The text, `None` for null.
    pub fn optional<'a>(self, name: &str) -> Answer<Option<&'a str>> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not null, so it is a text that ends with a null byte and lives as long as the call.
        let text = unsafe { CStr::from_ptr(self.0) };
        match text.to_str() {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(Failure::invalid(format!("{name} is no UTF-8: {error}"))),
        }
    }
}

/// Where an answer goes.
#[repr(transparent)]
pub struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Checked before anything is done, so that a call which cannot answer changes nothing.
    pub fn required<'a>(self, name: &str) -> Answer<&'a mut MaybeUninit<T>> {
        let place = self.optional();
        place.ok_or_else(|| Failure::invalid(format!("{name} is NULL; the answer needs a place")))
    }

    /// The place, `None` for null.
    pub fn optional<'a>(self) -> Option<&'a mut MaybeUninit<T>> {
        // SAFETY: null or a place for a value, to which nobody else writes during the call.
        unsafe { self.0.cast::<MaybeUninit<T>>().as_mut() }
    }
}

/// The beginning of an array of the caller, whose length is another parameter.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Items<T>(*const T);

impl<T> Items<T> {
    /// An array whose address came as a number, inside of a struct.
    pub fn from_address(address: u64) -> Self {
        Self(std::ptr::with_exposed_provenance(address as usize))
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The array; it may be null where it has no items.
    pub fn slice<'a>(self, count: usize, name: &str) -> Answer<&'a [T]> {
        if count == 0 {
            return Ok(&[]);
        }
        check_items(self.0, count, name)?;
        // SAFETY: not null and aligned, so it holds `count` values for the time of the call.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

/// An array that the caller wants filled.
#[repr(transparent)]
pub struct ItemsOut<T>(*mut T);

impl<T> ItemsOut<T> {
    /// The array; it may be null where it has no items. Only for types of which every bit pattern is a value.
    pub fn slice<'a>(self, count: usize, name: &str) -> Answer<&'a mut [T]>
    where
        T: Number,
    {
        if count == 0 {
            return Ok(&mut []);
        }
        check_items(self.0, count, name)?;
        // SAFETY: not null and aligned, so it holds `count` numbers, which nobody else uses during the call.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0, count) })
    }

    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// Types of which every bit pattern is a value.
pub trait Number: Copy {}

impl Number for u8 {}
impl Number for u32 {}
impl Number for u64 {}
impl Number for f32 {}
impl Number for f64 {}

fn check_items<T>(items: *const T, count: usize, name: &str) -> Answer {
    if items.is_null() {
        return Err(Failure::invalid(format!(
            "{name} is NULL, with {count} items"
        )));
    }
    if !items.is_aligned() {
        let wanted = align_of::<T>();
        return Err(Failure::invalid(format!(
            "{name} is at {items:p}, which is no multiple of {wanted} bytes"
        )));
    }
    if count
        .checked_mul(size_of::<T>())
        .is_none_or(|bytes| bytes > isize::MAX as usize)
    {
        return Err(Failure::invalid(format!(
            "{name} cannot have {count} items"
        )));
    }
    Ok(())
}

/// A struct that begins with its size in bytes, a `uint64_t`, as the caller's header knows it.
///
/// # Safety
///
/// `repr(C)`, without references, and all zeros is a value of it.
pub unsafe trait Versioned: Copy {
    /// Its name in C.
    const NAME: &'static str;
    /// Its size in the first version that had it.
    const FIRST_BYTES: usize;
}

/// Options of the caller, or null for the defaults.
#[repr(transparent)]
pub struct Options<T>(*const T);

impl<T: Versioned> Options<T> {
    /// The options; what the caller's version does not have is zero, which means the default everywhere.
    pub fn read(self) -> Answer<T> {
        if self.0.is_null() {
            // SAFETY: all zeros is a value of such structs.
            return Ok(unsafe { MaybeUninit::zeroed().assume_init() });
        }
        let given = stated_size::<T>(self.0)?;
        let bytes = self.0.cast::<u8>();
        // SAFETY: the caller's struct has as many bytes as it states.
        let (known, more) = unsafe {
            let all = std::slice::from_raw_parts(bytes, given);
            all.split_at(given.min(size_of::<T>()))
        };
        if more.iter().any(|byte| *byte != 0) {
            return Err(Failure::invalid(format!(
                "{} has {given} bytes, and this version of the library knows {}; options beyond these are set",
                T::NAME,
                size_of::<T>()
            )));
        }
        let mut options = MaybeUninit::<T>::zeroed();
        // SAFETY: `known` is not longer than the struct, whose other bytes are zero.
        unsafe {
            std::ptr::copy_nonoverlapping(known.as_ptr(), options.as_mut_ptr().cast(), known.len());
            Ok(options.assume_init())
        }
    }
}

/// A struct of the caller that an answer goes into; `size_bytes` is set by the caller.
#[repr(transparent)]
pub struct Described<T>(*mut T);

impl<T: Versioned> Described<T> {
    /// As [`Described::required`], `None` for null.
    pub fn optional(self) -> Answer<Option<Place<T>>> {
        if self.0.is_null() {
            return Ok(None);
        }
        self.required("").map(Some)
    }

    /// Checked before anything is done. The answer is written by [`Place::set`].
    pub fn required(self, name: &str) -> Answer<Place<T>> {
        if self.0.is_null() {
            return Err(Failure::invalid(format!(
                "{name} is NULL; the answer needs a place"
            )));
        }
        let given = stated_size::<T>(self.0)?;
        Ok(Place {
            to: self.0,
            bytes: given.min(size_of::<T>()),
        })
    }
}

/// A struct whose size was checked.
pub struct Place<T> {
    to: *mut T,
    bytes: usize,
}

impl<T: Versioned> Place<T> {
    /// Fill in what the caller's version has; its `size_bytes` stays.
    pub fn set(self, value: &T) {
        let size_bytes = size_of::<u64>();
        // SAFETY: the caller's struct has as many bytes as it states, and `bytes` are no more than those of `value`.
        unsafe {
            let from = std::ptr::from_ref(value).cast::<u8>().add(size_bytes);
            let to = self.to.cast::<u8>().add(size_bytes);
            std::ptr::copy_nonoverlapping(from, to, self.bytes - size_bytes);
        }
    }
}

fn stated_size<T: Versioned>(given: *const T) -> Answer<usize> {
    if !given.is_aligned() {
        return Err(Failure::invalid(format!(
            "{} is at {given:p}, which is not aligned",
            T::NAME
        )));
    }
    // SAFETY: not null, so it is such a struct, which begins with its size.
    let stated = unsafe { given.cast::<u64>().read() };
    let size = usize::try_from(stated).unwrap_or(usize::MAX);
    if !(T::FIRST_BYTES..=MAX_STRUCT_BYTES).contains(&size) {
        return Err(Failure::invalid(format!(
            "size_bytes of {} is {stated}; it is {} in this version: initialise the struct with its _INIT macro",
            T::NAME,
            size_of::<T>()
        )));
    }
    Ok(size)
}

/// A text in an array of fixed length, cut at a character where it is longer; it ends with a null byte.
pub fn fixed_text<const N: usize>(text: &str) -> [u8; N] {
    let mut array = [0; N];
    let mut end = text.len().min(N - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    array[..end].copy_from_slice(&text.as_bytes()[..end]);
    array
}
