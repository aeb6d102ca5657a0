//! kernel.h: kernels, launches and prepared launches.

use std::sync::Arc;

use amdgpu_array::recording::is_recording;
use amdgpu_aura::{CompileRequest, CoreType, Kernel, LaunchShape, PackedArguments};
use amdgpu_compiler::CompileOptions;
use amdgpu_hal::LaunchConfig;

use crate::arguments::{CArgument, Converted, Used};
use crate::borrowed::{Described, Items, Options, Out, Text, Versioned, fixed_text};
use crate::captured_graph;
use crate::device::parse_level;
use crate::handles::{self, Handle, Object};
use crate::objects::{DeviceObject, KernelObject, StreamObject};
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

/// `agpu_define`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Define {
    name: Text,
    value: Text,
}

/// `agpu_compile_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CCompileOptions {
    size_bytes: u64,
    kernel_name: Text,
    file_name: Text,
    core_type: Text,
    optimization_level: Text,
    defines: Items<Define>,
    define_count: u64,
    fast_math: u32,
    checked: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for CCompileOptions {
    const NAME: &'static str = "agpu_compile_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl CCompileOptions {
    fn options(&self, device: &DeviceObject) -> Answer<CompileOptions> {
        let level = match self.optimization_level.optional("optimization_level")? {
            Some(level) => parse_level(level)?,
            None => device.level,
        };
        let mut defines = Vec::new();
        for define in self.defines.slice(self.define_count as usize, "defines")? {
            let value = define.value.optional("value of a define")?.unwrap_or("1");
            defines.push((
                define.name.required("name of a define")?.to_owned(),
                value.to_owned(),
            ));
        }
        let file_name = self.file_name.optional("file_name")?;
        Ok(CompileOptions {
            name: file_name.unwrap_or("kernel.hip").to_owned(),
            optimization_level: level,
            fast_math: self.fast_math != 0,
            checked: self.checked != 0,
            defines,
            ..CompileOptions::default()
        })
    }
}

/// `agpu_kernel_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelFacts {
    size_bytes: u64,
    name: [u8; 128],
    signature: [u8; 512],
    parameter_count: u32,
    max_threads_per_block: u32,
    static_shared_bytes: u64,
    compile_seconds: f64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for KernelFacts {
    const NAME: &'static str = "agpu_kernel_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_launch_shape`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLaunchShape {
    size_bytes: u64,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for CLaunchShape {
    const NAME: &'static str = "agpu_launch_shape";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl Options<CLaunchShape> {
    fn config(self, kernel: &Kernel) -> Answer<LaunchConfig> {
        let shape = self.read()?;
        if shape.size_bytes == 0 {
            return Err(Failure::invalid(
                "shape is NULL; a launch needs a grid and a block",
            ));
        }
        // What a caller left out is 1, as in C++.
        let extents = |given: [u32; 3]| given.map(|extent| i64::from(extent.max(1)));
        Ok(kernel.check_shape(&LaunchShape {
            grid: extents(shape.grid),
            block: extents(shape.block),
            shared_bytes: i64::try_from(shape.shared_bytes).unwrap_or(i64::MAX),
        })?)
    }
}

/// Compile a kernel from source, or find it in the cache.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_kernel_compile(
    device: Handle,
    source: Text,
    options: Options<CCompileOptions>,
    kernel: Out<Handle>,
) -> Status {
    answer(|| {
        let place = kernel.required("kernel")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let options = options.read()?;
        let core = options.core_type.optional("core_type")?.unwrap_or("aura");
        let request = CompileRequest {
            source: source.required("source")?,
            kernel_name: options.kernel_name.optional("kernel_name")?,
            core: CoreType::from_name(core)?,
            options: options.options(&device)?,
        };
        let kernel = device.context.compile(&request, toolchain::of_process())?;
        place.write(handles::insert(Arc::new(KernelObject { kernel, device })));
        Ok(())
    })
}

/// Facts of a kernel.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_kernel_info(kernel: Handle, info: Described<KernelFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let kernel = handles::get::<KernelObject>(kernel, "kernel")?;
        let facts = kernel.kernel.facts();
        place.set(&KernelFacts {
            size_bytes: size_of::<KernelFacts>() as u64,
            name: fixed_text(&facts.name),
            signature: fixed_text(&facts.signature),
            parameter_count: facts.parameters.len() as u32,
            max_threads_per_block: facts
                .max_threads_per_block
                .unwrap_or(kernel.device.context.info().max_threads_per_block),
            static_shared_bytes: facts.static_shared_bytes,
            compile_seconds: kernel.kernel.compile_seconds(),
        });
        Ok(())
    })
}

/// Launch: in `stream` and return at once, or wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_kernel_launch(
    kernel: Handle,
    shape: Options<CLaunchShape>,
    arguments: Items<CArgument>,
    count: usize,
    stream: Handle,
) -> Status {
    answer(|| {
        let kernel = handles::get::<KernelObject>(kernel, "kernel")?;
        let config = shape.config(&kernel.kernel)?;
        let converted = Converted::of(arguments, count, &kernel.device)?;
        let stream = StreamObject::of(stream, &kernel.device)?;
        let used = converted.used;
        if is_recording() {
            let packed = kernel.kernel.pack_arguments(&converted.arguments)?;
            return captured_graph::record_launch(&kernel, config, &packed, used, stream.as_ref());
        }
        used.order(&kernel, stream.as_ref())?;
        let queue = stream.as_ref().map(|stream| &stream.queue);
        // SAFETY: memory among the arguments is held back by the allocator until the stream has passed, arrays are kept until then; bare
        // addresses are the caller's promise.
        let launched = unsafe { kernel.kernel.run(&config, &converted.arguments, queue) };
        used.keep(&kernel, stream.as_ref())?;
        Ok(launched?)
    })
}

/// A launch whose shape and arguments are checked once.
pub struct LaunchObject {
    kernel: Arc<KernelObject>,
    config: LaunchConfig,
    packed: PackedArguments,
    used: Used,
}

impl Object for LaunchObject {
    const KIND: u8 = 6;
}

/// Check a launch that will be repeated.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_launch_prepare(
    kernel: Handle,
    shape: Options<CLaunchShape>,
    arguments: Items<CArgument>,
    count: usize,
    launch: Out<Handle>,
) -> Status {
    answer(|| {
        let place = launch.required("launch")?;
        let kernel = handles::get::<KernelObject>(kernel, "kernel")?;
        let config = shape.config(&kernel.kernel)?;
        let converted = Converted::of(arguments, count, &kernel.device)?;
        let packed = kernel.kernel.pack_arguments(&converted.arguments)?;
        place.write(handles::insert(Arc::new(LaunchObject {
            kernel,
            config,
            packed,
            used: converted.used,
        })));
        Ok(())
    })
}

/// Run a prepared launch: in `stream` and return at once, or wait.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_launch_run(launch: Handle, stream: Handle) -> Status {
    answer(|| {
        let launch = handles::get::<LaunchObject>(launch, "launch")?;
        let kernel = &launch.kernel;
        let stream = StreamObject::of(stream, &kernel.device)?;
        if is_recording() {
            let used = launch.used.clone();
            return captured_graph::record_launch(
                kernel,
                launch.config,
                &launch.packed,
                used,
                stream.as_ref(),
            );
        }
        launch.used.order(kernel, stream.as_ref())?;
        let queue = stream.as_ref().map(|stream| &stream.queue);
        let (packed, config) = (&launch.packed, &launch.config);
        // SAFETY: this kernel packed the arguments; their memory is held back by the allocator until the stream has passed, arrays are
        // kept until then, and bare addresses are the caller's promise.
        let launched = unsafe { kernel.kernel.launch_packed(config, packed, queue) };
        launch.used.keep(kernel, stream.as_ref())?;
        Ok(launched?)
    })
}
