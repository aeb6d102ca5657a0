//! The text of the kernel that writes out the patches of images (im2col), as the operands that weight gradients multiply.

use super::source;
use super::transpose::word;

/// What the text of the kernel depends on.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// Elements, or vectors of channels, are moved as words of so many bytes.
    pub word_bytes: usize,
    /// Whether rows of the result are pixels, with the taps and channels of each behind each other; else they are channels and taps.
    pub has_pixel_rows: bool,
    /// Whether indices fit 32 bits.
    pub is_narrow: bool,
}

impl Signature {
    /// A work-item writes the window of a channel at a pixel of the result, so that the taps share its index; neighbours write side by side.
    #[must_use]
    pub fn text(self) -> String {
        let index = if self.is_narrow {
            "unsigned"
        } else {
            "unsigned long long"
        };
        let (places, first, step) = if self.has_pixel_rows {
            (
                "channel = index % (Index)channels, pixel = index / (Index)channels",
                "pixel * (Index)width + channel",
                "channels",
            )
        } else {
            (
                "pixel = index % (Index)pixels, channel = index / (Index)pixels",
                "channel * ((Index)window_rows * (Index)window_columns * (Index)pixels) + pixel",
                "pixels",
            )
        };
        format!(
            r#"
typedef {word} T;
typedef {index} Index;
extern "C" __global__ void patches(unsigned long long image_address, void* out_memory, unsigned long long channels, unsigned long long pixels, unsigned long long width,
                                   unsigned long long image_rows, unsigned long long image_columns, unsigned long long result_rows,
                                   unsigned long long result_columns, unsigned long long window_rows, unsigned long long window_columns,
                                   long long stride_rows, long long stride_columns, long long padding_rows, long long padding_columns,
                                   long long dilation_rows, long long dilation_columns, long long batch_stride, long long channel_stride,
                                   long long row_stride, long long column_stride) {{
    const Index index = (Index)blockIdx.x * {block} + threadIdx.x;
    if (index >= (Index)channels * (Index)pixels) return;
    const Index {places};
    const Index column = pixel % (Index)result_columns, line = pixel / (Index)result_columns;
    const Index row = line % (Index)result_rows, batch = line / (Index)result_rows;
    const T* image = (const T*)image_address + (long long)batch * batch_stride + (long long)channel * channel_stride;
    T* to = (T*)out_memory + ({first});
    const long long top = (long long)row * stride_rows - padding_rows, left = (long long)column * stride_columns - padding_columns;
    for (Index i = 0; i < (Index)window_rows; i++) {{
        const long long y = top + (long long)i * dilation_rows;
        const bool is_row = y >= 0 && y < (long long)image_rows;
        for (Index j = 0; j < (Index)window_columns; j++) {{
            const long long x = left + (long long)j * dilation_columns;
            T value = 0;
            if (is_row && x >= 0 && x < (long long)image_columns) value = image[y * row_stride + x * column_stride];
            *to = value;
            to += {step};
        }}
    }}
}}
"#,
            word = word(self.word_bytes),
            block = source::BLOCK,
        )
    }
}
