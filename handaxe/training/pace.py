"""How a run goes on in time, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from handaxe.rollouts.stopping.rule import StopRule
from handaxe.training.loggers import Logger

__all__ = ["Keep", "Pace"]


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How groups are generated beside the updates; what `train` and a recipe are told in one word."""

    rounds: int = 1
    spare: int = 0
    stop_when: StopRule | None = None
    segment_tokens: int | None = None
    segment_calls: int | None = None
    staleness: int = 0
    lockstep: bool = False
    reward_beside: bool = False


@dataclass(frozen=True, kw_only=True)
class Keep:
    """What is kept of a run, and what is shown of it."""

    out: Path | None = None
    resume: bool = False
    checkpoint_every: int = 10
    checkpoints: int = 2
    loggers: Sequence[Logger] = ()
    progress: bool = True
    recipe: Mapping[str, Any] | None = None
