"""Exclude trajectories with an empty turn from the loss."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup, Trajectory, Turn
from handaxe.ops.empty_turn import is_empty_turn
from handaxe.selection.parts.dispositions import mask

__all__ = ["mask_empty_turns", "says_something"]


def says_something(turn: Turn) -> bool:
    """Check for a final answer under native tool calling: the turn ended by itself, holds text and has no malformed
    call.
    """
    return turn.finish == "stop" and bool(turn.parsed.text.strip()) and not turn.parsed.errors


def mask_empty_turns(*, answer: Callable[[Turn], bool] = says_something, keep: bool = False) -> Selector:
    """Stop training on trajectories with a void turn: no complete call and no final answer.

        void(k)    = no well-formed call in turn k and not answer(turn k)
        trained_i' = trained_i and no turn of trajectory i is void

    All tokens of such a trajectory leave the loss and its denominators. It stays in the group, and its score stays in
    the group's statistics.

    Args:
        answer: detects a final answer. The paper requires a boxed expression: `lambda turn: "\\boxed{" in
            turn.parsed.raw`. The default, `says_something`, accepts any text, as in conversations that end with a turn
            without a call. The function may also read the turn's replies.
        keep: train on such trajectories too, as a baseline for the filter.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in order, `trained` [G] cleared where void. A
        trajectory without turns has no void turn. Malformed calls do not count as calls.

    Example:
        with the paper's answer: "let me think" -> void; a complete call -> not void; an unclosed call -> void;
        "\\boxed{3}" -> not void
        rewards 1, 0, 0, 1, the second void: advantages 0.866, -0.866, -0.866, 0.866 as before, but only trajectories
        1, 3 and 4 train, and a mean over rollouts divides by 3

    Paper: arXiv:2509.02479 (SimpleTIR), whose rollout also stops at a void turn: `papers.simpletir.stop_on_empty_turn`.
    Differs: the default `answer`.
    """

    def void(trajectory: Trajectory) -> bool:
        return not keep and any(is_empty_turn(turn, answer=answer) for turn in trajectory.turns)

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        full = [~np.array([void(t) for t in one.group], bool) for one in rated]
        return [mask(one, full_G, by="mask_empty_turns") for one, full_G in zip(rated, full, strict=True)]

    return select
