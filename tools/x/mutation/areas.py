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
            "tests/test_compiler_integers.py",
            "tests/test_compiler_semantics.py",
            "tests/test_compiler_structs.py",
            "tests/test_compiler_waves.py",
            "tests/test_compiler_barriers.py",
            "tests/test_compiler_lanes.py",
            "tests/test_compiler_templates.py",
            "tests/test_compiler_cpp.py",
            "tests/test_compiler_random_passes.py",
            "tests/test_compiler_volatile.py",
            "tests/test_compiler_narrow_floats.py",
            "tests/test_compiler_number_parts.py",
            "tests/test_compiler_math.py",
            "tests/test_compiler_atomics.py",
            "tests/test_compiler_sums.py",
            "tests/test_compiler_regions.py",
            "tests/test_lane_activity.py",
            "tests/test_checked.py",
            "tests/test_kernels.py",
            "tests/test_codegen.py",
            "tests/test_printf.py",
            "tests/test_corpus.py",
        ),
    ),
    "hal": RustArea(
        ("amdgpu-hal", "amdgpu-aura"),
        (
            "tests/test_streams.py",
            "tests/test_graphs.py",
            "tests/test_cancellation.py",
            "tests/test_interrupts.py",
            "tests/test_devices.py",
            "tests/test_kernels.py",
            "tests/test_host_memory.py",
            "tests/test_launch_telemetry.py",
            "tests/test_awkward_arguments.py",
            "tests/test_bad_launches.py",
            "tests/test_checked.py",
            "tests/test_code_objects.py",
            "tests/test_compile_cli.py",
            "tests/test_compile_threads.py",
            "tests/test_fork.py",
            "tests/test_kernel_cache.py",
            "tests/test_kernel_globals.py",
            "tests/test_lane_activity.py",
            "tests/test_printf.py",
            "tests/test_shared_devices.py",
            "tests/test_reading.py",
            "tests/test_device_listing.py",
            "tests/test_operand_devices.py",
            "tests/test_kernel_work.py",
        ),
    ),
    "neuro": RustArea(
        ("amdgpu-neuro",),
        (
            "tests/test_spiking.py",
            "tests/test_spiking_batch.py",
            "tests/test_spiking_hash.py",
            "tests/test_spiking_learning.py",
            "tests/test_spiking_scale.py",
            "tests/test_spiking_weights.py",
            "tests/test_networks.py",
            "tests/test_network_amounts.py",
            "tests/test_network_inputs.py",
            "tests/test_network_kernels.py",
            "tests/test_network_names.py",
            "tests/test_network_noise.py",
            "tests/test_network_positions.py",
            "tests/test_network_published.py",
            "tests/test_network_rules.py",
            "tests/test_network_warnings.py",
            "tests/test_training.py",
            "tests/test_training_steps.py",
            "tests/test_interchange.py",
            "tests/test_launch_telemetry.py",
            "tests/test_device_network.py",
        ),
    ),
    "memory": RustArea(
        ("amdgpu-memory",), ("tests/test_arrays.py", "tests/test_host_memory.py", "tests/test_streams.py")
    ),
    "telemetry": RustArea(
        ("amdgpu-telemetry",),
        ("tests/test_telemetry.py", "tests/test_history.py", "tests/test_attach.py", "tests/test_sensors.py"),
    ),
    "bindings": RustArea(
        ("amdgpu-python",),
        (
            "tests/test_arrays.py",
            "tests/test_foreign_arrays.py",
            "tests/test_devices.py",
            "tests/test_kernels.py",
            "tests/test_streams.py",
            "tests/test_graphs.py",
            "tests/test_networks.py",
            "tests/test_bad_input.py",
            "tests/test_math.py",
            "tests/test_telemetry.py",
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
