//! Opens `libjulia` and starts the runtime.

use std::ffi::{CStr, CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::Error;
use crate::julia::api::{Api, symbol};
use crate::julia::discovery::Installation;
use crate::julia::guest::Guest;

type IsInitializedFn = unsafe extern "C" fn() -> c_int;
type ParseOptsFn = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char);
type InitWithImageFn = unsafe extern "C" fn(*const c_char, *const c_char);

/// Names of the same function by version: a macro over the last one up to 1.5, plain from 1.6, renamed in 1.12.
const INIT_NAMES: [&str; 3] = [
    "jl_init_with_image",
    "jl_init_with_image_file",
    "jl_init_with_image__threading",
];

/// Without Julia's signal handlers Ctrl-C and faults stay with the host program. Then only one thread may run Julia, since the others
/// would be stopped through SIGSEGV; from 1.12 one thread asked for by name also means no interactive one. Every version from 1.5 knows
/// both options; an unknown one would end the process.
const OPTIONS: [&CStr; 3] = [c"amdgpu", c"--handle-signals=no", c"--threads=1"];

unsafe extern "C" {
    // POSIX getopt's position, which Julia's parser starts from; the libc crate does not declare it for Linux.
    static mut optind: c_int;
}

struct Symbols {
    api: Api,
    parse_opts: ParseOptsFn,
    init: InitWithImageFn,
}

/// Start the runtime on the calling thread, which owns it from then on.
pub(crate) fn start(installation: &Installation) -> Result<Api, Error> {
    refuse_second_runtime()?;
    let library = open(&installation.library)?;
    let symbols = resolve(library).map_err(|name| {
        missing(format!(
            "{} does not export {name}",
            installation.library.display()
        ))
    })?;
    // Julia ends the process when its image does not exist.
    if !installation.image.is_file() {
        return Err(missing(format!(
            "its system image {} is gone",
            installation.image.display()
        )));
    }
    let bindir = c_path(&installation.bindir)?;
    let image = c_path(&installation.image)?;
    let guest = Guest::arrive();
    parse_options(symbols.parse_opts);
    // SAFETY: two valid strings, leaked because Julia keeps them; no runtime is initialised yet, and the image is that of this library.
    unsafe { (symbols.init)(bindir.into_raw(), image.into_raw()) };
    guest.tidy_up(&["libjulia"]);
    Ok(symbols.api)
}

fn missing(reason: String) -> Error {
    Error::JuliaMissing { reason }
}

/// Julia can live once in a process, on the thread that started it.
fn refuse_second_runtime() -> Result<(), Error> {
    // SAFETY: the prototype is that of julia.h; the function only reads a flag.
    let running = unsafe {
        symbol::<IsInitializedFn>(&Library::this(), "jl_is_initialized")
            .is_ok_and(|is_initialized| is_initialized() != 0)
    };
    if running {
        return Err(Error::Foreign {
            message: "this process already runs a Julia runtime (juliacall?): hand its table over before the Math core is used"
                .to_owned(),
        });
    }
    Ok(())
}

/// The runtime that unwinds C++ exceptions on every Linux with glibc.
const UNWINDER: &str = "libgcc_s.so.1";

fn open(path: &Path) -> Result<&'static Library, Error> {
    // libjulia brings the libunwind of the HP project into the global scope, whose `_Unwind_Resume` cannot go on with what libgcc has begun:
    // the first C++ exception in a library opened later would abort the process. What stands in the scope before it wins.
    // SAFETY: the unwinder has no initialisers of consequence and is usually there already.
    if let Ok(unwinder) = unsafe { Library::open(Some(UNWINDER), RTLD_NOW | RTLD_GLOBAL) } {
        // It stays: what is bound to it may outlive this function.
        std::mem::forget(unwinder);
    }
    // RTLD_GLOBAL: the system image looks the runtime's symbols up by name.
    // SAFETY: it is the library that this Julia itself runs on; its initialisers set up its own globals.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }
        .map_err(|error| missing(format!("{} cannot be opened: {error}", path.display())))?;
    // Leaked: a runtime cannot be unloaded.
    Ok(Box::leak(Box::new(library)))
}

fn resolve(library: &Library) -> Result<Symbols, &'static str> {
    // SAFETY: the types are the prototypes of julia.h, the same from 1.5 to 1.12.
    unsafe {
        Ok(Symbols {
            api: Api::resolve(library)?,
            parse_opts: symbol(library, "jl_parse_opts")?,
            init: INIT_NAMES
                .iter()
                .find_map(|name| symbol(library, name).ok())
                .ok_or(INIT_NAMES[0])?,
        })
    }
}

fn parse_options(parse_opts: ParseOptsFn) {
    // Julia may keep pointers into the array: it is leaked.
    let mut arguments: Vec<*mut c_char> = OPTIONS
        .iter()
        .map(|option| option.as_ptr().cast_mut())
        .collect();
    arguments.push(std::ptr::null_mut());
    let mut count = OPTIONS.len() as c_int;
    let mut pointer = arguments.leak().as_mut_ptr();
    // SAFETY: argc and argv describe a null-terminated array that lives for ever, whose strings are read only. The position of getopt
    // is the host's: it may be past our few arguments, and is put back.
    unsafe {
        let position = optind;
        optind = 1;
        parse_opts(&raw mut count, &raw mut pointer);
        optind = position;
    }
}

fn c_path(path: &Path) -> Result<CString, Error> {
    CString::new(OsStr::as_bytes(path.as_os_str()))
        .map_err(|_| missing(format!("the path {} contains NUL", path.display())))
}
