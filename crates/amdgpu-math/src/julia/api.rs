//! The few functions of `libjulia` that are called after its start.

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;

use libloading::os::unix::Library;

use crate::Error;

type EvalStringFn = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type StringPtrFn = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type ExceptionClearFn = unsafe extern "C" fn();

/// The functions of a running runtime. Only the thread that started it may call them, so this is neither `Send` nor `Sync`.
pub(crate) struct Api {
    eval_string: EvalStringFn,
    string_ptr: StringPtrFn,
    exception_clear: ExceptionClearFn,
    _stays_on_its_thread: PhantomData<*const ()>,
}

impl Api {
    /// Look the functions up; the error is the name of one that is not there.
    pub(crate) fn resolve(library: &Library) -> Result<Self, &'static str> {
        // SAFETY: the types are the prototypes of julia.h, the same from 1.5 to 1.12.
        unsafe {
            Ok(Self {
                eval_string: symbol(library, "jl_eval_string")?,
                string_ptr: symbol(library, "jl_string_ptr")?,
                exception_clear: symbol(library, "jl_exception_clear")?,
                _stays_on_its_thread: PhantomData,
            })
        }
    }

    /// Evaluate `code` in `Main` and return `string(value)`; an exception gives its text.
    pub(crate) fn evaluate(&self, code: &str) -> Result<String, Error> {
        // The first character tells value and exception apart. `invokelatest`: the code may have defined the method that shows its own
        // exception. A failing `showerror` leaves the type's name.
        let wrapped = format!(
            "try; string('+', Base.invokelatest(string, Base.include_string(Main, {}))); \
             catch exception; cause = exception isa LoadError ? exception.error : exception; \
             string('-', try; Base.invokelatest(sprint, showerror, cause); catch; string(typeof(cause)); end); end",
            julia_literal(code)
        );
        let wrapped = CString::new(wrapped)
            .map_err(|_| Error::InvalidArgument("Julia code must not contain NUL".to_owned()))?;
        // SAFETY: on the owning thread; the text is valid for the call.
        let value = unsafe { (self.eval_string)(wrapped.as_ptr()) };
        if value.is_null() {
            // SAFETY: on the owning thread.
            unsafe { (self.exception_clear)() };
            return Err(Error::Foreign {
                message: "Julia raised an exception that it could not put into words".to_owned(),
            });
        }
        // SAFETY: the expression evaluates to a String in either branch, whose bytes end in NUL; nothing of Julia runs, so nothing is
        // collected, until they are copied.
        let text = unsafe { CStr::from_ptr((self.string_ptr)(value)) }.to_string_lossy();
        match text.split_at_checked(1) {
            Some(("+", answer)) => Ok(answer.to_owned()),
            Some(("-", message)) => Err(Error::Foreign {
                message: message.to_owned(),
            }),
            _ => Err(Error::Foreign {
                message: "Julia gave no answer".to_owned(),
            }),
        }
    }
}

/// The function `name`, or its name as the error.
///
/// # Safety
///
/// `T` must be the type of a pointer to a function with the prototype of `name`.
pub(crate) unsafe fn symbol<T: Copy>(
    library: &Library,
    name: &'static str,
) -> Result<T, &'static str> {
    // SAFETY: passed on from the caller.
    unsafe { library.get::<T>(name.as_bytes()) }
        .map(|found| *found)
        .map_err(|_| name)
}

/// `text` as a Julia string literal.
pub(crate) fn julia_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\' | '$') {
            literal.push('\\');
        }
        literal.push(character);
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_escape_what_julia_would_interpret() {
        assert_eq!(julia_literal(r#"a"b\c$d"#), r#""a\"b\\c\$d""#);
        assert_eq!(julia_literal("größer\n"), "\"größer\n\"");
    }
}
