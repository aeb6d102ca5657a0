"""Networks: text or configuration in, answers out. The language is described in docs/network_language.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, dispatch
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NetworkError
from amdgpu.plotting.network import Drawing
from amdgpu.spiking import Running, SpikingPart
from amdgpu.spiking_batch import Givens, arrays_of
from amdgpu.training.methods import Learning

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from amdgpu.device import AMDGPUDevice

OPERATION = "dense_forward"
CORE = "neuromorphic"


class Network(Learning, Running, Drawing):
    """A checked network with its weights.

    Args:
        text: Network text (`neuralNetwork NAME: ...`), or a configuration dict as `neural_network_forward` takes it.
        device: Index in `list_devices()` or a name.
        base_directory: Where relative paths in `file("...")` start; None means the working directory.
        arrays: What `array("name")` in the text stands for: numbers of any real dtype, copied when the network is built.
        threads: Threads that step a spiking network on the CPU; None means those of the device. The spikes do not depend on it.
        seed: Takes the place of the text's seed, 0 to 2^63 - 1.

    Raises:
        InvalidArgumentError: The seed is out of range, or was given with a configuration; arrays with a configuration.
        InvalidTypeError: An array holds something else than real numbers; another argument is of a type that is not listed.
        NetworkError: The text has errors; the message lists all of them with line and column.

    Example:
        >>> import amdgpu, numpy
        >>> net = amdgpu.Network('''
        ... neuralNetwork tiny:
        ...   layer input(4, activation: identity)
        ...   layer output(2, activation: softmax)
        ...   connect input -> output (weight: random(-0.5, 0.5))
        ... ''')
        >>> net.forward(numpy.ones((3, 4), "float32")).shape
        (3, 2)
    """

    def __init__(
        self,
        text: str | Mapping[str, Any],
        *,
        device: int | str = 0,
        base_directory: str | Path | None = None,
        arrays: Mapping[str, npt.ArrayLike] | None = None,
        threads: int | None = None,
        seed: int | None = None,
    ) -> None:
        self._device = device
        self._spiking = None
        if base_directory is not None:
            base_directory = arguments.path("Network", "base_directory", base_directory)
        if threads is not None:
            threads = arguments.count("Network", "threads", threads, 1)
        if isinstance(text, str):
            arguments.text("Network", "text", text, "a network's text")
            if base_directory is not None:
                text = _with_absolute_includes(text, base_directory)
            plan_json, is_spiking = _native.network_plan(text)
            if seed is not None:
                plan_json = _with_seed(plan_json, seed)
            if is_spiking:
                given = Givens(base_directory, arrays_of(arrays))
                self._spiking = SpikingPart(text, plan_json, lambda: _stepping(device).native, given, threads)
                self.weights: Weights = SpikingWeights(self._spiking)
                return
            self._native = _native.Network.from_plan(plan_json, text, base_directory, arrays_of(arrays))
        elif isinstance(text, Mapping):
            if seed is not None:
                raise InvalidArgumentError("a configuration holds its seed itself: give it as the entry 'seed'")
            if arrays is not None:
                raise InvalidArgumentError("a configuration holds its arrays itself: give them as weights and biases")
            self._native = _native.Network.from_config(_config_json(text))
        else:
            raise InvalidTypeError(f"Network: text is {shortened(text)}; a network's text or a dict is expected")
        self.weights = Weights(self._native)
        self.biases = Biases(self._native)

    def __getattr__(self, name: str) -> Any:
        if name in ("_native", "biases") and self.__dict__.get("_spiking") is not None:
            raise NetworkError("the network is a spiking one, without layers: step it with run")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: int | str = 0,
        arrays: Mapping[str, npt.ArrayLike] | None = None,
        seed: int | None = None,
    ) -> Network:
        """Read network text from a file; `device`, `arrays` and `seed` as in `Network`.

        Raises:
            OSError: The file cannot be read.
            NetworkError: The text has errors, or is not UTF-8.
        """
        path = arguments.path("Network.load", "path", path)
        raw = path.read_bytes()
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            from amdgpu.errors import NetworkError

            line = raw.count(b"\n", 0, error.start) + 1
            raise NetworkError(f"{path}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
        return cls(text, device=device, base_directory=path.parent, arrays=arrays, seed=seed)

    @property
    def name(self) -> str:
        """Name of the network."""
        if self._spiking is not None:
            name: str = self._spiking.plan["name"]
            return name
        return self._native.name

    @property
    def source(self) -> str:
        """The network as text."""
        if self._spiking is not None:
            return self._spiking.text
        return self._native.text

    @property
    def plan(self) -> dict[str, Any]:
        """The checked plan (docs/plan_schema.md)."""
        if self._spiking is not None:
            return self._spiking.plan
        import json

        result: dict[str, Any] = json.loads(self._native.plan_json)
        return result

    @property
    def warnings(self) -> list[str]:
        """Findings that do not stop the network."""
        if self._spiking is not None:
            found = self._spiking.plan["warnings"]
            built = self._spiking.built_warnings
            return [f"{one['line']}:{one['column']}: {one['message']} ({one['hint']})" for one in found] + built
        return self._native.warnings

    @property
    def input_size(self) -> int:
        """Values per input row."""
        return self._native.input_size

    @property
    def output_size(self) -> int:
        """Values per output row."""
        return self._native.output_size

    def forward(self, x: npt.ArrayLike, *, backend: str | None = None) -> npt.NDArray[np.float32]:
        """Run the network forward.

        Args:
            x: Input of shape (batch, inputs), or (inputs,) for one row; converted to float32. Where layers have a state (`lif`, `leaky`)
                (batch, steps, inputs), or (steps, inputs): every sample begins at rest, and the output is the mean over the steps.
            backend: matrix (Zig on the CPU, kernels on a GPU), julia or nim (both on the CPU); None takes the best that is available.

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
        device = _stepping(self._device)
        function, entry = dispatch.resolve(OPERATION, CORE, device.native.kind, prefer=backend)
        options = {"device": device} if entry.takes_device else {}
        result: npt.NDArray[np.float32] = function(self._native, x, **options)
        return result

    def hebbian_step(self, x: npt.ArrayLike, *, backend: str = "matrix") -> npt.NDArray[np.float32]:
        """Run forward and apply the plasticity rules of the text once; returns the output before the update.

        Raises:
            InvalidArgumentError: The network has no plasticity.
        """
        arguments.text("hebbian_step", "backend", backend, "matrix, julia or nim")
        self._say_that_the_cpu_learns()
        return self._native.hebbian_step(x, backend)

    @property
    def parameter_count(self) -> int:
        """Weights and biases together."""
        return self._native.parameter_count

    def __repr__(self) -> str:
        if self._spiking is not None:
            populations = ", ".join(f"{one['name']}({one['size']})" for one in self.plan["spiking"]["populations"])
            return f"<Network {self.name!r} {populations}>"
        return f"<Network {self.name!r} {self.input_size} -> {self.output_size}>"


def _stepping(device: AMDGPUDevice | int | str) -> AMDGPUDevice:
    """The device that steps a network, which needs the neuromorphic core."""
    opened = default_device(device)
    opened.require_core(CORE)
    return opened


def _connection(name: Any) -> str:
    return arguments.text("weights", "connection", name, "the name of a connection, such as `input -> hidden`,")


def _layer(name: Any) -> str:
    return arguments.text("biases", "layer", name, "the name of a layer")


class Weights:
    """Weight matrices by connection name, for example `net.weights["input -> hidden"]`; copies out, checks in."""

    def __init__(self, native: _native.Network) -> None:
        self._native = native

    def __getitem__(self, connection: str) -> npt.NDArray[np.float32]:
        return self._native.weights(_connection(connection))

    def __setitem__(self, connection: str, values: npt.ArrayLike) -> None:
        self._native.set_weights(_connection(connection), values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._native.connection_names())

    def __len__(self) -> int:
        return len(self._native.connection_names())

    def keys(self) -> list[str]:
        """Names of the connections, in the order of the plan."""
        return self._native.connection_names()


class SpikingWeights(Weights):
    """Weights of a spiking network by connection, one for each synapse in the order of `net.synapses`; copies out, checks in."""

    def __init__(self, part: SpikingPart) -> None:
        self._part = part

    def __getitem__(self, connection: str) -> npt.NDArray[np.float32]:
        return self._part.native.synapses(_connection(connection))[2]

    def __setitem__(self, connection: str, values: npt.ArrayLike) -> None:
        self._part.native.set_weights(_connection(connection), values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Names of the connections, in the order of the plan."""
        return self._part.native.projection_names()


class Biases:
    """Biases by layer name, of the layers that have some; copies out, checks in."""

    def __init__(self, native: _native.Network) -> None:
        self._native = native

    def __getitem__(self, layer: str) -> npt.NDArray[np.float32]:
        values = self._native.biases(_layer(layer))
        if values is None:
            raise InvalidArgumentError(f"the layer {layer!r} has no biases")
        return values

    def __setitem__(self, layer: str, values: npt.ArrayLike) -> None:
        self._native.set_biases(_layer(layer), values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Names of the layers with biases, in the order of the plan."""
        return [name for name in self._native.layer_names() if self._native.biases(name) is not None]


def neural_network_forward(
    network_config: Mapping[str, Any] | str | Network,
    input_data: npt.ArrayLike,
    device_id: int | str = 0,
    *,
    backend: str | None = None,
) -> npt.NDArray[np.float32]:
    """Run a network forward in one call.

    Args:
        network_config: A dict such as `{"architecture": [784, 256, 10], "activation": "relu", "output_activation": "softmax"}` or
            `{"layers": [{"size": 784}, {"size": 10, "activation": "softmax"}], "seed": 1}`; or network text; or a `Network`.
        input_data: Shape (batch, inputs) or (inputs,).
        device_id: Index in `list_devices()` or a name.
        backend: matrix, julia or nim, as in `Network.forward`; None takes the best that is available.

    Returns:
        Output of shape (batch, outputs) or (outputs,); float32.

    Raises:
        NetworkError: The configuration has errors.
        ShapeMismatchError: The input does not fit the first layer.

    Example:
        >>> import amdgpu, numpy
        >>> config = {"architecture": [4, 8, 3], "activation": "relu", "output_activation": "softmax"}
        >>> float(amdgpu.neural_network_forward(config, numpy.ones(4)).sum().round(5))
        1.0
    """
    network = network_config if isinstance(network_config, Network) else Network(network_config, device=device_id)
    return network.forward(input_data, backend=backend)


def forward_matrix(network: _native.Network, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Forward pass by the Matrix core (Zig)."""
    return network.forward(x, "matrix")


def forward_julia(network: _native.Network, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Forward pass by the Math core (Julia)."""
    from amdgpu.math import prepare_runtime

    prepare_runtime()
    return network.forward(x, "julia")


def forward_nim(network: _native.Network, x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Forward pass by the reference implementation (Nim)."""
    return network.forward(x, "nim")


def _with_absolute_includes(text: str, base_directory: str | Path) -> str:
    """The text with `include "file"` of relative paths made absolute; lines and columns of everything else stay."""
    import re
    from pathlib import Path

    base = Path(base_directory).resolve()
    return re.sub(
        r'(?m)^([ ]*include[ ]+)"([^"\\\n]+)"',
        lambda found: f'{found[1]}"{base / found[2]}"',
        text,
    )


def _with_seed(plan_json: str, seed: int) -> str:
    import json

    return json.dumps(json.loads(plan_json) | {"seed": arguments.count("Network", "seed", seed)}, ensure_ascii=False)


def _config_json(config: Mapping[str, Any]) -> str:
    """The configuration as JSON; arrays become nested lists."""
    import json

    def plain(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise InvalidTypeError(f"a network configuration cannot hold {type(value).__name__}")

    try:
        return json.dumps(config, default=plain)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidTypeError):
            raise
        raise InvalidTypeError(
            f"a network configuration holds names, numbers, texts, lists and dicts: {error}"
        ) from None
