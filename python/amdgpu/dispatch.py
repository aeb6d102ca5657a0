"""Which implementation runs an operation: (operation, core type, device kind) -> function, with its language.

The table starts with the package's own entries. Third parties add theirs through the entry-point group `amdgpu.cores`: an entry point
names a function without parameters that calls `register` (it is called once, before the first decision). Among the entries that fit,
the highest `priority` wins; every decision is recorded on the telemetry bus. What no entry runs on a GPU is computed by the CPU, and the
fallback is counted and said once.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amdgpu import _native, arguments
from amdgpu.errors import NoImplementationError

__all__ = ["ENTRY_POINT_GROUP", "Implementation", "of_host", "register", "resolve", "shared", "table", "unregister"]

ENTRY_POINT_GROUP = "amdgpu.cores"
GPU_KINDS = ("hip", "cuda")


@dataclass(frozen=True, slots=True)
class Implementation:
    """One way to run an operation.

    Attributes:
        operation: Name of the operation, for example `matrix_multiply`.
        core_type: aura, matrix or neuromorphic.
        device_kind: hip, cuda, cpu, sim or null.
        language: Language the work is done in.
        name: Name to ask for it by (`prefer`).
        target: `module:attribute` of the function, imported on first use.
        priority: The highest wins.
        takes_device: The function wants the device as the keyword `device`.
    """

    operation: str
    core_type: str
    device_kind: str
    language: str
    name: str
    target: str
    priority: int = 0
    takes_device: bool = False

    def load(self) -> Callable[..., Any]:
        """Import the function."""
        module, _, attribute = self.target.partition(":")
        function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
        return function


_table: list[Implementation] = [
    Implementation("matrix_multiply", "matrix", "cpu", "zig", "zig", "amdgpu._native:matmul"),
    *(
        Implementation(
            "matrix_multiply", "matrix", kind, "zig", "archive", "amdgpu._native:matmul_on_device", takes_device=True
        )
        for kind in ("cuda", "hip", "null")
    ),
    Implementation("elementwise", "matrix", "cpu", "zig", "zig", "amdgpu._native:elementwise"),
    Implementation("embedding", "matrix", "cpu", "zig", "zig", "amdgpu._native:embedding"),
    *(
        Implementation(operation, "matrix", "cpu", "zig", "zig", f"amdgpu._native:{operation}")
        for operation in (
            "cast",
            "cumulative_best",
            "embedding_gradient",
            "gather",
            "index_add",
            "masked_select",
            "nonzero",
            "offsets",
            "scatter",
            "scatter_reduce",
            "search_sorted",
            "segment_reduce",
            "sort",
            "unique_consecutive",
        )
    ),
    Implementation("scan", "matrix", "cpu", "zig", "zig", "amdgpu._native:scan"),
    Implementation("top_k", "matrix", "cpu", "zig", "zig", "amdgpu._native:top_k"),
    Implementation("transpose", "matrix", "cpu", "zig", "zig", "amdgpu._native:transpose"),
    Implementation("convolve", "matrix", "cpu", "zig", "zig", "amdgpu._native:convolve"),
    Implementation("pool", "matrix", "cpu", "zig", "zig", "amdgpu._native:pool"),
    Implementation("reduce", "matrix", "cpu", "zig", "zig", "amdgpu._native:reduce"),
    Implementation("normalize", "matrix", "cpu", "zig", "zig", "amdgpu._native:normalize"),
    Implementation("normalize_gradient", "matrix", "cpu", "zig", "zig", "amdgpu._native:normalize_gradient"),
    *(
        Implementation(
            operation, "matrix", kind, "rust", "generated", f"amdgpu._native:{operation}_on_device", takes_device=True
        )
        for operation in (
            "cast",
            "convolve",
            "cumulative_best",
            "elementwise",
            "embedding",
            "embedding_gradient",
            "gather",
            "index_add",
            "masked_select",
            "nonzero",
            "normalize",
            "normalize_gradient",
            "offsets",
            "pool",
            "reduce",
            "scan",
            "scatter",
            "scatter_reduce",
            "search_sorted",
            "segment_reduce",
            "sort",
            "top_k",
            "transpose",
            "unique_consecutive",
        )
        for kind in ("cuda", "hip", "null")
    ),
    *(
        Implementation(
            operation, "matrix", kind, language, name, f"amdgpu._native:{operation}", takes_device=kind != "cpu"
        )
        for operation in (
            "attention",
            "attention_gradient",
            "batch_norm",
            "batch_norm_gradient",
            "batch_norm_training",
            "class_loss",
            "element_loss",
            "geam",
            "norm_parameter_gradients",
        )
        for kind, language, name in (
            ("cpu", "zig", "zig"),
            *((kind, "rust", "generated") for kind in ("cuda", "hip", "null")),
        )
    ),
    Implementation("dense_forward", "neuromorphic", "cpu", "zig", "matrix", "amdgpu.layered_network:forward_matrix", 2),
    *(
        Implementation(
            "dense_forward",
            "neuromorphic",
            kind,
            "rust",
            name,
            "amdgpu.layered_network:forward_on_device",
            priority,
            takes_device=True,
        )
        for kind, name, priority in (("cuda", "matrix", 0), ("hip", "matrix", 0), ("cpu", "generated", -1))
    ),
    Implementation("dense_forward", "neuromorphic", "cpu", "julia", "julia", "amdgpu.layered_network:forward_julia", 1),
    Implementation("dense_forward", "neuromorphic", "cpu", "nim", "nim", "amdgpu.layered_network:forward_nim"),
    Implementation("kernel", "aura", "cpu", "rust", "aura", "amdgpu.kernel:launch"),
    Implementation("kernel", "aura", "cuda", "rust", "aura", "amdgpu.kernel:launch"),
    Implementation("kernel", "aura", "hip", "rust", "aura", "amdgpu.kernel:launch"),
    Implementation("kernel", "aura", "null", "rust", "aura", "amdgpu.kernel:launch"),
]
_resolved: dict[tuple[str, str, str, str | None], tuple[Callable[..., Any], Implementation, _native.Decision]] = {}
# What `shared` found for devices of the host, by operation and core type, then by device: the function and the decision.
_of_hosts: dict[tuple[str, str], dict[int | str, tuple[Callable[..., Any], _native.Decision]]] = {}
# What `of_host` found, by operation; fast paths look there, too.
_of_matrix: dict[str, tuple[Callable[..., Any], _native.Decision]] = {}
# What `of_device` found, by operation and kind of device as in "elementwise on cuda"; fast paths look there, too.
_of_devices: dict[str, tuple[Callable[..., Any], _native.Decision]] = {}
_are_entry_points_loaded = False


def register(implementation: Implementation) -> None:
    """Add an implementation to the table.

    Args:
        implementation: The entry. A later entry with the same key, name and priority replaces the earlier one.
    """
    same = [
        entry
        for entry in _table
        if (entry.operation, entry.core_type, entry.device_kind, entry.name)
        == (implementation.operation, implementation.core_type, implementation.device_kind, implementation.name)
    ]
    for entry in same:
        _table.remove(entry)
    _table.append(implementation)
    _forget()


def unregister(implementation: Implementation) -> None:
    """Take an implementation out of the table; one that is not in it is ignored."""
    if implementation in _table:
        _table.remove(implementation)
        _forget()


def _forget() -> None:
    _resolved.clear()
    for functions in _of_hosts.values():
        functions.clear()
    _of_matrix.clear()
    _of_devices.clear()
    # Last, so that no fast path finds an old entry after it was told to look again.
    _native.forget_choices()


def table() -> list[Implementation]:
    """Every registered implementation, best first within an operation."""
    _load_entry_points()
    return sorted(_table, key=lambda entry: (entry.operation, entry.core_type, entry.device_kind, -entry.priority))


def resolve(
    operation: str, core_type: str, device_kind: str, *, prefer: str | None = None
) -> tuple[Callable[..., Any], Implementation]:
    """Decide which implementation runs an operation, and record the decision.

    Args:
        operation: Name of the operation.
        core_type: aura, matrix or neuromorphic.
        device_kind: hip, cuda, cpu, sim or null.
        prefer: Name of the implementation to use; None takes the one with the highest priority.

    Returns:
        The function and its table entry.

    Raises:
        NoImplementationError: Nothing is registered for the key, or not under the preferred name.
        InvalidTypeError: `prefer` is no text.
    """
    if prefer is not None:
        arguments.text(operation, "backend", prefer, "the name of an implementation")
    key = (operation, core_type, device_kind, prefer)
    found = _resolved.get(key)
    if found is None:
        function, entry = _search(operation, core_type, device_kind, prefer)
        decision = _native.Decision(operation, core_type, device_kind, entry.language)
        found = _resolved[key] = function, entry, decision
    found[2].record()
    return found[0], found[1]


def shared(
    operation: str, core_type: str, device_id: int | str, open_device: Callable[[int | str], Any]
) -> Callable[..., Any]:
    """The function that runs an operation on the device that module-level functions share; the decision is recorded.

    Args:
        operation: Name of the operation.
        core_type: aura, matrix or neuromorphic.
        device_id: Index in `list_devices()` or a name.
        open_device: Gives the device that is shared.

    Raises:
        DeviceNotFoundError: No such device.
        CoreNotEnabledError: The device was opened without the core type.
        NoImplementationError: Nothing is registered for the operation there.
    """
    functions = host_functions(operation, core_type)
    try:
        found = functions.get(device_id)
    except TypeError:
        # What has no hash is no device; who opens devices says so.
        found = None
    if found is None:
        device = open_device(device_id)
        device.require_core(core_type)
        kind = device.native.kind
        function, entry = resolve(operation, core_type, kind)
        # The host's memory needs no open device, so closing the shared one changes nothing; a GPU's does.
        if kind == "cpu":
            functions[device_id] = function, _resolved[operation, core_type, kind, None][2]
        if not entry.takes_device:
            return function
        _of_devices[f"{operation} on {kind}"] = function, _resolved[operation, core_type, kind, None][2]
        return functools.partial(function, device=device)
    found[1].record()
    return found[0]


def of_host(operation: str) -> Callable[..., Any]:
    """The function that runs an operation of the Matrix core in memory of the host; the decision is recorded.

    Args:
        operation: Name of the operation.

    Raises:
        NoImplementationError: Nothing is registered for it.
    """
    found = _of_matrix.get(operation)
    if found is None:
        function, _ = resolve(operation, "matrix", "cpu")
        _of_matrix[operation] = function, _resolved[operation, "matrix", "cpu", None][2]
        return function
    found[1].record()
    return found[0]


def host_functions(operation: str, core_type: str) -> dict[int | str, tuple[Callable[..., Any], _native.Decision]]:
    """What `shared` has found for an operation on devices of the host, by device: the function and the decision.

    The dictionary stays the same object, so that a function called for microseconds of work looks there before it calls `shared`.
    It is emptied when the table changes.
    """
    return _of_hosts.setdefault((operation, core_type), {})


def of_device(operation: str, device: Any) -> Callable[..., Any]:
    """The function that runs an operation of the Matrix core on a device that is open; the decision is recorded.

    Args:
        operation: Name of the operation.
        device: The `AMDGPUDevice`.

    Raises:
        NoImplementationError: Nothing is registered for it.
    """
    kind = device.native.kind
    function, entry = resolve(operation, "matrix", kind)
    if not entry.takes_device:
        return function
    _of_devices[f"{operation} on {kind}"] = function, _resolved[operation, "matrix", kind, None][2]
    return functools.partial(function, device=device)


def of_traced(operation: str, device: Any) -> Callable[..., Any]:
    """The function for arrays of a CPU device while a function is traced: that for devices, whose operations are noted.

    Args:
        operation: Name of the operation.
        device: The `AMDGPUDevice`.

    Raises:
        NoImplementationError: Nothing is registered for it.
    """
    function, entry = resolve(operation, "matrix", "cuda")
    return functools.partial(function, device=device) if entry.takes_device else function


def device_functions() -> dict[str, tuple[Callable[..., Any], _native.Decision]]:
    """What `of_device` has found: the function and the decision. The same object always, as `host_functions`."""
    return _of_devices


def matrix_functions() -> dict[str, tuple[Callable[..., Any], _native.Decision]]:
    """What `of_host` has found, by operation: the function and the decision. The same object always, as `host_functions`."""
    return _of_matrix


def _search(
    operation: str, core_type: str, device_kind: str, prefer: str | None
) -> tuple[Callable[..., Any], Implementation]:
    _load_entry_points()
    fitting = _entries(operation, core_type, device_kind)
    is_named = any(prefer in (None, entry.name) for entry in fitting)
    if not is_named and device_kind in GPU_KINDS and (of_cpu := _entries(operation, core_type, "cpu")):
        of_name = f" by {prefer}" if fitting else ""
        fitting = [*fitting, *of_cpu]
        if any(prefer in (None, entry.name) for entry in of_cpu):
            _native.record_fallback(
                "dispatch", f"{operation}{of_name} does not run on {device_kind} devices: the CPU computes it"
            )
    if prefer is not None:
        names = ", ".join(sorted(entry.name for entry in fitting)) or "none"
        fitting = [entry for entry in fitting if entry.name == prefer]
        if not fitting:
            raise NoImplementationError(
                f"{operation} on {core_type} cores of a {device_kind} device has no implementation {prefer!r}; it has: {names}"
            )
    if not fitting:
        raise NoImplementationError(f"nothing runs {operation} on {core_type} cores of a {device_kind} device")
    best = max(fitting, key=lambda entry: entry.priority)
    return best.load(), best


def _entries(operation: str, core_type: str, device_kind: str) -> list[Implementation]:
    key = (operation, core_type, device_kind)
    return [entry for entry in _table if (entry.operation, entry.core_type, entry.device_kind) == key]


def _load_entry_points() -> None:
    global _are_entry_points_loaded
    if _are_entry_points_loaded:
        return
    _are_entry_points_loaded = True
    # Takes milliseconds, so it waits for the first decision.
    from importlib.metadata import entry_points

    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            entry_point.load()()
        except Exception as error:  # noqa: BLE001  (whatever a plug-in raises)
            # A broken plug-in must not take the package down; it is counted and said once.
            _native.record_fallback("dispatch", f"entry point {entry_point.name} failed: {error!r}")
