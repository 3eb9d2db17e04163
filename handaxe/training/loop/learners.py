"""Learners beside the policy: names for metrics and checkpoints, and the call once a step."""

import re
from collections.abc import Mapping, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, FromPolicy, Learner
from handaxe.core.records import RatedGroup

__all__ = ["begin_all", "learn_all", "named_learners"]


def named_learners(learners: Sequence[Learner]) -> dict[str, Learner]:
    """Name each learner by its class in lower case; the second of a class is NAME_2.

    Raises:
        InputError: an object is no learner.

    Example:
        [StepJudge(), StepJudge(), Prices()] -> {"step_judge": ..., "step_judge_2": ..., "prices": ...}
    """
    found: dict[str, Learner] = {}
    for one in learners:
        if not isinstance(one, Learner):
            raise InputError(
                f"{one!r} cannot learn: it lacks learn, state_dict or load_state_dict; see core.protocols.Learner"
            )
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(one).__name__.strip("_")).lower()
        count = sum(other == name or re.fullmatch(rf"{name}_\d+", other) is not None for other in found)
        found[f"{name}_{count + 1}" if count else name] = one
    return found


def begin_all(learners: Sequence[Learner], engine: Engine) -> None:
    """Let learners that begin as a copy of the policy copy it."""
    for one in learners:
        if isinstance(one, FromPolicy):
            one.begin(engine)


def learn_all(learners: Mapping[str, Learner], groups: Sequence[RatedGroup], step: int) -> dict[str, float]:
    """Let each learner learn from all rated groups of a step, in launch order; returns metrics learner/NAME/KEY."""
    return {
        f"learner/{name}/{key}": float(value)
        for name, one in learners.items()
        for key, value in one.learn(groups, step=step).items()
    }
