"""A network's numbers in a file: weights, biases and the training in progress.

A NumPy archive (`.npz`) without pickled objects: `header` is JSON, every array is float32. Written beside its place and renamed, so that a
reader sees the old file or the new one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu.errors import NetworkError
from amdgpu.training.history import History
from amdgpu.training.train import Training

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu import _native

SCHEMA = "amdgpu.network_checkpoint"
VERSION = 1


def plan_digest(plan: dict[str, Any]) -> str:
    """What makes two networks the same for their numbers: layers and connections, not initial values or warnings."""
    layers = [[layer["name"], layer["size"], layer["activation"]] for layer in plan["layers"]]
    connections = [[connection["from"], connection["to"]] for connection in plan["connections"]]
    return hashlib.sha256(json.dumps([layers, connections], sort_keys=True).encode()).hexdigest()


def numbers_of(native: _native.LayeredNetwork) -> dict[str, npt.NDArray[np.float32]]:
    """Copies of all weights and biases: `weights.FROM -> TO`, `biases.LAYER`."""
    numbers = {f"weights.{name}": native.weights(name) for name in native.connection_names()}
    for layer in native.layer_names():
        values = native.biases(layer)
        if values is not None:
            numbers[f"biases.{layer}"] = values
    return numbers


def set_numbers(native: _native.LayeredNetwork, numbers: dict[str, npt.NDArray[np.float32]]) -> None:
    """Put back what `numbers_of` gave."""
    for name, values in numbers.items():
        kind, _, key = name.partition(".")
        if kind == "weights":
            native.set_weights(key, values)
        else:
            native.set_biases(key, values)


def save(native: _native.LayeredNetwork, training: Training | None, path: str | Path) -> None:
    """Write the file.

    Raises:
        OSError: It cannot be written.
    """
    header: dict[str, Any] = {
        "schema": SCHEMA,
        "version": VERSION,
        "name": native.plan.name,
        "plan": plan_digest(json.loads(native.plan.json)),
        "training": None,
    }
    arrays: dict[str, Any] = dict(numbers_of(native))
    for name in native.connection_names():
        threshold = native.thresholds(name)
        if threshold is not None:
            arrays[f"thresholds.{name}"] = threshold
    if training is not None:
        header["training"] = {
            "options": training.options,
            "position": training.trainer.position,
            "history": training.history.to_dict(),
            "tensors": 0,
        }
        state = training.trainer.state()
        header["training"]["tensors"] = len(state)
        for tensor, slots in enumerate(state):
            arrays |= {f"optimizer.{tensor}.{slot}": values for slot, values in enumerate(slots)}
        if training.best is not None:
            arrays |= {f"best.{name}": values for name, values in training.best.items()}
    write(path, header, arrays)


def write(path: str | Path, header: dict[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write an archive of arrays with a header, atomically.

    Raises:
        OSError: It cannot be written.
    """
    import numpy as np

    entries = {**arrays, "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    path = Path(path)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **entries)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


def restore(
    native: _native.LayeredNetwork, path: str | Path, trainer_of: Callable[[dict[str, Any]], _native.Trainer]
) -> Training | None:
    """Read the file into the network; the training that goes on from it, if it was saved with one.

    Args:
        native: The network.
        path: What `save` wrote.
        trainer_of: Makes a trainer for options as they were saved.

    Raises:
        OSError: It cannot be read.
        NetworkError: It is damaged, of another version, or of another network. Nothing is changed then.
    """
    header, arrays = read(path)
    if header.get("schema") != SCHEMA:
        raise NetworkError(f"{path} is no checkpoint of a network: its schema is {header.get('schema')!r}")
    if header.get("version") != VERSION:
        raise NetworkError(f"{path} has version {header.get('version')}, this build reads version {VERSION}")
    if header.get("plan") != plan_digest(json.loads(native.plan.json)):
        raise NetworkError(
            f"{path} was saved by the network {header.get('name')!r}, whose layers and connections differ from those of "
            f"{native.plan.name!r}"
        )
    numbers = {name: values for name, values in arrays.items() if name.startswith(("weights.", "biases."))}
    _check_numbers(native, numbers, path)
    thresholds = {name: arrays.get(f"thresholds.{name}") for name in native.connection_names()}
    for name, values in thresholds.items():
        if values is not None:
            _check_array(path, f"the thresholds of {name}", values, (native.weights(name).shape[1],))
    training = _training_of(trainer_of, header.get("training"), arrays, path)
    set_numbers(native, numbers)
    for name, values in thresholds.items():
        native.set_thresholds(name, values)
    return training


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Header and arrays of an archive.

    Raises:
        OSError: It cannot be read.
        NetworkError: It is damaged.
    """
    import numpy as np

    try:
        # Anything but an archive, np.load would read as a single array.
        with Path(path).open("rb") as file, zipfile.ZipFile(file):
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        header = json.loads(bytes(arrays.pop("header")))
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError, NotImplementedError, SyntaxError) as error:
        raise NetworkError(f"{path} is no checkpoint of a network, or is damaged: {error}") from None
    if not isinstance(header, dict):
        raise NetworkError(f"{path} is no checkpoint of a network: its header is no object")
    return header, arrays


def _check_numbers(native: _native.LayeredNetwork, numbers: dict[str, npt.NDArray[Any]], path: str | Path) -> None:

    current = numbers_of(native)
    if set(numbers) != set(current):
        raise NetworkError(f"{path} lacks or adds numbers: {', '.join(sorted(set(numbers) ^ set(current)))}")
    for name, values in numbers.items():
        _check_array(path, name, values, current[name].shape)


def _check_array(path: str | Path, name: str, values: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    import numpy as np

    if values.shape != shape or values.dtype != np.float32:
        raise NetworkError(f"{path}: {name} is {values.dtype} {values.shape}, expected float32 {shape}")
    if not np.isfinite(values).all():
        raise NetworkError(f"{path}: {name} holds NaN or infinity")


def _training_of(
    trainer_of: Callable[[dict[str, Any]], _native.Trainer],
    saved: Any,
    arrays: dict[str, npt.NDArray[Any]],
    path: str | Path,
) -> Training | None:
    if saved is None:
        return None
    try:
        options = saved["options"]
        trainer = trainer_of(options)
        slots = len(trainer.state()[0]) if trainer.state() else 0
        state = [
            [arrays[f"optimizer.{tensor}.{slot}"] for slot in range(slots)] for tensor in range(int(saved["tensors"]))
        ]
        trainer.restore(state, tuple(saved["position"]))
        history = History(**saved["history"])
    except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
        raise NetworkError(f"{path}: the saved training is damaged: {error}") from None
    best = {name.removeprefix("best."): values for name, values in arrays.items() if name.startswith("best.")}
    return Training(trainer, options, history, best or None)
