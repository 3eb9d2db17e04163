"""Reward for the length of a thought, up to a target."""

from collections.abc import Callable

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores, Trajectory
from handaxe.rewards.parts.checks import validate_scores
from handaxe.rewards.parts.extract import tag_content

__all__ = ["thought_length"]


def thought_length(
    *, target: float | Callable[[int], float] = 512.0, thought: Callable[[Trajectory], str] | None = None
) -> Reward:
    """Score the number of words of a thought, relative to a target.

        R_i = min(1, words(thought(trajectory_i)) / target(step))

    Args:
        target: words that earn 1; a number, or a function of the training step. The paper's dynamic variant is
            schedules.ramp(384, 640, steps=105).
        thought: trajectory -> text; by default the inside of the last <think>..</think> that the policy wrote.

    Returns:
        A reward with outcome [G] in [0, 1]. No thought, no turn: 0.

    Raises:
        InputError: a target that is not positive.

    Example:
        target 4; "<think>one two three</think>"  ->  0.75;  five words  ->  1

    Paper: arXiv:2504.13958 (ToolRL), its length reward, which it finds not to help.
    Differs: nothing is rounded, and a dynamic target stays constant after its steps.
    """
    read = tag_content("think") if thought is None else thought

    def reward(group: Group) -> Scores:
        words = target(group.step) if callable(target) else target
        if not words > 0:
            raise InputError(f"thought_length has the target {words} at step {group.step}; give a positive number")
        values = [min(1.0, len(read(trajectory).split()) / words) for trajectory in group]
        return validate_scores(Scores(np.array(values, dtype=np.float64)), group, "thought_length")

    return reward
