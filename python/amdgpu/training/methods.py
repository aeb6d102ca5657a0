"""Training: methods that `amdgpu.LayeredNetwork` inherits from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, dispatch
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, NetworkError
from amdgpu.training import checkpoint
from amdgpu.training.history import History
from amdgpu.training.rules import learn_by_rules
from amdgpu.training.train import (
    Training,
    as_rows,
    make_trainer,
    run_epochs,
    samples_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from amdgpu.device import AMDGPUDevice
    from amdgpu.training.train import Progress, Rate


class TrainingMixin:
    """Training of a layered network, and its checkpoints."""

    _engine: _native.LayeredNetwork
    _plan: _native.NetworkPlan
    _training: Training | None = None
    _device: int | str

    def train(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike | None = None,
        *,
        epochs: int = 10,
        batch_size: int = 32,
        optimizer: str = "adam",
        learning_rate: Rate = 1e-3,
        optimizer_options: Mapping[str, float] | None = None,
        loss: str | None = None,
        l2: float = 0.0,
        shuffle: bool = True,
        seed: int | None = None,
        validation_split: float = 0.0,
        validation_data: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        patience: int | None = None,
        min_delta: float = 0.0,
        restore_best: bool = True,
        progress: Progress = False,
        resume: bool = False,
        backend: str | None = None,
    ) -> History:
        """Train by back-propagation, or without `y` by the plasticity rules of the network's text.

        The network is consistent after every batch: Ctrl-C raises `KeyboardInterrupt` between two of them, `net.history` has the curves
        so far, and `resume=True` goes on behind the last batch, with the same bits as without the break.

        Args:
            x: Shape (samples, inputs), or (samples, steps, inputs) for a network whose layers have a state; converted to float32. A GPU
                reads it when training begins: changes meanwhile are not seen.
            y: Shape (samples, outputs), or (samples,) with whole labels. None: the plasticity rules of the text learn from `x` alone.
            epochs: Epochs in total; with `resume` those that are done count.
            batch_size: Samples of a step. The last batch of an epoch may be smaller.
            optimizer: sgd, momentum (Polyak 1964), adam (Kingma and Ba 2015) or adaptive (the requirement documents' rule:
                a moving average of gradients, with the rate learning_rate / (1 + |gradient|)).
            learning_rate: A number, or a function of the epoch (from 0) that gives one.
            optimizer_options: `momentum` (0.9); `beta_1` (0.9), `beta_2` (0.999), `epsilon` (1e-8) of adam; `decay` (0.9) of adaptive.
            loss: cross_entropy (needs softmax outputs) or mean_squared_error (mean over samples and outputs). None takes cross entropy
                where every output layer is softmax.
            l2: `l2 / 2 * sum(weight**2)` is added to the loss.
            shuffle: Another order in every epoch, drawn from (seed, epoch).
            seed: None takes the seed of the network's text.
            validation_split: Share of the samples, chosen by the seed, that is held back.
            validation_data: Other samples (x, y) to validate with.
            patience: Stop when the validation loss (without validation the training loss) has not improved for so many epochs.
            min_delta: What counts as an improvement.
            restore_best: With `patience`, keep the weights of the best epoch at the end.
            progress: True draws a bar on standard error; a function is called with an `EpochProgress` at least once an epoch.
            resume: Go on with the training that the network holds, with the options it was begun with. `learning_rate` may change.
            backend: None and "rust" train where the network is: on the CPU by the Matrix core, on a GPU by its kernels, where weights,
                gradients and what the optimizer keeps stay. "julia" lets the Math core do the optimizer's arithmetic, on the CPU (same
                bits). "generated" trains on the CPU device by the kernels that GPUs get.

        Returns:
            The learning curves; also `net.history`.

        Raises:
            ShapeMismatchError: x, y or the network do not fit together.
            WeightsNotFiniteError: x or y hold NaN, or the training diverged. The network keeps what it had before the batch.
            InvalidArgumentError: An option out of range; `resume` with other options.
            InvalidTypeError: An option of another type; samples that are no numbers.

        Example:
            >>> import amdgpu, numpy
            >>> net = amdgpu.Network('''
            ... layer input(2)
            ... layer hidden(8, activation: tanh)
            ... layer output(2, activation: softmax)
            ... connect input -> hidden
            ... connect hidden -> output
            ... ''')
            >>> x = numpy.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
            >>> history = net.train(x, [0, 1, 1, 0], epochs=200, batch_size=4, learning_rate=0.05)
            >>> history.accuracy[-1]
            1.0
        """
        options = {
            "optimizer": arguments.text("train", "optimizer", optimizer, "the name of an optimizer, such as adam,"),
            "optimizer_options": _numbers_by_name("optimizer_options", optimizer_options),
            "batch_size": arguments.count("train", "batch_size", batch_size, 1),
            "loss": _loss_of("train", loss),
            "l2": arguments.number("train", "l2", l2),
            "shuffle": arguments.truth("train", "shuffle", shuffle),
            "seed": self._plan.seed if seed is None else arguments.count("train", "seed", seed, 0, LARGEST_SEED),
            "backend": _backend_of("train", backend),
            "validation_split": arguments.share("train", "validation_split", validation_split),
        }
        epochs = arguments.count("train", "epochs", epochs)
        if patience is not None:
            patience = arguments.count("train", "patience", patience, 1)
        min_delta = arguments.number("train", "min_delta", min_delta)
        rate = learning_rate if callable(learning_rate) else arguments.number("train", "learning_rate", learning_rate)
        progress = arguments.progress("train", progress)
        for name, value in (("restore_best", restore_best), ("resume", resume)):
            arguments.truth("train", name, value)
        if y is None:
            self._record_rules_on_cpu()
            self._training = None
            return learn_by_rules(self._engine, x, epochs=epochs, options=options, progress=progress)
        inputs, targets = samples_of(x, y, "train")
        options["samples"] = len(inputs)
        rows, steps = as_rows(self._engine, inputs, "train")
        data = rows, targets
        if self._engine.is_temporal:
            options["steps"] = steps
        if validation_data is not None:
            held_inputs, held_targets = samples_of(
                *arguments.two("train", "validation_data", validation_data, "(x, y)"), "validation_data"
            )
            validation_data = as_rows(self._engine, held_inputs, "validation_data")[0], held_targets
        chosen, held_back = _split(data, options, validation_data)
        training = self._resumed(options) if resume else Training(self._trainer(options), options)
        self._training = training
        training.trainer.hold(rows)
        try:
            history = run_epochs(
                training,
                data,
                held_back,
                chosen=chosen,
                epochs=epochs,
                rate=rate,
                patience=patience,
                min_delta=min_delta,
                keep_best=(lambda: checkpoint.numbers_of(self._engine))
                if patience is not None and restore_best
                else None,
                progress=progress,
            )
        finally:
            training.trainer.release()
        if training.best is not None:
            checkpoint.set_numbers(self._engine, training.best)
        return history

    @property
    def history(self) -> History | None:
        """Learning curves of the training that the network holds; None before the first."""
        return None if self._training is None else self._training.history

    def _trainer(self, options: dict[str, Any]) -> _native.Trainer:
        """A trainer for options as they are saved, where the network is."""
        device = default_device(self._device)
        device.require_core("neuromorphic")
        backend, is_gpu = options["backend"], device.native.kind in dispatch.GPU_KINDS
        if backend == "julia" and is_gpu:
            _record_on_cpu(device, "the optimizer's arithmetic by julia")
        is_there = backend == "generated" or (backend == "rust" and is_gpu)
        return make_trainer(self._engine, options, device if is_there else None)

    def _record_rules_on_cpu(self) -> None:
        """Plasticity rules of layered networks run on the CPU whatever the device is: counted, and said once."""
        device = default_device(self._device)
        device.require_core("neuromorphic")
        if device.native.kind in dispatch.GPU_KINDS:
            _record_on_cpu(device, "plasticity rules")

    def _resumed(self, options: dict[str, Any]) -> Training:
        training = self._training
        if training is None:
            raise InvalidArgumentError("there is no training to go on with: train without resume first, or restore one")
        differing = [name for name, value in options.items() if training.options.get(name) != value]
        if differing:
            listed = ", ".join(f"{name} was {training.options.get(name)!r}, is {options[name]!r}" for name in differing)
            raise InvalidArgumentError(f"a training goes on with the options it was begun with: {listed}")
        return training

    def gradients(
        self,
        x: npt.ArrayLike,
        y: npt.ArrayLike,
        *,
        loss: str | None = None,
        l2: float = 0.0,
        backend: str | None = None,
    ) -> tuple[float, dict[str, npt.NDArray[np.float32]]]:
        """Loss of one batch and its gradient by every weight and bias; nothing is learnt.

        Args:
            x: As `train` takes it.
            y: As `train` takes it.
            loss: As in `train`.
            l2: As in `train`.
            backend: As in `train`.

        Returns:
            The loss, and arrays by connection (`"input -> hidden"`) and by layer for the biases.
        """
        inputs, targets = samples_of(x, y, "gradients")
        options = {
            "optimizer": "sgd",
            "optimizer_options": {},
            "batch_size": len(inputs),
            "loss": _loss_of("gradients", loss),
            "l2": arguments.number("gradients", "l2", l2),
            "shuffle": False,
            "seed": 0,
            "backend": _backend_of("gradients", backend),
        }
        inputs, options["steps"] = as_rows(self._engine, inputs, "gradients")
        found, gradients = self._trainer(options).gradients(inputs, targets)
        return found, dict(gradients)

    def save(self, path: str | Path) -> None:
        """Write weights, biases and the training in progress to a file, atomically.

        Raises:
            OSError: The file cannot be written.
        """
        checkpoint.save(self._engine, self._training, arguments.path("save", "path", path))

    def restore(self, path: str | Path) -> None:
        """Read what `save` wrote; `train(…, resume=True)` then goes on as if nothing had happened.

        Raises:
            OSError: The file cannot be read.
            NetworkError: It is damaged or of another network. Nothing is changed then.
        """
        path = arguments.path("restore", "path", path)
        try:
            self._training = checkpoint.restore(self._engine, path, self._trainer)
        except IsADirectoryError as error:
            raise NetworkError(f"{path} is a directory, no checkpoint") from error

    def plot_history(self, path: str | Path | None = None) -> Figure | None:
        """Draw the learning curves into a file, or without a path return the figure; needs matplotlib.

        Raises:
            InvalidArgumentError: Nothing was trained yet.
            LibraryMissingError: matplotlib is not installed.
        """
        if self.history is None:
            raise InvalidArgumentError("there are no learning curves: train the network first")
        return self.history.plot(path)


def _record_on_cpu(device: AMDGPUDevice, what: str) -> None:
    _native.record_fallback("dense_training", f"the CPU computes what {device.name} does not: {what}")


def _numbers_by_name(name: str, given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        return {}
    items = arguments.mapping("train", name, given, "numbers by name").items()
    return {str(key): arguments.number("train", f"{name}[{key!r}]", value) for key, value in items}


def _loss_of(operation: str, loss: str | None) -> str | None:
    return None if loss is None else arguments.text(operation, "loss", loss, "cross_entropy or mean_squared_error")


def _backend_of(operation: str, backend: str | None) -> str:
    if backend is not None:
        arguments.choice(operation, "backend", backend, ("rust", "julia", "generated"))
    if backend == "julia":
        from amdgpu.math import prepare_runtime

        prepare_runtime()
    return backend or "rust"


# The trainer draws from a seed of 64 bits.
LARGEST_SEED = 2**64 - 1

Held = tuple["npt.NDArray[Any]", "npt.NDArray[Any]", "npt.NDArray[np.uint32]"]


def _split(
    data: tuple[npt.NDArray[Any], npt.NDArray[Any]],
    options: dict[str, Any],
    validation_data: tuple[npt.ArrayLike, npt.ArrayLike] | None,
) -> tuple[npt.NDArray[np.uint32], Held | None]:
    """Numbers of the samples to learn from, and what to validate with."""
    import numpy as np

    count = len(data[0])
    if validation_data is not None:
        if options["validation_split"]:
            raise InvalidArgumentError("validation_split and validation_data exclude each other")
        x, y = samples_of(*validation_data, "validation_data")
        return np.arange(count, dtype=np.uint32), (x, y, np.arange(len(x), dtype=np.uint32))
    held_back = int(count * options["validation_split"])
    if options["validation_split"] and not 0 < held_back < count:
        raise InvalidArgumentError(
            f"validation_split of {options['validation_split']} leaves nothing of {count} samples"
        )
    chosen, kept = _native.training_split(count, held_back, options["seed"])
    return chosen, (data[0], data[1], kept) if held_back else None
