"""Devices: list them, open them, compile and run kernels on them."""

from __future__ import annotations

import operator
import os
import threading
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, codegen, compile_options
from amdgpu.errors import (
    ClosedError,
    CoreNotEnabledError,
    InvalidArgumentError,
    InvalidTypeError,
    KernelNotFoundError,
)
from amdgpu.types import CORE_TYPES, TELEMETRY_LEVELS, DeviceInfo, KernelResult, OptimizationLevel, TelemetryLevel

if TYPE_CHECKING:
    from typing_extensions import Self

    from amdgpu.kernel import PendingKernel
    from amdgpu.profile import Profile

# The native module imports it when something is compiled. A child that is forked while another thread is inside an import would wait in it
# for ever, so it is imported here, without LLVM.
_CODEGEN = codegen

GPU_KINDS = ("hip", "cuda")
KINDS = (*GPU_KINDS, "cpu")
OPTIMIZATION_LEVELS = ("none", "low", "high", "max")


def list_devices() -> list[DeviceInfo]:
    """The devices of this machine, best first: AMD GPUs, NVIDIA GPUs, the CPU. `AMDGPU_DEVICES` may restrict or reorder them.

    Returns:
        One entry per device; its position is the `device_id` of every other function.

    Example:
        >>> import amdgpu
        >>> amdgpu.list_devices()[-1].kind
        'cpu'
    """
    natives = _native.list_devices()
    free = _free_bytes_of_gpus() if any(native["kind"] in GPU_KINDS for native in natives) else {}
    return [
        DeviceInfo.from_native(index, {"free_memory_bytes": free.get(native["name"]), **native})
        for index, native in enumerate(natives)
    ]


def _free_bytes_of_gpus() -> dict[str, int]:
    """Free memory by the GPUs' sensors, which count every process and open no device."""
    from amdgpu.telemetry import sensors

    known: dict[str, dict[str, float]] = {}
    for row in sensors.read():
        if row["value"] is not None and "device" in row["labels"]:
            known.setdefault(row["labels"]["device"], {})[row["metric"]] = row["value"]
    used, total = "amdgpu_memory_used_bytes", "amdgpu_memory_total_bytes"
    return {
        name: int(max(values[total] - values[used], 0))
        for name, values in known.items()
        if used in values and total in values
    }


class AMDGPUDevice:
    """An open device: compiles and runs kernels, holds memory, reports what it does.

    In the block of `with device:` it is the current device of the thread, which is afterwards what it was before. A device that the block
    itself opened, because nothing had used it, is closed at its end.

    Args:
        device_id: Index in `list_devices()`, or a name such as `cpu:0` or `null:gfx1100`.
        core_types: Core types to enable, out of aura, matrix, neuromorphic; None enables all.
        optimization_level: none, low, high or max; the default of `compile_kernel`.
        telemetry: Which launches of this device write telemetry records: "off", "standard" (a sample of short launches and of those
            in streams of a GPU, see docs/telemetry.md, and all others) or "detailed" (all); True means standard, False off. All launches
            are counted.
        memory: Options of the caching allocator, as a mapping or in the notation of `PYTORCH_ALLOC_CONF`: `max_split_size_mb`,
            `garbage_collection_threshold`, `limit_bytes` (the most that is reserved of each kind of memory). What is not named comes from
            `AMDGPU_ALLOC_CONF`. The first opening of a device decides; later ones may name the same.

    Raises:
        DeviceNotFoundError: No such device.
        UnknownCoreTypeError: A core type that does not exist.
        InvalidArgumentError: An option of the allocator that is unknown, makes no sense or is not the one that the device is open with.

    Example:
        >>> import amdgpu
        >>> with amdgpu.AMDGPUDevice("cpu:0", ["aura"]) as dev:
        ...     info = dev.initialize()
        >>> info.device
        'cpu:0'
    """

    def __init__(
        self,
        device_id: int | str = 0,
        core_types: Sequence[str] | None = None,
        *,
        optimization_level: OptimizationLevel = "high",
        telemetry: bool | TelemetryLevel = True,
        memory: Mapping[str, float] | str | None = None,
    ) -> None:
        if isinstance(core_types, str):
            core_types = [core_types]
        arguments.choice("initialize_device", "optimization_level", optimization_level, OPTIMIZATION_LEVELS)
        if core_types is not None:
            core_types = arguments.names("initialize_device", "core_types", core_types)
        if not isinstance(telemetry, str):
            telemetry = arguments.truth("initialize_device", "telemetry", telemetry)
        elif telemetry not in TELEMETRY_LEVELS:
            raise InvalidArgumentError(
                f"telemetry is {telemetry!r}; known are {', '.join(TELEMETRY_LEVELS)}, True and False"
            )
        self.device_id = device_id
        self.core_types: list[str] = list(CORE_TYPES if core_types is None else core_types)
        self.optimization_level = optimization_level
        self.telemetry: TelemetryLevel = telemetry if isinstance(telemetry, str) else "standard" if telemetry else "off"
        self._memory = _allocator_options(memory)
        # Of the `with` blocks around: what was the current device, and whether the block opened this one. Each thread has its own.
        self._blocks = threading.local()
        self._native: _native.Device | None = None

    def initialize(self) -> DeviceInfo:
        """Open the device. Opening an open device changes nothing.

        Returns:
            What the device is.

        Raises:
            DeviceNotFoundError: No such device.
            UnknownCoreTypeError: A core type that does not exist.
        """
        if self._native is None:
            self._native = _native.Device(
                self.device_id,
                self.core_types,
                optimization_level=self.optimization_level,
                telemetry=self.telemetry,
                memory=self._memory,
            )
        return self.info()

    @property
    def native(self) -> _native.Device:
        """The native device; opened on first use."""
        if self._native is None:
            self.initialize()
        native = self._native
        if native is None or native.is_closed:
            raise ClosedError(f"device {self.device_id!r} is closed")
        return native

    @property
    def is_open(self) -> bool:
        """Whether the device was initialised, not closed, and not lost by a fault."""
        return self._native is not None and not self._native.is_closed and not self._native.is_lost

    @property
    def _entered(self) -> list[tuple[int | str, bool]]:
        blocks: list[tuple[int | str, bool]] = self._blocks.__dict__.setdefault("entered", [])
        return blocks

    @property
    def name(self) -> str:
        """Name to address the device by, for example `cpu:0`."""
        return self.native.name

    def info(self) -> DeviceInfo:
        """What the device is, with the memory free now."""
        native = self.native
        names = [entry["name"] for entry in _native.list_devices()]
        index = names.index(native.name) if native.name in names else -1
        return DeviceInfo.from_native(index, native.info())

    @property
    def core_config(self) -> dict[str, dict[str, Any]]:
        """What each enabled core type consists of on this device; a fact that is not known is None.

        - `aura`: `core_count` (work-group processors of RDNA, compute units of CDNA, SMs, physical cores), `compute_units_per_core`,
          `optimization_level`, `telemetry_enabled`.
        - `matrix`: `core_count` and `tensor_units` (tensor cores, matrix cores, AI accelerators; tile units of a CPU), `simd_width`
          (float32 numbers of one vector instruction), `precision_modes`, `telemetry_enabled`. Without matrix units `core_count` is that of
          the compute units.
        - `neuromorphic`: `core_count` (parts of the device that step a network side by side), `neuron_capacity` (`lif` neurons without
          synapses that the device's memory holds), `synapse_density` (the highest share of possible connections that a projection may
          have), `learning_modes`, `telemetry_enabled`.

        Example:
            >>> import amdgpu
            >>> amdgpu.initialize_device("cpu:0", ["aura"]).core_config["aura"]["compute_units_per_core"]
            1
        """
        from amdgpu.core_config import describe

        return describe(self)

    def require_core(self, core_type: str) -> None:
        """Check that a core type was enabled.

        Raises:
            CoreNotEnabledError: It was not.
        """
        if not isinstance(core_type, str):
            raise InvalidTypeError(f"core_type must be one of {', '.join(CORE_TYPES)}, got {core_type!r}")
        if core_type not in self.core_types:
            raise CoreNotEnabledError(
                f"device {self.device_id!r} was initialised with {self.core_types}, not with {core_type!r}"
            )

    def compile_kernel(
        self,
        source: str,
        core_type: str = "aura",
        optimization_level: OptimizationLevel | None = None,
        *,
        name: str | None = None,
        fast_math: bool = False,
        defines: dict[str, str] | None = None,
        options: Sequence[str] = (),
        file_name: str = "kernel.hip",
        disabled_passes: Sequence[str] = (),
        dump_ir: str | os.PathLike[str] | None = None,
        checked: bool = False,
        profile: Profile | None = None,
        compiler: str | None = None,
    ) -> _native.Kernel:
        """Compile HIP-C source and load it.

        Args:
            source: Source text with at least one `__global__` function.
            core_type: Core type that the kernel is counted for.
            optimization_level: none, low, high or max; None takes the device's.
            name: Which kernel, when the source has several; of a template with its arguments, `name="scale<float, 4>"`.
            fast_math: Lets the compiler reorder floating-point operations; results are then no longer the same on every device.
            defines: Preprocessor macros.
            options: Options as other compilers have them: `-DNAME=VALUE`, `--use_fast_math`, and `-std=c++14`, which changes nothing: the
                language is the same for c++11 to c++20.
            file_name: Name that error messages show.
            disabled_passes: Passes of the compiler that do not run; `kernel.passes` lists those that did, with what each gained.
            dump_ir: Folder for the compiler's IR before its passes and after each of them, one file each.
            checked: On the CPU device: check bounds, null, freed and misaligned pointers, races and barriers while the kernel runs,
                and stop loops that outlive a time limit. Launches are many times slower.
            profile: What `profile_kernel` counted in a run of the same source and macros: loops are unrolled by how often they ran, and a
                launch whose numbers are those of the profiled run takes a copy of the kernel in which they are constants. No bit of the
                results changes.
            compiler: None for amdgpu's own; "hiprtc" on hip devices and "nvrtc" on cuda devices hand code generation to the vendor's, whose
                results need not be bit for bit those of other devices. The parameters are read by amdgpu's front end in either case.

        Returns:
            The kernel; `str(kernel)` is its handle.

        Raises:
            CompileError: The source has errors; the message lists all of them with line, column and caret.
            UnsupportedFeatureError: The source uses something that is not compiled yet.
            KernelNotFoundError: No kernel of that name, or several and no name given.
            CoreNotEnabledError: The device was initialised without the core type.
            InvalidArgumentError: A profile of another source, or together with `checked` or a vendor's compiler.
            InvalidTypeError: An option of another type.
            LibraryMissingError: The vendor's compiler is not installed.
            WrongDeviceError: The vendor's compiler makes no code for this device.

        Example:
            >>> import amdgpu
            >>> dev = amdgpu.initialize_device("cpu:0", ["aura"])
            >>> dev.compile_kernel("__global__ void f(float* x) { x[threadIdx.x] = 1; }").name
            'f'
        """
        native = self.native
        self.require_core(core_type)
        if optimization_level is not None:
            arguments.choice("compile_kernel", "optimization_level", optimization_level, OPTIMIZATION_LEVELS)
        if name is not None:
            arguments.text("compile_kernel", "name", name, "the name of a kernel")
        arguments.text("compile_kernel", "file_name", file_name, "a text")
        fast_math = arguments.truth("compile_kernel", "fast_math", fast_math)
        checked = arguments.truth("compile_kernel", "checked", checked)
        disabled_passes = arguments.names("compile_kernel", "disabled_passes", disabled_passes)
        parsed = compile_options.parse("compile_kernel", options)
        fast_math = fast_math or parsed.fast_math
        macros = parsed.defines | _macros_of(defines)
        counted = None if profile is None else _counts_of(profile, checked=checked, compiler=compiler)
        if compiler is not None:
            return self._compile_with_vendor(
                compiler,
                source,
                name,
                core_type=core_type,
                fast_math=fast_math,
                defines=macros,
                file_name=file_name,
                checked=checked,
            )
        if dump_ir is not None:
            from amdgpu.ir_dump import write

            write(
                arguments.path("compile_kernel", "dump_ir", dump_ir),
                source,
                file_name=file_name,
                kernel_names=[name] if name is not None and "<" in name else [],
                optimization_level=optimization_level or self.optimization_level,
                defines=macros,
                disabled_passes=disabled_passes,
            )
        kernel = native.compile(
            source,
            name,
            core_type=core_type,
            file_name=file_name,
            optimization_level=optimization_level,
            fast_math=fast_math,
            defines=list(macros.items()),
            disabled_passes=disabled_passes,
            checked=checked,
            profile=counted,
        )
        for note in kernel.notes:
            if ": warning: " in note.partition("\n")[0]:
                warnings.warn(note, stacklevel=2)
        return kernel

    def _compile_with_vendor(
        self,
        compiler: str,
        source: str,
        name: str | None,
        *,
        core_type: str,
        fast_math: bool,
        defines: dict[str, str],
        file_name: str,
        checked: bool,
    ) -> _native.Kernel:
        from amdgpu.codegen import vendor

        if checked:
            raise InvalidArgumentError(f"checked=True is for amdgpu's own compiler, not for compiler={compiler!r}")
        if not isinstance(compiler, str) or compiler not in vendor.VENDORS:
            raise InvalidArgumentError(
                f"compiler is {compiler!r}; known are {', '.join(vendor.VENDORS)}, and None for amdgpu's own"
            )
        architecture = str(self.info().architecture)
        vendor.check_device(compiler, self.name, architecture)
        vendor.open_library(compiler)
        pairs = list(defines.items())
        if name is None:
            unit = _native.compile_source(source, architecture, name=file_name, defines=pairs, emit="ir")
            names = [kernel["name"] for kernel in unit["kernels"]]
            if len(names) != 1:
                raise KernelNotFoundError(f"the source has {len(names)} kernels; name one of: {', '.join(names)}")
            name = names[0]
        code, symbol = vendor.compile_source(
            compiler,
            source,
            name,
            architecture=architecture,
            file_name=file_name,
            defines=defines,
            fast_math=fast_math,
        )
        return self.native.load_compiled(
            source, name, code, symbol, core_type=core_type, file_name=file_name, defines=pairs
        )

    def profile_kernel(
        self,
        kernel: _native.Kernel,
        args: Sequence[Any],
        *,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        shared_bytes: int = 0,
    ) -> Profile:
        """Run a kernel once with counters in it, and tell what it did.

        The kernel is compiled again with counters and launched on copies of the arrays; it may take many times as long. Then it is
        compiled with what a profile can give, some of it and nothing, and what ran fastest in a few launches is what the profile will be
        used for. Device functions are counted where they are called. Variables of the module are those of another module than the
        kernel's: they have their first values.

        Args:
            kernel: What `compile_kernel` returned on this device.
            args: Arguments of a launch.
            grid: Blocks.
            block: Threads of a block.
            shared_bytes: Dynamic shared memory of a block.

        Returns:
            The counts, for `compile_kernel(source, profile=...)`; `str(profile)` shows them beside the source.

        Raises:
            ArgumentCountError: Not as many arguments as the kernel has parameters.
            InvalidLaunchError: Grid or block outside the limits of the device.

        Example:
            >>> import amdgpu, numpy
            >>> dev = amdgpu.initialize_device("cpu:0", ["aura"])
            >>> source = '''__global__ void sums(const float* x, float* out, int n) {
            ...     float sum = 0;
            ...     for (int i = 0; i < n; i++) sum += x[threadIdx.x * n + i];
            ...     out[threadIdx.x] = sum;
            ... }'''
            >>> x, out = numpy.ones(64 * 20, "float32"), numpy.zeros(64, "float32")
            >>> profile = dev.profile_kernel(dev.compile_kernel(source), (x, out, 20), grid=1, block=64)
            >>> profile.facts()["kernel"]["loops"][0]["iterations"]
            1280
            >>> dev.compile_kernel(source, profile=profile)[1, 64](x, out, 20)
            >>> out[:2].tolist()
            [20.0, 20.0]
        """
        from amdgpu.profile import measure

        return measure(self, kernel, args, (grid, block), shared_bytes)

    def execute(
        self,
        kernel_handle: _native.Kernel | str,
        *args: Any,
        grid: int | Sequence[int] | None = None,
        block: int | Sequence[int] | None = None,
        shared_bytes: int = 0,
        stream: _native.Stream | None = None,
        async_execution: bool = False,
        timeout_ms: int | None = 10000,
        telemetry_level: TelemetryLevel = "standard",
        checked: bool = False,
    ) -> KernelResult | PendingKernel:
        """Run a kernel and wait for it.

        Args:
            kernel_handle: What `compile_kernel` returned, or its handle as text.
            args: One per parameter: NumPy arrays (of structs too), `amdgpu.Array`, anything with DLPack, numbers, or None for a null
                pointer.
            grid: Blocks in x, y, z. None covers the largest array with one thread per element.
            block: Threads of a block in x, y, z. None means 256 in x.
            shared_bytes: Dynamic shared memory of each block.
            stream: Stream to run in; None uses that of a `with stream:` block around the call, else one that belongs to this call.
            async_execution: Return at once with a `PendingKernel`.
            timeout_ms: Give up waiting after this many milliseconds; None waits for ever.
            telemetry_level: off, standard or detailed: how much `performance_metrics` holds.
            checked: Run the kernel as `compile_kernel(..., checked=True)` makes it; variables of its module are then others.

        Returns:
            The written array(s) and measurements, or a `PendingKernel` whose `result()` gives them.

        Raises:
            ArgumentCountError: Another number of arguments than parameters.
            InvalidTypeError: An argument of the wrong type or dtype.
            InvalidLaunchError: Grid or block outside the limits of the device.
            KernelTimeoutError: The kernel did not end in time.
            InvalidHandleError: A handle that this device does not know.
            KernelAssertionError: An `assert` in the kernel failed.
            KernelMemoryError, DataRaceError, DivergentBarrierError: What a checked kernel did wrong first.

        Example:
            >>> import amdgpu, numpy
            >>> dev = amdgpu.initialize_device("cpu:0", ["aura"])
            >>> k = dev.compile_kernel("__global__ void twice(float* x, int n) {"
            ...                        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }")
            >>> dev.execute(k, numpy.ones(3, "float32"), 3).output.tolist()
            [2.0, 2.0, 2.0]
        """
        from amdgpu.kernel import execute

        return execute(
            self,
            kernel_handle,
            args,
            grid=grid,
            block=block,
            shared_bytes=shared_bytes,
            stream=stream,
            async_execution=async_execution,
            timeout_ms=timeout_ms,
            telemetry_level=telemetry_level,
            checked=checked,
        )

    def create_stream(self) -> _native.Stream:
        """A new stream: an ordered queue of work that runs beside the others."""
        return self.native.create_stream()

    def synchronize(self) -> None:
        """Wait until all work of the device is done, that of its other openings too; raises the first error that a stream kept."""
        self.native.synchronize()

    def memory_stats(self) -> dict[str, float]:
        """Statistics of the device's caching allocator, which all openings share, with PyTorch's key names; bytes and counts.

        On the CPU device also those of the Matrix core's memory in huge pages, as `host_memory.*`: bytes held in plain pages, in huge ones
        that were asked for (`advised`) and in those of the system's pool, and calls.
        """
        return self.native.memory_stats()

    def reset_peak_memory_stats(self) -> None:
        """Let the `peak` values of `memory_stats()` begin again at the current ones."""
        self.native.reset_peak_memory_stats()

    def memory_snapshot(self) -> list[dict[str, Any]]:
        """Every segment that the device's allocator holds, with its blocks, under the names of `torch.cuda.memory_snapshot()`; bytes.

        `pool` says which kind of memory a segment is: device, pinned or unified. `state` of a block is active_allocated,
        active_awaiting_free (given back, but a stream may still use it) or inactive.
        """
        return self.native.memory_snapshot()

    def empty_cache(self) -> int:
        """Give cached blocks back to the device, whoever used them; returns how many bytes."""
        return self.native.empty_cache()

    def get_telemetry(self, core_type: str | None = None) -> dict[str, Any]:
        """One sample of this device; see `amdgpu.get_telemetry`."""
        from amdgpu.telemetry import sample

        return sample(self, core_type)

    async def get_telemetry_stream(
        self, core_type: str | None = None, *, interval_seconds: float = 1 / 60
    ) -> AsyncIterator[dict[str, Any]]:
        """Samples of this device, one every `interval_seconds`, until the device is closed or the loop is left.

        Example:
            >>> import amdgpu, asyncio
            >>> async def first():
            ...     async for sample in amdgpu.initialize_device("cpu:0").get_telemetry_stream():
            ...         return sample["device"]
            >>> asyncio.run(first())
            'cpu:0'
        """
        import asyncio

        from amdgpu.telemetry.sensors import Sampler

        interval_seconds = arguments.positive("get_telemetry_stream", "interval_seconds", interval_seconds)
        # Sensors are read at their own rates, not once for every sample.
        with Sampler():
            while self._native is not None and not self._native.is_closed:
                yield self.get_telemetry(core_type)
                await asyncio.sleep(interval_seconds)

    def close(self) -> None:
        """Release the kernels and, with the last opening of the device, its cached memory. Arrays that are still alive go on working."""
        if self._native is not None:
            self._native.close()

    def __enter__(self) -> Self:
        self._entered.append((_native.current_device(), self._native is None))
        try:
            set_device(self)
        except BaseException:
            self._entered.pop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        before, is_opened_here = self._entered.pop()
        _native.set_current_device(before)
        if is_opened_here:
            self.close()

    def __repr__(self) -> str:
        state = "not initialised" if self._native is None else "closed" if self._native.is_closed else self._native.name
        return f"<AMDGPUDevice {self.device_id!r} {state} cores={self.core_types}>"


def _allocator_options(memory: Mapping[str, float] | str | None) -> str:
    """In the notation of `PYTORCH_ALLOC_CONF`, which the allocator reads and checks."""
    if memory is None:
        return ""
    if isinstance(memory, str):
        return memory
    found = arguments.mapping("initialize_device", "memory", memory, "values by the name of an option")
    return ",".join(f"{name}:{value}" for name, value in found.items())


def _counts_of(profile: Profile, *, checked: bool, compiler: str | None) -> _native.KernelProfile:
    from amdgpu.profile import native_of

    if checked or compiler is not None:
        raise InvalidArgumentError("compile_kernel: profile is for amdgpu's own compiler without checked=True")
    return native_of(profile)


def _macros_of(defines: Mapping[str, str] | None) -> dict[str, str]:
    if defines is None:
        return {}
    found = arguments.mapping("compile_kernel", "defines", defines, "texts by the name of a macro")
    return {
        arguments.text("compile_kernel", "a name in defines", macro, "a text"): arguments.text(
            "compile_kernel", f"defines[{macro!r}]", value, "a text"
        )
        for macro, value in found.items()
    }


def initialize_device(
    device_id: int | str = 0,
    core_types: Sequence[str] | None = None,
    *,
    optimization_level: OptimizationLevel = "high",
    telemetry: bool | TelemetryLevel = True,
    memory: Mapping[str, float] | str | None = None,
) -> AMDGPUDevice:
    """Open a device.

    Args:
        device_id: Index in `list_devices()`, or a name such as `cpu:0`.
        core_types: Core types to enable; None enables all.
        optimization_level: none, low, high or max.
        telemetry: Which launches write telemetry records; see `AMDGPUDevice`.
        memory: Options of the caching allocator, for example `{"limit_bytes": 2**30}`; see `AMDGPUDevice`.

    Returns:
        The open device.

    Raises:
        DeviceNotFoundError: No such device.
        UnknownCoreTypeError: A core type that does not exist.
        InvalidArgumentError: An option of the allocator that makes no sense or is not the one that the device is open with.

    Example:
        >>> import amdgpu
        >>> amdgpu.initialize_device(0, ["aura", "matrix"]).core_types
        ['aura', 'matrix']
    """
    device = AMDGPUDevice(
        device_id, core_types, optimization_level=optimization_level, telemetry=telemetry, memory=memory
    )
    device.initialize()
    return device


_default_devices: dict[int | str, AMDGPUDevice] = {}


def default_device(device_id: AMDGPUDevice | int | str | None = None) -> AMDGPUDevice:
    """The device that module-level functions share: opened once per process with all core types.

    A device stands for itself, None for the current device of the thread.
    """
    if isinstance(device_id, AMDGPUDevice):
        return device_id
    if device_id is None:
        device_id = _native.current_device()
    key = device_id if isinstance(device_id, str) else _device_index(device_id)
    device = _default_devices.get(key)
    if device is None or not device.is_open:
        device = _default_devices[key] = _shared_device(key)
    return device


def _shared_device(key: int | str) -> AMDGPUDevice:
    """The one opening that all names of a device share."""
    name = _native.device_name(key)
    device = _default_devices.get(name)
    if device is None or not device.is_open:
        device = _default_devices[name] = initialize_device(key)
    return device


def set_device(device: AMDGPUDevice | int | str) -> None:
    """Make a device the current one of the calling thread: it is used where neither an operand nor an argument names a device.

    Args:
        device: An open device, an index in `list_devices()`, or a name such as `cpu:0`. It is not opened by this.

    Raises:
        DeviceNotFoundError: No such device.
        InvalidTypeError: Neither a device nor an index nor a name.

    Example:
        >>> import amdgpu
        >>> amdgpu.set_device("cpu:0")
        >>> amdgpu.get_device().name
        'cpu:0'
    """
    _native.set_current_device(device.name if isinstance(device, AMDGPUDevice) else device)


def is_available(kind: str | None = None) -> bool:
    """Whether this machine has a GPU that the package can use.

    Args:
        kind: A kind of device to ask for: hip, cuda or cpu; None asks for any GPU.

    Raises:
        InvalidArgumentError: Another kind.

    Example:
        >>> import amdgpu
        >>> amdgpu.is_available("cpu")
        True
    """
    if kind is not None:
        arguments.choice("is_available", "kind", kind, KINDS)
    wanted = GPU_KINDS if kind is None else (kind,)
    return any(native["kind"] in wanted for native in _native.list_devices())


def get_device() -> AMDGPUDevice:
    """The current device of the calling thread, opened with all core types.

    It is the one that the thread chose with `set_device`, else the first of `list_devices()`.
    """
    return default_device(None)


def device_info(device: AMDGPUDevice | int | str | None = None) -> DeviceInfo:
    """What a device is, with the memory free now.

    Args:
        device: An open device, an index in `list_devices()`, or a name; None means the current device.

    Example:
        >>> import amdgpu
        >>> amdgpu.device_info("cpu:0").kind
        'cpu'
    """
    return default_device(device).info()


def synchronize(device: AMDGPUDevice | int | str | None = None) -> None:
    """Wait until all work of a device is done; raises the first error that one of its streams kept.

    Args:
        device: An open device, an index in `list_devices()`, or a name; None means the current device.
    """
    default_device(device).synchronize()


def current_stream(device: AMDGPUDevice | int | str | None = None) -> _native.Stream | None:
    """The stream that launches of the calling thread go into where they name none: that of the innermost `with stream:` block.

    Args:
        device: An open device, an index in `list_devices()`, or a name; None means the current device.

    Returns:
        The stream; None outside of such blocks, where launches wait until they have run.

    Example:
        >>> import amdgpu
        >>> with amdgpu.get_device().create_stream() as stream:
        ...     amdgpu.current_stream() is stream
        True
    """
    return _native.current_stream(default_device(device).name)


def _device_index(device_id: Any) -> int:
    try:
        return operator.index(device_id)
    except TypeError:
        raise InvalidTypeError(f"device must be an open device, an index or a name, got {device_id!r}") from None


# A child process must open its own devices: threads and queues do not survive a fork.
os.register_at_fork(after_in_child=_default_devices.clear)
