"""Curriculum of an experimenter: proposes skills and compositions of skills by past successes and failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from handaxe.core.errors import InputError, TaskError
from handaxe.core.protocols import Curriculum
from handaxe.core.records import RatedGroup, Task
from handaxe.curricula.in_order import in_order
from handaxe.ops.ragged import group_rewards

__all__ = [
    "Experimenter",
    "Proposals",
    "experimenter",
    "propose",
]

Proposals = Literal["experimenter", "uniform"]
Skills = tuple[str, ...]


def experimenter(
    *, choice: Proposals = "experimenter", mastered: float = 0.8, decay: float = 0.5
) -> Callable[[list[Task], int], Curriculum]:
    """Make a curriculum of proposals; `propose` has the rule.

        s_k  =  decay s_k + (1 - decay) mean reward of the step's groups with skills k;  the first step sets it

    Half of a step's tasks have the composition, and half the skill that it practises; if only one of them has tasks,
    all have it.

    Args:
        choice: "experimenter", or "uniform", the baseline: all tasks in permuted order.
        mastered: success rate from which a skill is mastered, 0 to 1.
        decay: of the success rates, in [0, 1).

    Returns:
        (tasks, seed) -> curriculum. Tasks have metadata "skills", a list of names. Its state has the rates, so a
        resumed run continues exactly.

    Raises:
        InputError: an unknown choice, or a number out of range. TaskError: a task without skills.

    Example:
        success rates a 0.9, b 0.2, c 0.0  ->  the next step has tasks of a, b and tasks of b

    Paper: arXiv:2409.03402 (Game On), the curriculum module.
    Unconfirmed: the rule, of which the abstract states only that past successes and failures decide.
    Differs: a rule replaces a vision-language model.
    """
    if choice not in ("experimenter", "uniform") or not 0 <= mastered <= 1 or not 0 <= decay < 1:
        raise InputError(
            f"choice is {choice!r}, mastered {mastered} and decay {decay}; give experimenter or uniform, 0 to 1, and 0 "
            "to below 1"
        )

    def curriculum(tasks: list[Task], seed: int) -> Curriculum:
        if choice == "uniform":
            return in_order(tasks, seed=seed)
        return Experimenter(tasks, seed, mastered, decay)

    return curriculum


def propose(rates: Mapping[str, float], *, mastered: float = 0.8) -> tuple[str, str]:
    """Return the skills of the next composition: the best known one, and the one with most to learn.

        b = argmax over skills below `mastered` of s (1 - s), the largest expected progress; of all, if all are mastered
        a = argmax over the other skills of s

    Ties go to the first name in order.

    Example:
        success rates a 0.9, b 0.2, c 0.0  ->  a, b

    Paper: arXiv:2409.03402 (Game On).
    Unconfirmed: the measure of progress.
    """
    names = sorted(rates)
    open_ = [name for name in names if rates[name] < mastered] or names
    practised = max(open_, key=lambda name: rates[name] * (1 - rates[name]))
    known = max((name for name in names if name != practised), key=lambda name: rates[name], default=practised)
    return known, practised


class Experimenter:
    """Curriculum of `experimenter`; `rates` has the success rate of each list of skills."""

    def __init__(self, tasks: Sequence[Task], seed: int, mastered: float, decay: float):
        groups: dict[Skills, list[Task]] = {}
        for task in tasks:
            groups.setdefault(_skills(task), []).append(task)
        if not groups:
            raise TaskError("the list of tasks is empty; a curriculum needs at least one")
        self.rates: dict[Skills, float] = {}
        self._orders = {key: in_order(own, seed=seed) for key, own in sorted(groups.items())}
        self._mastered = mastered
        self._decay = decay

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step."""
        keys = self.proposal()
        parts = [self._orders[key].next(step, len(range(n, count, len(keys)))) for n, key in enumerate(keys)]
        return [parts[n % len(keys)][n // len(keys)] for n in range(count)]

    def proposal(self) -> list[Skills]:
        """Lists of skills of the next step: untried single skills first, then a composition and its new skill."""
        singles: list[Skills] = [key for key in self._orders if len(key) == 1]
        untried = [key for key in singles if key not in self.rates]
        if untried or len(singles) < 2:
            return untried or list(self._orders)
        known, practised = propose({key[0]: self.rates[key] for key in singles}, mastered=self._mastered)
        wanted: list[Skills] = [(known, practised), (practised, known)]
        composed = [key for key in wanted if key in self._orders]
        weakest = sorted(composed, key=lambda key: self.rates.get(key, 0.0))[:1]
        return [*weakest, (practised,)]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Update the success rates by a step's groups."""
        earned: dict[Skills, list[float]] = {}
        for one in groups:
            rewards = group_rewards(one.group, one.scores)
            if not np.isnan(rewards).all():
                earned.setdefault(_skills(one.group.task), []).append(float(np.nanmean(rewards)))
        for key, own in earned.items():
            now = float(np.mean(own))
            before = self.rates.get(key, now)
            self.rates[key] = self._decay * before + (1 - self._decay) * now

    def state_dict(self) -> dict[str, Any]:
        rates = {" ".join(key): rate for key, rate in self.rates.items()}
        orders = {" ".join(key): order.state_dict() for key, order in self._orders.items()}
        return {"rates": rates, "orders": orders}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rates = {tuple(key.split()): rate for key, rate in state["rates"].items()}
        for key, order in self._orders.items():
            order.load_state_dict(state["orders"][" ".join(key)])


def _skills(task: Task) -> Skills:
    skills = task.metadata.get("skills")
    if not isinstance(skills, list | tuple) or not skills:
        raise TaskError(f"task {task.id!r} has {skills!r} as metadata 'skills'; give a list of names")
    return tuple(skills)
