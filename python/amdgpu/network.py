"""Networks: text or configuration in, answers out. The language is described in docs/network_language.md."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Mapping
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, ClassVar

from amdgpu import _native, arguments
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NetworkError
from amdgpu.external_inputs import ExternalInputs, arrays_of
from amdgpu.plotting.network import NetworkPlotsMixin

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from amdgpu.device import AMDGPUDevice

CORE = "neuromorphic"


# The classes of the two kinds. Their modules build on this one, so they are loaded when the first network is made.
_CLASSES = {"layered": "LayeredNetwork", "spiking": "SpikingNetwork"}


def _class_of(kind: str) -> type[Network]:
    found: type[Network] = getattr(importlib.import_module(f"amdgpu.{kind}_network"), _CLASSES[kind])
    return found


class WrongNetworkKindError(NetworkError, AttributeError):  # type: ignore[misc]  # `name` is that of NetworkError
    """What was asked for belongs to the other kind of network."""


class Network(NetworkPlotsMixin):
    """A checked network: `Network(text)` gives a `LayeredNetwork` or a `SpikingNetwork`, as the text says.

    Args:
        text: Network text (`neuralNetwork NAME: ...`), or a configuration dict as `neural_network_forward` takes it.
        device: Index in `list_devices()` or a name; None means the current device.
        base_directory: Where relative paths in `include "..."` and `file("...")` start; None means the working directory.
        arrays: What `array("name")` in the text stands for: numbers of any real dtype, copied when the network is built.
        threads: Threads that step a spiking network on the CPU; None means those of the device. The spikes do not depend on it.
        seed: Takes the place of the text's seed, 0 to 2^63 - 1.

    Raises:
        InvalidArgumentError: The seed is out of range, or was given with a configuration; arrays with a configuration.
        InvalidTypeError: An array holds something else than real numbers; another argument is of a type that is not listed.
        NetworkError: The text has errors; the message lists all of them with line and column. Or the text describes a network of the
            other kind than the class that was called.

    Example:
        >>> import amdgpu, numpy
        >>> net = amdgpu.Network('''
        ... neuralNetwork tiny:
        ...   layer input(4, activation: identity)
        ...   layer output(2, activation: softmax)
        ...   connect input -> output (weight: random(-0.5, 0.5))
        ... ''')
        >>> type(net).__name__
        'LayeredNetwork'
        >>> net.forward(numpy.ones((3, 4), "float32")).shape
        (3, 2)
    """

    kind: ClassVar[str]
    # What to say when a member of the other kind is asked for.
    _wrong_kind: ClassVar[str]

    _device: int | str
    _plan: _native.NetworkPlan
    _text: str
    _external: ExternalInputs

    def __init_subclass__(cls, *, kind: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if kind is not None:
            cls.kind = kind

    def __new__(  # noqa: PYI034, D102  (a factory, documented by the class)
        cls,
        text: str | Mapping[str, Any],
        *,
        device: int | str | None = None,
        base_directory: str | Path | None = None,
        arrays: Mapping[str, npt.ArrayLike] | None = None,
        threads: int | None = None,
        seed: int | None = None,
    ) -> Network:
        if base_directory is not None:
            base_directory = arguments.path("Network", "base_directory", base_directory)
        if threads is not None:
            threads = arguments.count("Network", "threads", threads, 1)
        built: _native.LayeredNetwork | None = None
        if isinstance(text, str):
            arguments.text("Network", "text", text, "a network's text")
            plan = _native.NetworkPlan.compile(text, None if base_directory is None else base_directory.resolve())
            if seed is not None:
                plan = plan.with_seed(arguments.count("Network", "seed", seed))
        elif isinstance(text, Mapping):
            if seed is not None:
                raise InvalidArgumentError("a configuration holds its seed itself: give it as the entry 'seed'")
            if arrays is not None:
                raise InvalidArgumentError("a configuration holds its arrays itself: give them as weights and biases")
            built, plan, text = _native.LayeredNetwork.from_config(_config_json(text))
        else:
            raise InvalidTypeError(f"Network: text is {shortened(text)}; a network's text or a dict is expected")
        kind = _class_of("spiking" if plan.is_spiking else "layered")
        if not (issubclass(cls, kind) or issubclass(kind, cls)):
            raise NetworkError(f"the text describes a {kind.kind} network, which {cls.__name__} is not; call Network")
        network = object.__new__(cls if issubclass(cls, kind) else kind)
        # Whichever device is current now stays the network's.
        network._device = _native.current_device() if device is None else device
        network._plan, network._text = plan, text
        network._external = ExternalInputs(base_directory, arrays_of(arrays))
        network._begin(built, threads)
        return network

    def _begin(self, built: _native.LayeredNetwork | None, threads: int | None) -> None:
        """Set what a network of this kind has besides; `built` is there when a configuration was given."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        others = (_class_of(kind) for kind in _CLASSES if kind != self.kind)
        if not name.startswith("_") and any(hasattr(other, name) for other in others):
            raise WrongNetworkKindError(self._wrong_kind)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        device: int | str | None = None,
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
            line = raw.count(b"\n", 0, error.start) + 1
            raise NetworkError(f"{path}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
        return cls(text, device=device, base_directory=path.parent, arrays=arrays, seed=seed)

    @property
    def is_spiking(self) -> bool:
        """Whether the network is stepped with `run`; a layered one computes with `forward`."""
        return self._plan.is_spiking

    @property
    def name(self) -> str:
        """Name of the network."""
        return self._plan.name

    @property
    def source(self) -> str:
        """The network as text."""
        return self._text

    @functools.cached_property
    def plan(self) -> dict[str, Any]:
        """The checked plan (docs/plan_schema.md)."""
        plan: dict[str, Any] = json.loads(self._plan.json)
        plan["seed"] = self._plan.seed
        return plan

    @property
    def warnings(self) -> list[str]:
        """Findings that do not stop the network."""
        return [f"{line}:{column}: {message} ({hint})" for line, column, message, hint in self._plan.warnings]

    def _stepping_device(self) -> AMDGPUDevice:
        """The device that steps the network, which needs the neuromorphic core."""
        opened = default_device(self._device)
        opened.require_core(CORE)
        return opened


def neural_network_forward(
    network_config: Mapping[str, Any] | str | Network,
    input_data: npt.ArrayLike,
    device_id: int | str | None = None,
    *,
    backend: str | None = None,
) -> npt.NDArray[np.float32]:
    """Run a network forward in one call.

    Args:
        network_config: A dict such as `{"architecture": [784, 256, 10], "activation": "relu", "output_activation": "softmax"}` or
            `{"layers": [{"size": 784}, {"size": 10, "activation": "softmax"}], "seed": 1}`; or network text; or a `Network`.
        input_data: Shape (batch, inputs) or (inputs,).
        device_id: Index in `list_devices()` or a name; None means the current device.
        backend: matrix, julia or nim, as in `LayeredNetwork.forward`; None takes the best that is available.

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
    output: npt.NDArray[np.float32] = network.forward(input_data, backend=backend)
    return output


def _config_json(config: Mapping[str, Any]) -> str:
    """The configuration as JSON; arrays become nested lists."""

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
