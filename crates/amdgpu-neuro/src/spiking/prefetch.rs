//! Prefetches memory: the rows of spiking neurons are spread over memory, and a delivery would wait for each of them.

/// Bytes that a processor fetches at once.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks for the cache line of an element; one that does not exist is left alone.
#[inline]
pub(crate) fn element<T>(values: &[T], index: usize) {
    if index < values.len() {
        line(values.as_ptr().wrapping_add(index).cast());
    }
}

/// Asks for every cache line of a range of elements.
#[inline]
pub(crate) fn range<T>(values: &[T], begin: usize, end: usize) {
    let step = LINE_BYTES / size_of::<T>();
    let mut index = begin;
    while index < end {
        element(values, index);
        index += step;
    }
}

#[inline]
fn line(address: *const i8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which has no effect on any address that is not mapped.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
