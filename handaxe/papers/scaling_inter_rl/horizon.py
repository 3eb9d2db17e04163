"""Turns of an attempt that grow with the training step: a curriculum on how far ahead a policy has to act."""

from collections.abc import Callable, Sequence

from handaxe.core.errors import InputError

__all__ = ["horizon"]


def horizon(*, turns: Sequence[int], every: int = 100) -> Callable[[int], int]:
    """Make a schedule for `linear(max_turns=...)`: few turns at first, then more.

        k = min(floor(step / S), K - 1)        every attempt of this step may take h_k turns

    An attempt that reaches its last turn ends truncated for "turns" and scores what the environment gives it by then.

    Args:
        turns: h_0, ..., h_{K-1}, each >= 1, in the paper rising.
        every: S, training steps of a stage, >= 1; 100 in the paper (80 in WebArena).

    Returns:
        Training step -> turns. It keeps no state, so a run that is resumed is at the stage it was at. An evaluation's
        attempts are of step 0: evaluate with a strategy of its own, such as linear(max_turns=turns[-1]), which is what
        a recipe does by itself where its setting's max_turns is the longest.

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
