"""Layered networks: one dense layer after the other, computed forward and trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, dispatch
from amdgpu.errors import InvalidArgumentError
from amdgpu.network import CORE, Network
from amdgpu.training.methods import TrainingMixin

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from amdgpu.device import AMDGPUDevice
    from amdgpu.plotting.weights import Matrix

OPERATION = "dense_forward"


class LayeredNetwork(Network, TrainingMixin, kind="layered"):
    """A layered network with its weights and biases; `Network(text)` gives one where the text has layers.

    Arguments and errors are those of `Network`.

    Example:
        >>> import amdgpu
        >>> net = amdgpu.LayeredNetwork('''
        ... layer input(4)
        ... layer output(2, activation: softmax)
        ... connect input -> output (weight: 0.5)
        ... ''')
        >>> net.weights["input -> output"].shape
        (4, 2)
    """

    _wrong_kind = "the network is layered: it has no populations to step; use forward"

    def _begin(self, built: _native.LayeredNetwork | None, threads: int | None) -> None:  # noqa: ARG002  (spiking)
        if built is None:
            external = self._external
            built = _native.LayeredNetwork(self._plan, base_directory=external.base_directory, arrays=external.arrays)
        self._engine = built
        self._weights, self._biases = Weights(built), Biases(built)

    @property
    def weights(self) -> Weights:
        """Weight matrices by the name of the connection."""
        return self._weights

    @property
    def biases(self) -> Biases:
        """Biases by the name of the layer."""
        return self._biases

    @property
    def input_size(self) -> int:
        """Values per input row."""
        return self._engine.input_size

    @property
    def output_size(self) -> int:
        """Values per output row."""
        return self._engine.output_size

    @property
    def parameter_count(self) -> int:
        """Weights and biases together."""
        return self._engine.parameter_count

    def forward(self, x: npt.ArrayLike, *, backend: str | None = None) -> npt.NDArray[np.float32]:
        """Run the network forward.

        Args:
            x: Input of shape (batch, inputs), or (inputs,) for one row; converted to float32. Where layers have a state (`lif`, `leaky`)
                (batch, steps, inputs), or (steps, inputs): every sample begins at rest, and the output is the mean over the steps.
            backend: matrix (Zig on the CPU, kernels on a GPU), julia or nim (both on the CPU), generated (the kernels of GPUs on the CPU
                device); None takes the best that is available.

        Returns:
            Output of shape (batch, outputs), or (outputs,); float32. On a GPU an array of the device where x is one, else a NumPy array;
            within the bound of `amdgpu.matrix_multiply` of what the CPU gives.

        Raises:
            ShapeMismatchError: The input has another number of values per row.
            WeightsNotFiniteError: Input holds NaN or infinity.
            JuliaMissingError: The Julia backend was asked for and there is no Julia.
            NoImplementationError: An unknown backend.
            InvalidTypeError: A backend that is no text.
        """
        device = self._stepping_device()
        function, entry = dispatch.resolve(OPERATION, CORE, device.native.kind, prefer=backend)
        options = {"device": device} if entry.takes_device else {}
        result: npt.NDArray[np.float32] = function(self._engine, x, **options)
        return result

    def hebbian_step(self, x: npt.ArrayLike, *, backend: str = "matrix") -> npt.NDArray[np.float32]:
        """Run forward and apply the plasticity rules of the text once; returns the output before the update.

        Raises:
            InvalidArgumentError: The network has no plasticity.
        """
        arguments.text("hebbian_step", "backend", backend, "matrix, julia or nim")
        self._record_rules_on_cpu()
        return self._engine.hebbian_step(x, backend)

    def __repr__(self) -> str:
        return f"<LayeredNetwork {self.name!r} {self.input_size} -> {self.output_size}>"

    def _matrices(self, names: Sequence[str] | None) -> list[Matrix]:
        from amdgpu.plotting.weights import Matrix, chosen_names

        chosen = chosen_names(self._engine.connection_names(), names)
        full = [(name, self._engine.weights(name)) for name in chosen]
        return [Matrix(name, "", (values.shape[0], values.shape[1]), values) for name, values in full]


class Weights:
    """Weight matrices by connection name, for example `net.weights["input -> hidden"]`; copies out, checks in."""

    def __init__(self, native: _native.LayeredNetwork) -> None:
        self._native = native

    def __getitem__(self, connection: str) -> npt.NDArray[np.float32]:
        return self._native.weights(connection_name(connection))

    def __setitem__(self, connection: str, values: npt.ArrayLike) -> None:
        self._native.set_weights(connection_name(connection), values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.connection_names())

    def __len__(self) -> int:
        return len(self._native.connection_names())

    def keys(self) -> list[str]:
        """Names of the connections, in the order of the plan."""
        return self._native.connection_names()


class Biases:
    """Biases by layer name, of the layers that have some; copies out, checks in."""

    def __init__(self, native: _native.LayeredNetwork) -> None:
        self._native = native

    def __getitem__(self, layer: str) -> npt.NDArray[np.float32]:
        values = self._native.biases(_layer_name(layer))
        if values is None:
            raise InvalidArgumentError(f"the layer {layer!r} has no biases")
        return values

    def __setitem__(self, layer: str, values: npt.ArrayLike) -> None:
        self._native.set_biases(_layer_name(layer), values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Names of the layers with biases, in the order of the plan."""
        return [name for name in self._native.layer_names() if self._native.biases(name) is not None]


def connection_name(name: Any) -> str:
    """The name of a connection, which has to be text."""
    return arguments.text("weights", "connection", name, "the name of a connection, such as `input -> hidden`,")


def _layer_name(name: Any) -> str:
    return arguments.text("biases", "layer", name, "the name of a layer")


def forward_on_device(network: _native.LayeredNetwork, x: Any, *, device: AMDGPUDevice) -> Any:
    """Forward pass by the kernels of a device; the result stays there where `x` is an array of the device."""
    return network.forward_on_device(x, device=device)


def forward_matrix(network: _native.LayeredNetwork, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Forward pass by the Matrix core (Zig)."""
    return network.forward(x, "matrix")


def forward_julia(network: _native.LayeredNetwork, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Forward pass by the Math core (Julia)."""
    from amdgpu.math import prepare_runtime

    prepare_runtime()
    return network.forward(x, "julia")


def forward_nim(network: _native.LayeredNetwork, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Forward pass by the reference implementation (Nim)."""
    return network.forward(x, "nim")
