//! The few functions of `libjulia` that embedding needs, and the start of the runtime.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::Error;
use crate::julia::discovery::Installation;
use crate::julia::guest::Guest;

type EvalStringFn = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type StringPtrFn = unsafe extern "C" fn(*mut c_void) -> *const c_char;
type ExceptionClearFn = unsafe extern "C" fn();
type IsInitializedFn = unsafe extern "C" fn() -> c_int;
type ParseOptsFn = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char);
type InitWithImageFn = unsafe extern "C" fn(*const c_char, *const c_char);

/// Names of `jl_init_with_image` by version: a macro up to 1.5, plain from 1.6, renamed in 1.12.
const INIT_NAMES: [&str; 3] = [
    "jl_init_with_image",
    "jl_init_with_image_file",
    "jl_init_with_image__threading",
];

/// Without Julia's signal handlers Ctrl-C and faults stay with the host program. Without them only one thread may run Julia, since the
/// others are stopped through SIGSEGV. Both options exist in every version from 1.5.
const OPTIONS: [&CStr; 3] = [c"amdgpu", c"--handle-signals=no", c"--threads=1"];

/// The functions of a running runtime. Only the thread that started it may call them, so this is neither `Send` nor `Sync`.
pub(crate) struct Api {
    eval_string: EvalStringFn,
    string_ptr: StringPtrFn,
    exception_clear: ExceptionClearFn,
    // Keeps the type on its thread.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Api {
    /// Open `libjulia` and start the runtime on the calling thread, which owns it from then on.
    pub(crate) fn start(installation: &Installation) -> Result<Self, Error> {
        refuse_second_runtime()?;
        let missing = |reason: String| Error::JuliaMissing { reason };
        let shown = installation.library.display();
        // RTLD_GLOBAL: the system image looks the runtime's symbols up by name.
        // SAFETY: it is the library that this Julia itself runs on; its initialisers set up its own globals.
        let library = unsafe { Library::open(Some(&installation.library), RTLD_NOW | RTLD_GLOBAL) }
            .map_err(|error| missing(format!("{shown} cannot be opened: {error}")))?;
        // Leaked: the runtime cannot be unloaded.
        let library: &'static Library = Box::leak(Box::new(library));
        let lacks = |name: &str| missing(format!("{shown} does not export {name}"));
        // SAFETY: each name is requested with its prototype in julia.h, which is the same from 1.5 to 1.12.
        let (api, parse_opts, init) = unsafe {
            (
                Self {
                    eval_string: symbol(library, "jl_eval_string")
                        .ok_or_else(|| lacks("jl_eval_string"))?,
                    string_ptr: symbol(library, "jl_string_ptr")
                        .ok_or_else(|| lacks("jl_string_ptr"))?,
                    exception_clear: symbol(library, "jl_exception_clear")
                        .ok_or_else(|| lacks("jl_exception_clear"))?,
                    _thread: std::marker::PhantomData,
                },
                symbol::<ParseOptsFn>(library, "jl_parse_opts")
                    .ok_or_else(|| lacks("jl_parse_opts"))?,
                INIT_NAMES
                    .iter()
                    .find_map(|name| symbol::<InitWithImageFn>(library, name))
                    .ok_or_else(|| lacks(INIT_NAMES[0]))?,
            )
        };
        let bindir = c_path(&installation.bindir)?;
        // Julia ends the process when its image does not exist.
        if !installation.image.is_file() {
            return Err(missing(format!(
                "its system image {} is gone",
                installation.image.display()
            )));
        }
        let image = c_path(&installation.image)?;
        let guest = Guest::arrive();
        // Julia keeps pointers into the arguments and paths: they are leaked.
        let mut arguments: Vec<*mut c_char> = OPTIONS
            .iter()
            .map(|option| option.as_ptr().cast_mut())
            .collect();
        arguments.push(std::ptr::null_mut());
        let mut count = OPTIONS.len() as c_int;
        let mut pointer = arguments.leak().as_mut_ptr();
        // SAFETY: argc and argv describe a null-terminated array that lives for ever, and the options are read, not written; the
        // paths are valid strings that live for ever; no runtime is initialised yet.
        unsafe {
            parse_opts(&raw mut count, &raw mut pointer);
            init(bindir.into_raw(), image.into_raw());
        }
        guest.tidy_up(&["libjulia"]);
        Ok(api)
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

/// Julia can live once in a process, on the thread that started it.
fn refuse_second_runtime() -> Result<(), Error> {
    // SAFETY: the prototype is that of julia.h; the function only reads a flag.
    let running = unsafe {
        symbol::<IsInitializedFn>(&Library::this(), "jl_is_initialized")
            .is_some_and(|is_initialized| is_initialized() != 0)
    };
    if running {
        return Err(Error::Foreign {
            message: "this process already runs a Julia runtime (juliacall?): its table must be handed over, before the Math core is used"
                .to_owned(),
        });
    }
    Ok(())
}

/// # Safety
///
/// `T` must be the type of a function pointer with the prototype of `name`.
unsafe fn symbol<T: Copy>(library: &Library, name: &str) -> Option<T> {
    // SAFETY: passed on from the caller.
    unsafe { library.get::<T>(name.as_bytes()) }
        .ok()
        .map(|found| *found)
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(OsStr::as_bytes(path.as_os_str())).map_err(|_| Error::JuliaMissing {
        reason: format!("the path {} contains NUL", path.display()),
    })
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
