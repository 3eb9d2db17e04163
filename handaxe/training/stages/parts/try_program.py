"""Trial of a reward program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from handaxe.core.errors import InputError, NonFiniteError, VerifierError
from handaxe.core.protocols import Engine, Reward, StageContext
from handaxe.core.records import Group, Scores, Task
from handaxe.curricula.in_order import in_order
from handaxe.rewards.program import program
from handaxe.rewards.weighted import weighted
from handaxe.training.loop.train import train
from handaxe.training.sft.supervised import stage_run
from handaxe.training.stages.parts.program_search import FAILED, TASK, ProgramTrial

__all__ = ["try_program"]

CHECKPOINTS = 10


def try_program(
    text: str, site: StageContext, *, tasks: Sequence[Task], task: Reward, arguments: Mapping[str, Any]
) -> ProgramTrial:
    """Train a copy of the context's policy with a program as only reward.

    Args:
        text: the program.
        site: without a folder, whose engine can be copied.
        tasks: with distinct ids, in order; the trial starts over after the last one.
        task: measure of success, beside the reward.
        arguments: of `train`: at least credit, loss and steps.

    Returns:
        The trial, with the error of an empty text, of the first rollout on which the program failed, or of a loss that
        is not finite.
        Curves have at most 10 values, evenly spaced over the steps.

    Raises:
        KeyboardInterrupt: on Ctrl-C.

    Example:
        success 0.1, 0.4, 0.3 over three steps -> score 0.4
    """
    updates = arguments.get("updates")
    annotate = () if updates is None else tuple(updates.annotate)
    engine: Engine = site.engine.twin(reference="ref_logp" in annotate, critic="value" in annotate)  # type: ignore[attr-defined]
    roles = {name: getattr(site, name) for name in ("format", "env", "rollout", "sampling", "seed")}
    try:
        scored = weighted({"program": (1.0, _strict(program(text=text))), TASK: (0.0, task)})
    except InputError as error:
        return ProgramTrial(text, FAILED, {}, str(error))
    own = {"tasks": in_order(tasks, shuffle=False), "reward": scored, "run": stage_run(site)}
    try:
        result = train(engine=engine, **{**roles, **arguments, **own})
    except (_RejectedError, NonFiniteError) as error:
        return ProgramTrial(text, FAILED, {}, str(error))
    if result.stopped:
        raise KeyboardInterrupt
    rows = result.metrics
    picked = sorted({round(k) for k in np.linspace(0, len(rows) - 1, min(CHECKPOINTS, len(rows)))})
    keys = {TASK: f"channel/{TASK}", "turns": "turns", "total": "channel/program"}
    inner = "channel/program/"
    found = sorted({key for row in rows for key in row if key.startswith(inner)})
    keys |= {f"component/{key.removeprefix(inner)}": key for key in found}
    curves = {name: tuple(float(rows[k].get(key, 0.0)) for k in picked) for name, key in keys.items()}
    return ProgramTrial(text, max(float(row[keys[TASK]]) for row in rows), curves)


class _RejectedError(InputError):
    """Failure of a program on a rollout, which ends the trial."""


def _strict(reward: Reward) -> Reward:
    """Make failures of a reward end the trial, instead of leaving a rollout without a score."""

    def score(group: Group) -> Scores:
        try:
            return reward(group)  # type: ignore[return-value]
        except VerifierError as error:
            raise _RejectedError(str(error)) from error

    return score
