"""The native module: bindings of the Rust cores. Private; the public names live in the modules of `amdgpu`."""

import os
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Array",
    "Decision",
    "Device",
    "Event",
    "Graph",
    "Kernel",
    "Launcher",
    "Network",
    "PreparedLaunch",
    "Stream",
    "Subscription",
    "Trainer",
    "VendorSession",
    "check_target",
    "compile_source",
    "convolve",
    "elementwise",
    "embedding",
    "from_dlpack",
    "is_recording_graph",
    "julia_source_path",
    "libraries",
    "link_code_object",
    "list_devices",
    "math_activation",
    "math_adaptive_learning_rate",
    "math_adopt_table",
    "math_availability",
    "math_is_started",
    "math_momentum_update",
    "math_softmax",
    "matmul",
    "normalize",
    "pool",
    "record_fallback",
    "reduce",
    "scan",
    "telemetry_chrome_trace",
    "telemetry_is_enabled",
    "telemetry_prometheus",
    "telemetry_set_enabled",
    "telemetry_snapshot",
    "top_k",
    "training_order",
    "training_split",
    "transpose",
]

def check_target(target: str) -> None: ...
def compile_source(
    source: str,
    target: str,
    *,
    name: str = "kernel.hip",
    optimization_level: str = "high",
    fast_math: bool = False,
    defines: Sequence[tuple[str, str]] | None = None,
    emit: str = "obj",
    kernel_names: Sequence[str] | None = None,
    disabled_passes: Sequence[str] | None = None,
) -> dict[str, Any]: ...
def link_code_object(relocatable: bytes) -> tuple[bytes, list[dict[str, Any]]]: ...
def list_devices() -> list[dict[str, Any]]: ...
def libraries() -> list[dict[str, Any]]: ...
def julia_source_path() -> os.PathLike[str]: ...
def from_dlpack(source: Any) -> Array: ...
def is_recording_graph() -> bool: ...
def elementwise(
    operation: str,
    inputs: tuple[Any, ...],
    out: Any | None = None,
    *,
    alpha: float = 0.0,
    threads: int | None = None,
) -> Any: ...
def transpose(
    x: Any, axes: Sequence[int] | None = None, out: Any | None = None, *, threads: int | None = None
) -> Any: ...
def embedding(table: Any, indices: Any, out: Any | None = None, *, threads: int | None = None) -> Any: ...
def scan(operation: str, x: Any, axis: int, out: Any | None = None, *, threads: int | None = None) -> Any: ...
def top_k(x: Any, k: int, axis: int, *, largest: bool = True, threads: int | None = None) -> tuple[Any, Any]: ...
def convolve(
    direction: str,
    inputs: tuple[Any, ...],
    out: Any | None = None,
    *,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    layout: str,
    shape: Sequence[int] | None = None,
    threads: int | None = None,
) -> Any: ...
def pool(
    operation: str,
    x: Any,
    gradient: Any | None = None,
    out: Any | None = None,
    *,
    window: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    layout: str,
    counts_padding: bool = True,
    threads: int | None = None,
) -> Any: ...
def reduce(
    operation: str,
    x: Any,
    axes: Sequence[int] | None = None,
    out: Any | None = None,
    *,
    keepdims: bool = False,
    correction: float = 0.0,
    threads: int | None = None,
) -> Any: ...
def normalize(
    operation: str,
    x: Any,
    parameters: tuple[Any, ...],
    axes: Sequence[int],
    out: Any | None = None,
    *,
    row_shape: Sequence[int] | None = None,
    epsilon: float = 0.0,
    threads: int | None = None,
) -> Any: ...
def matmul(
    a: Any,
    b: Any,
    out: Any | None = None,
    *,
    precision: str = "fp32",
    alpha: float = 1.0,
    beta: float = 0.0,
    threads: int | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: Any | None = None,
    residual: Any | None = None,
    activation: str | None = None,
) -> npt.NDArray[Any]: ...
def telemetry_snapshot() -> str: ...
def telemetry_prometheus(is_open_metrics: bool) -> str: ...
def telemetry_chrome_trace() -> str: ...
def telemetry_set_enabled(enabled: bool) -> None: ...
def telemetry_is_enabled() -> bool: ...
def record_fallback(operation: str, reason: str) -> None: ...
def math_availability() -> dict[str, Any]: ...
def math_is_started() -> bool: ...
def math_adopt_table(pointer: int, version: str, source: str | os.PathLike[str]) -> None: ...
def math_activation(
    x: Any, kind: str, alpha: float | None = None, beta: float | None = None
) -> npt.NDArray[np.float32]: ...
def math_softmax(x: Any) -> npt.NDArray[np.float32]: ...
def math_adaptive_learning_rate(
    gradients: Any, momentum: Any, learning_rate: float, decay: float
) -> npt.NDArray[np.float32]: ...
def math_momentum_update(
    weights: Any, gradients: Any, velocity: Any, learning_rate: float, momentum: float
) -> None: ...

@final
class Decision:
    """A choice of the dispatcher that is made again and again."""

    def __new__(cls, operation: str, core_type: str, device_kind: str, language: str) -> Decision: ...
    def record(self) -> None: ...

@final
class Subscription:
    """A reader of telemetry records as they happen."""

    def __new__(cls, capacity: int = 4096) -> Subscription: ...
    def poll(self, timeout_seconds: float | None = None) -> str: ...
    @property
    def dropped(self) -> int: ...

@final
class Device:
    """An open device with its allocator, streams and kernels."""

    def __new__(
        cls,
        device: int | str,
        core_types: Sequence[str],
        *,
        optimization_level: str = "high",
        telemetry: str = "standard",
    ) -> Device: ...
    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def core_types(self) -> list[str]: ...
    @property
    def is_closed(self) -> bool: ...
    @property
    def is_lost(self) -> bool: ...
    def info(self) -> dict[str, Any]: ...
    def memory_info(self) -> dict[str, int]: ...
    def memory_stats(self) -> dict[str, float]: ...
    def empty_cache(self) -> int: ...
    def empty(self, shape: Sequence[int], dtype: str, kind: str = "device") -> Array: ...
    def compile(
        self,
        source: str,
        name: str | None = None,
        *,
        core_type: str = "aura",
        file_name: str = "kernel.hip",
        optimization_level: str | None = None,
        fast_math: bool = False,
        defines: Sequence[tuple[str, str]] | None = None,
        disabled_passes: Sequence[str] | None = None,
        checked: bool = False,
    ) -> Kernel: ...
    def with_checks(self, kernel: Kernel) -> Kernel: ...
    def load_compiled(
        self,
        source: str,
        name: str,
        code: bytes,
        symbol: str,
        *,
        core_type: str = "aura",
        file_name: str = "kernel.hip",
        defines: Sequence[tuple[str, str]] | None = None,
    ) -> Kernel: ...
    def kernel(self, handle: str) -> Kernel: ...
    def create_stream(self) -> Stream: ...
    def synchronize(self) -> None: ...
    def close(self) -> None: ...

@final
class Stream:
    """An ordered queue of work on a device."""

    @property
    def id(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def is_idle(self) -> bool: ...
    @property
    def native_handle(self) -> int | None: ...
    def synchronize(self) -> None: ...
    def wait(self, timeout_ms: int | None = None) -> bool: ...
    def stop(self) -> bool: ...
    def record(self, event: Event | None = None) -> Event: ...
    def wait_event(self, event: Event) -> None: ...

@final
class VendorSession:
    """A GPU vendor's library on one device."""

    def __new__(cls, device: Device, library: str, folders: Sequence[str | os.PathLike[str]]) -> VendorSession: ...
    @property
    def library(self) -> str: ...
    def multiply(
        self,
        a: Array,
        b: Array,
        out: Array,
        *,
        extents: tuple[int, int, int, int],
        number: str,
        transposes: tuple[bool, bool] = ...,
        bias: Array | None = None,
        relu: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
        stream: Stream | None = None,
    ) -> bool: ...

@final
class Event:
    """A point of a stream."""

    @property
    def device(self) -> str: ...
    @property
    def is_complete(self) -> bool: ...
    @property
    def timestamp_ns(self) -> int | None: ...
    def synchronize(self) -> None: ...

@final
class Graph:
    """Launches, copies and fills that are recorded once and replayed with one call."""

    def __new__(cls) -> Graph: ...
    def __enter__(self) -> Graph: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool: ...
    def __len__(self) -> int: ...
    @property
    def device(self) -> str | None: ...
    @property
    def nodes(self) -> list[dict[str, Any]]: ...
    def replay(self, stream: Stream | None = None) -> None: ...
    def update(self, node: int, *args: Any, **named: Any) -> None: ...

@final
class Array:
    """Memory of a device seen as an n-dimensional array."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def is_on_host(self) -> bool: ...
    @property
    def ptr(self) -> int: ...
    @property
    def is_freed(self) -> bool: ...
    @property
    def is_read_only(self) -> bool: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __len__(self) -> int: ...
    def numpy(self) -> npt.NDArray[Any]: ...
    def copy_from(self, source: Any) -> None: ...
    def fill(self, value: int) -> None: ...
    def reshape(self, *shape: int) -> Array: ...
    def free(self) -> None: ...

@final
class Kernel:
    """A compiled kernel."""

    @property
    def name(self) -> str: ...
    @property
    def handle(self) -> str: ...
    @property
    def signature(self) -> str: ...
    @property
    def core_type(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def cache_answer(self) -> str: ...
    @property
    def compile_seconds(self) -> float: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def parameters(self) -> list[dict[str, Any]]: ...
    @property
    def passes(self) -> list[dict[str, Any]]: ...
    @property
    def resources(self) -> dict[str, Any] | None: ...
    def occupancy(self, block: int | Sequence[int], *, shared_bytes: int = 0) -> dict[str, Any] | None: ...
    @property
    def is_checked(self) -> bool: ...
    @property
    def module_globals(self) -> list[dict[str, Any]]: ...
    def module_global(self, name: str) -> Array: ...
    def __getitem__(self, shape: Any, /) -> Launcher: ...
    def prepare(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        *args: Any,
        shared_bytes: int = 0,
        stream: Stream | None = None,
    ) -> PreparedLaunch: ...
    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        *,
        shared_bytes: int = 0,
        stream: Stream | None = None,
        timeout_ms: int | None = None,
    ) -> tuple[int, int]: ...

@final
class PreparedLaunch:
    """A kernel with grid, block and arguments fixed; call it, without arguments, to launch."""

    def __call__(self, *args: Any) -> None: ...

@final
class Launcher:
    """A kernel with grid and block chosen; call it with the kernel's arguments."""

    def __call__(self, *args: Any) -> None: ...

@final
class Trainer:
    """Back-propagation over a network."""

    def __new__(
        cls,
        network: Network,
        loss: str | None,
        optimizer: str,
        parameters: dict[str, float],
        batch_size: int,
        l2_penalty: float,
        seed: int,
        is_shuffled: bool,
        uses_math_core: bool,
    ) -> Trainer: ...
    @property
    def loss(self) -> str: ...
    @property
    def position(self) -> tuple[int, int, int, float, int]: ...
    def state(self) -> list[list[npt.NDArray[np.float32]]]: ...
    def restore(self, state: list[list[Any]], position: tuple[int, int, int, float, int]) -> None: ...
    def epoch(
        self,
        x: Any,
        targets: Any,
        chosen: npt.NDArray[np.uint32],
        learning_rate: float,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[float, float | None, int] | None: ...
    def evaluate(self, x: Any, targets: Any, chosen: npt.NDArray[np.uint32]) -> tuple[float, float | None, int]: ...
    def gradients(self, x: Any, targets: Any) -> tuple[float, list[tuple[str, npt.NDArray[np.float32]]]]: ...

def training_split(count: int, held_back: int, seed: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
def training_order(count: int, seed: int, epoch: int) -> npt.NDArray[np.uint32]: ...

@final
class Network:
    """A checked network plan with its weights."""

    @staticmethod
    def from_text(text: str, base_directory: str | os.PathLike[str] | None = None) -> Network: ...
    @staticmethod
    def from_config(config_json: str) -> Network: ...
    @property
    def name(self) -> str: ...
    @property
    def plan_json(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def input_size(self) -> int: ...
    @property
    def output_size(self) -> int: ...
    def connection_names(self) -> list[str]: ...
    def weights(self, connection: str) -> npt.NDArray[np.float32]: ...
    def set_weights(self, connection: str, values: Any) -> None: ...
    def layer_names(self) -> list[str]: ...
    def biases(self, layer: str) -> npt.NDArray[np.float32] | None: ...
    def set_biases(self, layer: str, values: Any) -> None: ...
    @property
    def parameter_count(self) -> int: ...
    def forward(self, x: Any, backend: str) -> npt.NDArray[np.float32]: ...
    def hebbian_step(self, x: Any, backend: str) -> npt.NDArray[np.float32]: ...
