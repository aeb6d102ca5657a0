"""What can be mutated, and which tests stand near."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RustArea:
    """Crates whose functions get faults; `python_tests` are run for what the tests of the crates let pass."""

    crates: tuple[str, ...]
    python_tests: tuple[str, ...]
    # The extension module has no Rust tests; its tests are Python's.
    has_rust_tests: bool = True


@dataclass(frozen=True)
class TextArea:
    """Files of another language by patterns; those of `without` are generated or hold no behaviour."""

    language: str
    files: tuple[str, ...]
    without: tuple[str, ...] = ()


AREAS: dict[str, RustArea | TextArea] = {
    "compiler": RustArea(
        ("amdgpu-compiler",),
        (
            "tests/compiler/test_integers.py",
            "tests/compiler/test_semantics.py",
            "tests/compiler/test_structs.py",
            "tests/compiler/test_waves.py",
            "tests/compiler/test_barriers.py",
            "tests/compiler/test_lanes.py",
            "tests/compiler/test_templates.py",
            "tests/compiler/test_cpp.py",
            "tests/compiler/test_random_passes.py",
            "tests/compiler/test_narrow_floats.py",
            "tests/compiler/test_number_parts.py",
            "tests/compiler/test_math.py",
            "tests/compiler/test_atomics.py",
            "tests/compiler/test_sums.py",
            "tests/compiler/test_regions.py",
            "tests/compiler/test_lane_activity.py",
            "tests/compiler/test_checked.py",
            "tests/aura/test_kernels.py",
            "tests/compiler/test_codegen.py",
            "tests/compiler/test_printf.py",
            "tests/compiler/test_corpus.py",
            "tests/compiler/test_volatile.py",
        ),
    ),
    "hal": RustArea(
        ("amdgpu-hal", "amdgpu-aura"),
        (
            "tests/aura/test_streams.py",
            "tests/aura/test_graphs.py",
            "tests/aura/test_cancellation.py",
            "tests/aura/test_interrupts.py",
            "tests/aura/test_devices.py",
            "tests/aura/test_kernels.py",
            "tests/memory/test_host_memory.py",
            "tests/telemetry/test_launch_telemetry.py",
            "tests/api/test_awkward_arguments.py",
            "tests/aura/test_bad_launches.py",
            "tests/compiler/test_checked.py",
            "tests/compiler/test_code_objects.py",
            "tests/cli/test_compile.py",
            "tests/compiler/test_compile_threads.py",
            "tests/aura/test_fork.py",
            "tests/aura/test_kernel_cache.py",
            "tests/compiler/test_kernel_globals.py",
            "tests/compiler/test_lane_activity.py",
            "tests/compiler/test_printf.py",
            "tests/aura/test_shared_devices.py",
            "tests/aura/test_reading.py",
            "tests/aura/test_device_listing.py",
            "tests/array/test_operand_devices.py",
            "tests/aura/test_kernel_work.py",
            "tests/aura/test_current_device.py",
            "tests/telemetry/test_attach.py",
        ),
    ),
    "neuro": RustArea(
        ("amdgpu-neuro",),
        (
            "tests/neuro/test_spiking.py",
            "tests/neuro/test_spiking_batch.py",
            "tests/neuro/test_spiking_hash.py",
            "tests/neuro/test_spiking_learning.py",
            "tests/neuro/test_spiking_scale.py",
            "tests/neuro/test_spiking_weights.py",
            "tests/neuro/test_networks.py",
            "tests/neuro/test_network_amounts.py",
            "tests/neuro/test_layer_rules.py",
            "tests/neuro/test_network_inputs.py",
            "tests/neuro/test_network_kernels.py",
            "tests/neuro/test_network_kinds.py",
            "tests/neuro/test_network_names.py",
            "tests/neuro/test_network_noise.py",
            "tests/neuro/test_network_positions.py",
            "tests/neuro/test_network_published.py",
            "tests/neuro/test_network_rules.py",
            "tests/neuro/test_network_warnings.py",
            "tests/neuro/test_training.py",
            "tests/neuro/test_training_steps.py",
            "tests/neuro/test_interchange.py",
            "tests/telemetry/test_launch_telemetry.py",
            "tests/neuro/test_device_network.py",
            "tests/neuro/test_awkward_networks.py",
            "tests/neuro/test_device_training.py",
        ),
    ),
    "memory": RustArea(
        ("amdgpu-memory",),
        ("tests/array/test_arrays.py", "tests/memory/test_host_memory.py", "tests/aura/test_streams.py"),
    ),
    "telemetry": RustArea(
        ("amdgpu-telemetry",),
        (
            "tests/telemetry/test_telemetry.py",
            "tests/telemetry/test_history.py",
            "tests/telemetry/test_attach.py",
            "tests/telemetry/test_sensors.py",
        ),
    ),
    "bindings": RustArea(
        ("amdgpu-python",),
        (
            "tests/array/test_arrays.py",
            "tests/array/test_foreign_arrays.py",
            "tests/aura/test_devices.py",
            "tests/aura/test_kernels.py",
            "tests/aura/test_streams.py",
            "tests/aura/test_graphs.py",
            "tests/neuro/test_networks.py",
            "tests/compiler/test_bad_input.py",
            "tests/math/test_math.py",
            "tests/telemetry/test_telemetry.py",
        ),
        has_rust_tests=False,
    ),
    "python": TextArea(
        "python",
        ("python/amdgpu/*.py", "python/amdgpu/*/*.py", "python/amdgpu/*/*/*.py"),
        ("*/_generated/*", "*/__init__.py"),
    ),
    "zig": TextArea(
        "zig",
        ("zig/src/*.zig", "zig/src/*/*.zig"),
        ("zig/src/abi.zig", "zig/src/kernels/*", "*_test.zig", "*/test_*.zig"),
    ),
    "nim": TextArea("nim", ("nim/src/*.nim", "nim/src/*/*.nim"), ("nim/src/agpu_abi.nim",)),
    "julia": TextArea("julia", ("julia/src/*.jl",), ("julia/src/abi.jl",)),
    "sdk": TextArea("typescript", ("js/sdk/src/*.ts",)),
}
