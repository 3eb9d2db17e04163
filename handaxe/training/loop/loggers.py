"""Loggers for TensorBoard, Weights & Biases and Trackio, in addition to the run record.

A logger is called with (step, metrics) after every step and closed at the end; a custom one takes three lines.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from handaxe.core.errors import InputError

__all__ = ["Logger", "tensorboard", "trackio", "wandb"]


class Logger(Protocol):
    """Receives the metrics of each step."""

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None: ...

    def close(self) -> None: ...


class _Writer:
    """Logger made of two functions."""

    def __init__(self, log: Any, close: Any):
        self._log, self._close = log, close

    def __call__(self, step: int, metrics: Mapping[str, float]) -> None:
        self._log(step, metrics)

    def close(self) -> None:
        self._close()


def tensorboard(folder: Path) -> Logger:
    """Write scalars for TensorBoard into `folder`. Raises InputError without the extra [tensorboard]."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise _missing("tensorboard") from error
    writer = SummaryWriter(str(folder))

    def log(step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)

    return _Writer(log, writer.close)


def wandb(project: str, *, name: str | None = None, config: Mapping[str, Any] | None = None) -> Logger:
    """Log to a Weights & Biases run. Raises InputError without the extra [wandb]."""
    try:
        import wandb as service
    except ImportError as error:
        raise _missing("wandb") from error
    run = service.init(project=project, name=name, config=dict(config or {}))
    return _Writer(lambda step, metrics: run.log(dict(metrics), step=step), run.finish)


def trackio(project: str, *, name: str | None = None, config: Mapping[str, Any] | None = None) -> Logger:
    """Log to a Trackio run on this machine. Raises InputError without the extra [trackio]."""
    try:
        import trackio as service
    except ImportError as error:
        raise _missing("trackio") from error
    service.init(project=project, name=name, config=dict(config or {}))
    return _Writer(lambda step, metrics: service.log(dict(metrics), step=step), service.finish)


def _missing(extra: str) -> InputError:
    return InputError(f'logging to {extra} needs its package: pip install "handaxe[{extra}]"')
