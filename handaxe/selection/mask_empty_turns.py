"""Leave out of the loss every trajectory in which a turn did nothing."""

from collections.abc import Callable, Sequence

import numpy as np

from handaxe.core.protocols import Selector
from handaxe.core.records import RatedGroup, Trajectory, Turn
from handaxe.ops.empty_turn import is_empty_turn
from handaxe.selection.parts.dispositions import mask

__all__ = ["mask_empty_turns", "says_something"]


def says_something(turn: Turn) -> bool:
    """Whether a turn reads like a final answer where tools are called natively: it ended by itself, holds text, and no
    call in it was malformed."""
    return turn.finish == "stop" and bool(turn.parsed.text.strip()) and not turn.parsed.errors


def mask_empty_turns(*, answer: Callable[[Turn], bool] = says_something, keep: bool = False) -> Selector:
    """Stop training on trajectories that hold a void turn: one with no complete call and no final answer.

        void(k)    = no well-formed call in turn k and not answer(turn k)
        trained_i' = trained_i and no turn of trajectory i is void

    All tokens of such a trajectory leave the loss and its denominators. It stays in the group, and what it scored
    stays in the statistics that its siblings were judged by.

    Args:
        answer: whether a turn gives a final answer. The paper asks for a boxed expression:
            `lambda turn: "\\boxed{" in turn.parsed.raw`. The default, `says_something`, takes any text for an answer,
            as in conversations where a turn without a call is the last. The turn's replies may be asked too.
        keep: train on such trajectories all the same, which is what the filter is compared with.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], the same groups in order, `trained` [G] cleared where void. A
            trajectory
        without turns has no void turn. Malformed calls are no calls.

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
