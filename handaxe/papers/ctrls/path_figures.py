"""Figures of several rollouts of a task: distinct correct paths, accuracy, and the accuracy of a vote."""

from __future__ import annotations

from collections import Counter

import numpy as np

from handaxe.core.records import Group, Trajectory
from handaxe.worlds.world import World

__all__ = ["path_figures"]


def path_figures(world: World, group: Group) -> dict[str, float]:
    """Measure the rollouts of a task.

        paths      number of distinct correct paths: written lines and answer of rollouts with a correct answer
        accuracy   share of rollouts with a correct answer
        solved     1 if the most frequent answer is correct, ties to the first
        tokens     sampled tokens of all rollouts, with candidates

    Returns:
        The figures.

    Example:
        answers 14, 14, 14, 15 through the lines A, A, B, C and the answer 14  ->  paths 2, accuracy 0.75, solved 1

    Idea: exploration is to find more correct paths at equal accuracy.
    """
    right_G = np.nan_to_num(world.correct(group).outcome) > 0.5
    paths = {_path(one) for one, right in zip(group, right_G, strict=True) if right}
    answers = [_answer(world, one) for one in group]
    votes = Counter(answer for answer in answers if answer is not None)
    winner = votes.most_common(1)[0][0] if votes else None
    return {
        "paths": float(len(paths)),
        "accuracy": float(right_G.mean()),
        "solved": float(winner is not None and right_G[answers.index(winner)]),
        "tokens": float(sum(one.usage.tokens for one in group)),
    }


def _answer(world: World, one: Trajectory) -> str | None:
    stated = bool(one.turns) and world.need("is_answer")(one.turns[-1])
    return one.final_text.strip() if stated else None


def _path(one: Trajectory) -> tuple[str, ...]:
    return (*(str(call.arguments.get("text", "")).strip() for call in one.calls), one.final_text.strip())
