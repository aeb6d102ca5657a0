"""The loop over epochs; what happens inside one is `_native.Trainer` (crates/amdgpu-neuro/src/training.rs)."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, ShapeMismatchError
from amdgpu.training.history import History

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu.device import AMDGPUDevice

# Sample numbers are uint32 in the trainer.
LARGEST_SAMPLE_COUNT = 2**32 - 1

Rate = float | Callable[[int], float]
Progress = bool | Callable[["EpochProgress"], None]


@dataclass(frozen=True, slots=True)
class EpochProgress:
    """How far a training is, as `progress` gets it: at least once an epoch."""

    epoch: int
    epochs: int
    samples: int
    samples_per_epoch: int
    history: History


@dataclass(slots=True)
class Training:
    """A training that a network holds: what is needed to go on with it."""

    trainer: _native.Trainer
    options: dict[str, Any]
    history: History = field(default_factory=History)
    best: dict[str, npt.NDArray[np.float32]] | None = None


def make_trainer(
    native: _native.LayeredNetwork, options: dict[str, Any], device: AMDGPUDevice | None
) -> _native.Trainer:
    """A trainer for options as they are saved, on a device; None is this machine's cores."""
    return _native.Trainer(
        native,
        options["loss"],
        options["optimizer"],
        options["optimizer_options"],
        options["batch_size"],
        options["l2"],
        options["seed"],
        options["shuffle"],
        options["backend"] == "julia",
        options.get("steps", 1),
        device,
    )


def targets_of(y: npt.ArrayLike, what: str) -> npt.NDArray[Any]:
    """Labels as uint32 of shape (samples,), anything else as it is."""
    import numpy as np

    values = arguments.values(what, "y", y)
    if values.ndim != 1:
        return values
    if values.dtype.kind not in "biu":
        raise InvalidTypeError(
            f"y of one axis holds labels, whole numbers; its dtype is {values.dtype}. Values have the shape (samples, outputs)"
        )
    if values.size and (int(values.min()) < 0 or int(values.max()) > LARGEST_SAMPLE_COUNT):
        raise InvalidArgumentError(f"labels lie from 0 on; y holds {values.min()} to {values.max()}")
    return np.ascontiguousarray(values, dtype=np.uint32)


def samples_of(x: npt.ArrayLike, y: npt.ArrayLike, what: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Inputs and targets, with as many rows each."""
    import numpy as np

    inputs = arguments.values(what, "x", x)
    targets = targets_of(y, what)
    if inputs.ndim not in (2, 3):
        raise ShapeMismatchError(f"{what}: x has the shape {inputs.shape}, expected (samples, inputs)")
    if targets.ndim == 0 or len(targets) != len(inputs):
        raise ShapeMismatchError(f"{what}: x has {len(inputs)} samples, y has the shape {targets.shape}")
    if len(inputs) == 0:
        raise ShapeMismatchError(f"{what}: there are no samples")
    if len(inputs) > LARGEST_SAMPLE_COUNT:
        raise ShapeMismatchError(f"{what}: {len(inputs)} samples; at most {LARGEST_SAMPLE_COUNT} in one call")
    # Once here instead of in every epoch.
    inputs = np.ascontiguousarray(inputs, dtype=np.float32) if inputs.dtype.kind in "biuf" else inputs
    return inputs, targets


def as_rows(native: _native.LayeredNetwork, inputs: npt.NDArray[Any], what: str) -> tuple[npt.NDArray[Any], int]:
    """One row for each sample with all its steps, as the trainer takes them, and the number of steps."""
    wanted = 3 if native.is_temporal else 2
    if inputs.ndim != wanted or (wanted == 3 and 0 in inputs.shape):
        steps = "steps, " if native.is_temporal else ""
        raise ShapeMismatchError(f"{what}: x has the shape {inputs.shape}, expected (samples, {steps}inputs)")
    if wanted == 2:
        return inputs, 1
    return inputs.reshape(len(inputs), -1), inputs.shape[1]


def run_epochs(
    training: Training,
    data: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    validation: tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.uint32]] | None,
    *,
    chosen: npt.NDArray[np.uint32],
    epochs: int,
    rate: Rate,
    patience: int | None,
    min_delta: float,
    keep_best: Callable[[], dict[str, npt.NDArray[np.float32]]] | None,
    progress: Progress,
) -> History:
    """Epochs until there are `epochs` in the history, or early stopping; the history is right after every one of them."""
    history, trainer = training.history, training.trainer
    history.stopped = "interrupted"
    tell = bar(epochs) if progress is True else progress or None
    while history.epochs < epochs:
        epoch = history.epochs
        learning_rate = arguments.number("train", "learning_rate", rate(epoch)) if callable(rate) else rate
        start = time.perf_counter()

        def inside(samples: int, epoch: int = epoch) -> None:
            if tell is not None:
                tell(EpochProgress(epoch, epochs, samples, len(chosen), history))

        report = trainer.epoch(data[0], data[1], chosen, learning_rate, inside if tell is not None else None)
        if report is None:
            raise KeyboardInterrupt
        held_back = trainer.evaluate(*validation) if validation is not None else (None, None, 0)
        history.loss.append(report[0])
        history.accuracy.append(report[1])
        history.validation_loss.append(held_back[0])
        history.validation_accuracy.append(held_back[1])
        history.learning_rate.append(learning_rate)
        history.seconds.append(time.perf_counter() - start)
        if history.best_epoch is None or history.monitored(epoch) < history.monitored(history.best_epoch) - min_delta:
            history.best_epoch = epoch
            training.best = keep_best() if keep_best is not None else None
        if tell is not None:
            tell(EpochProgress(epoch + 1, epochs, 0, len(chosen), history))
        if patience is not None and epoch - history.best_epoch >= patience:
            history.stopped = "early"
            return history
    history.stopped = "finished"
    return history


def bar(epochs: int) -> Callable[[EpochProgress], None]:
    """A line on standard error that is written over."""

    def show(at: EpochProgress) -> None:
        done = (at.epoch + at.samples / max(at.samples_per_epoch, 1)) / max(epochs, 1)
        filled = min(int(done * 24), 24)
        parts = [f"\r[{'#' * filled}{'.' * (24 - filled)}] epoch {min(at.epoch + 1, epochs)}/{epochs}"]
        if at.history.epochs:
            parts.append(f"loss {at.history.loss[-1]:.4g}")
            for name in ("accuracy", "validation_loss", "validation_accuracy"):
                value = getattr(at.history, name)[-1]
                if value is not None:
                    parts.append(f"{name.replace('_', ' ')} {value:.4g}")
        print("  ".join(parts), end="\n" if at.epoch >= epochs else "", file=sys.stderr, flush=True)

    return show
