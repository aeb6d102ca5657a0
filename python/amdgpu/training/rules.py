"""Learning without targets, by the plasticity rules of a network's text."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import ShapeMismatchError
from amdgpu.training.history import History

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu.training.train import Progress


def learn_by_rules(
    native: _native.LayeredNetwork, x: npt.ArrayLike, *, epochs: int, options: dict[str, Any], progress: Progress
) -> History:
    """`epochs` passes over the samples; the loss of an epoch is NaN, since the rules have none."""
    import numpy as np

    from amdgpu.training.train import EpochProgress, bar

    samples = arguments.values("train", "x", x)
    if samples.ndim != 2 or len(samples) == 0:
        raise ShapeMismatchError(f"train: x has the shape {samples.shape}, expected (samples, {native.input_size})")
    history = History(stopped="interrupted")
    tell = bar(epochs) if progress is True else progress or None
    for epoch in range(epochs):
        start = time.perf_counter()
        order = np.arange(len(samples), dtype=np.uint32)
        if options["shuffle"]:
            order = _native.training_order(len(samples), options["seed"], epoch)
        for first in range(0, len(order), options["batch_size"]):
            native.hebbian_step(samples[order[first : first + options["batch_size"]]], "matrix")
        history.loss.append(float("nan"))
        history.accuracy.append(None)
        history.validation_loss.append(None)
        history.validation_accuracy.append(None)
        history.learning_rate.append(float("nan"))
        history.seconds.append(time.perf_counter() - start)
        if tell is not None:
            tell(EpochProgress(epoch + 1, epochs, 0, len(samples), history))
    history.stopped = "finished"
    return history
