//! runtime.h: texts that the library hands out.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use crate::borrowed::Out;
use crate::handles::{self, Handle, Object};
use crate::status::{Answer, Status, answer, c_text};

/// A text; it lives as long as its handle.
pub struct TextObject(CString);

impl Object for TextObject {
    const KIND: u8 = 11;
}

impl TextObject {
    /// A handle of a text.
    pub fn insert(text: &str) -> Handle {
        handles::insert(Arc::new(Self(c_text(text))))
    }
}

/// The characters of a text, ended by a null byte, and how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_text_get(
    text: Handle,
    data: Out<*const c_char>,
    length: Out<u64>,
) -> Status {
    answer(|| -> Answer {
        let place = data.required("data")?;
        let text = handles::get::<TextObject>(text, "text")?;
        place.write(text.0.as_ptr());
        if let Some(length) = length.optional() {
            length.write(text.0.as_bytes().len() as u64);
        }
        Ok(())
    })
}
