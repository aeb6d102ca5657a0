//! The compiler as its callers see it: options are checked, and the stages run on a thread with a stack of its own.

use once_cell::race::OnceBox;

use crate::compiled_unit::CompiledUnit;
use crate::error::Error;
use crate::library::Library;
use crate::options::CompileOptions;
use crate::target::{Target, TargetKind};
use crate::{effort, passes, pipeline};

/// Largest source: far above any kernel file, small enough that positions fit into 32 bits after macro expansion.
pub const MAX_SOURCE_BYTES: usize = 16 * 1024 * 1024;
/// Longest text that asks for an instance of a kernel.
const MAX_NAME_EXPRESSION_BYTES: usize = 1000;
/// Stack of the thread a compile runs on. The parser bounds nesting (`MAX_NESTING`, `MAX_EXPRESSION_HEIGHT`); the deepest
/// source it lets through needs about a quarter of this in a debug build.
const STACK_BYTES: usize = 256 * 1024 * 1024;

/// The compiler. Cheap to make, may be used from many threads at once; has no state but the device library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compiler;

/// Two threads that come first may both load it. What makes one wait for the other would also make a child wait that is forked meanwhile.
static LIBRARY: OnceBox<Result<Library, String>> = OnceBox::new();

fn library() -> Result<&'static Library, Error> {
    let library = LIBRARY.get_or_init(|| Box::new(Library::load()));
    library.as_ref().map_err(|message| Error::Internal {
        message: format!("the device library does not compile: {message}"),
    })
}

impl Compiler {
    pub fn new() -> Self {
        Self
    }

    /// Part of the key of cached code: changes whenever the same source could give other code.
    pub fn identity() -> &'static str {
        env!("AMDGPU_COMPILER_IDENTITY")
    }

    /// Compiles a source to LLVM IR text for a target.
    ///
    /// ```
    /// use amdgpu_compiler::{CompileOptions, Compiler, Target};
    /// let source = "__global__ void add(float* c, const float* a, const float* b, int n) {
    ///     int i = blockIdx.x * blockDim.x + threadIdx.x;
    ///     if (i < n) c[i] = a[i] + b[i];
    /// }";
    /// let target = Target::parse("x86_64").unwrap();
    /// let unit = Compiler::new().compile(source, &CompileOptions::default(), &target).unwrap();
    /// assert_eq!(unit.kernels[0].name, "add");
    /// assert_eq!(unit.kernels[0].argument_buffer_bytes, 28);
    /// ```
    #[allow(clippy::unused_self)] // An object, so that state may come without changing every caller.
    pub fn compile(
        &self,
        source: &str,
        options: &CompileOptions,
        target: &Target,
    ) -> Result<CompiledUnit, Error> {
        check_options(source, options)?;
        if options.checked && target.kind != TargetKind::Host {
            return Err(Error::InvalidOption {
                message: format!(
                    "checked=True works on the CPU device; this code is for {}",
                    target.name
                ),
            });
        }
        let library = library()?;
        std::thread::scope(|scope| {
            let work = || {
                effort::within(&options.name, source.len(), || {
                    pipeline::run(library, source, options, target)
                })
            };
            let thread = std::thread::Builder::new()
                .name("amdgpu-compile".to_owned())
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, work);
            let thread = thread.map_err(|error| Error::Internal {
                message: format!("no thread for the compiler: {error}"),
            })?;
            thread.join().unwrap_or_else(|_| {
                Err(Error::Internal {
                    message: "the compiler failed on this source".to_owned(),
                })
            })
        })
    }
}

fn check_options(source: &str, options: &CompileOptions) -> Result<(), Error> {
    if source.len() > MAX_SOURCE_BYTES {
        return Err(Error::InvalidOption {
            message: format!(
                "{}: the source has {} bytes; the limit is {MAX_SOURCE_BYTES}",
                options.name,
                source.len()
            ),
        });
    }
    if source.trim().is_empty() {
        return Err(Error::KernelNotFound {
            message: format!(
                "{}: the source is empty; a kernel starts with __global__ void name(...)",
                options.name
            ),
        });
    }
    for name in &options.disabled_passes {
        if !passes::names().contains(&name.as_str()) {
            return Err(Error::InvalidOption {
                message: format!(
                    "there is no pass '{name}'; there are {}",
                    passes::names().join(", ")
                ),
            });
        }
    }
    for expression in &options.name_expressions {
        if expression.len() > MAX_NAME_EXPRESSION_BYTES
            || expression.contains(['\n', '\r', ';', '{', '}', '#', '"'])
        {
            return Err(Error::InvalidOption {
                message: format!(
                    "{expression:?} is not the name of a kernel: write name<float, 4>"
                ),
            });
        }
    }
    for (name, value) in &options.defines {
        let is_name = name.chars().enumerate().all(|(index, character)| {
            character == '_'
                || character.is_ascii_alphabetic()
                || index > 0 && character.is_ascii_digit()
        });
        if name.is_empty() || !is_name || value.contains(['\n', '\r']) {
            return Err(Error::InvalidOption {
                message: format!(
                    "'{name}' cannot be defined as '{value}': a name and one line of text are needed"
                ),
            });
        }
    }
    Ok(())
}
