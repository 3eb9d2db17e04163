"""What learns beside the policy, once a step: names for metrics and checkpoints, and the call."""

import re
from collections.abc import Mapping, Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Engine, FromPolicy, Learner
from handaxe.core.records import Rated

__all__ = ["begin_all", "learn_all", "named_learners"]


def named_learners(learners: Sequence[Learner]) -> dict[str, Learner]:
    """Each learner under the name of its class in lower case; the second of a class is NAME_2.

    Raises:
        InputError: for what is no learner.

    Example:
        [StepJudge(), StepJudge(), Prices()] -> {"step_judge": ..., "step_judge_2": ..., "prices": ...}
    """
    found: dict[str, Learner] = {}
    for one in learners:
        if not isinstance(one, Learner):
            raise InputError(f"{one!r} cannot learn: it lacks learn, state_dict or load_state_dict; see slots.Learner")
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(one).__name__.strip("_")).lower()
        again = sum(other == name or re.fullmatch(rf"{name}_\d+", other) is not None for other in found)
        found[f"{name}_{again + 1}" if again else name] = one
    return found


def begin_all(learners: Sequence[Learner], engine: Engine) -> None:
    """Let those that begin as a copy of the policy take it from its engine."""
    for one in learners:
        if isinstance(one, FromPolicy):
            one.begin(engine)


def learn_all(learners: Mapping[str, Learner], groups: Sequence[Rated], step: int) -> dict[str, float]:
    """Let each learn from all rated groups of a step, in order of launch; metrics learner/NAME/KEY."""
    return {
        f"learner/{name}/{key}": float(value)
        for name, one in learners.items()
        for key, value in one.learn(groups, step=step).items()
    }
