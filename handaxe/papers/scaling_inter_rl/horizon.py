"""Schedule of the maximum number of turns over training steps."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError

__all__ = ["horizon"]


def horizon(*, turns: Sequence[int], every: int = 100) -> Callable[[int], int]:
    """Make a schedule for `linear(max_turns=...)` that grows in stages.

        k = min(floor(step / S), K - 1)        every rollout of this step may take h_k turns

    A rollout that reaches its last turn ends truncated for "turns"; its score is that of the environment at this point.

    Args:
        turns: h_0, ..., h_{K-1}, each >= 1, rising in the paper.
        every: S, training steps of a stage, >= 1; 100 in the paper (80 in WebArena).

    Returns:
        Training step -> turns, stateless, so that a resumed run is at the right stage. Rollouts of an evaluation have
        step
        0: evaluate with another strategy, such as linear(max_turns=turns[-1]); a method's default takes the settings'
        max_turns.

    Raises:
        InputError: no stage, a stage of less than one turn, or `every` below 1.

    Example:
        horizon(turns=[6, 13, 20], every=100) is 6 at steps 0 and 99, 13 at 100, 20 at 250 and at 900

    Paper: arXiv:2509.08755 (AgentGym-RL), ScalingInter-RL. Differs: nothing.
    """
    if not turns or min(turns) < 1 or every < 1:
        raise InputError(
            f"turns={list(turns)}, every={every}: give one stage or more of 1 turn or more, and 1 step each"
        )
    stages = tuple(turns)
    return lambda step: stages[min(step // every, len(stages) - 1)]
