"""Rewards turns by a process score that ranks them inside the sign of the outcome and never against it."""

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["outcome_bounded_steps"]


def outcome_bounded_steps(*, process: Reward, outcome: Reward, bounded: bool = True) -> Reward:
    """Attach to each turn its process score, shifted by the outcome, and to the last turn the outcome itself.

        r_k     = p_k + o - 1        turns k = 0 .. N-2, in [0, 1] where o = 1 and in [-1, 0] where o = 0
        r_{N-1} = o                  as the outcome [G]; what the process says of the last turn is left out

    With bounded=False r_k = p_k: the naive sum, in which good-looking steps outweigh what they come to.

    Args:
        process: what gives each turn p_k in [0, 1], such as `judged_steps`; its own outcome is left out.
        outcome: o in [0, 1], such as whether the answer is right.
        bounded: whether the outcome is added and 1 taken off.

    Returns:
        A reward with outcome [G] o and turns, per trajectory [N], which are also the turn channel "steps"; channels
        "process" and "outcome". An attempt of one turn has no step but the last.

    Raises:
        VerifierError: naming the trajectory whose process score or outcome is not in [0, 1].
        InputError: an outcome with per-turn values, or a process without any.

    Example:
        p = 0.7, 0.4, 0.9:  o = 1  ->  turns 0.7, 0.4, 0 and outcome 1;  o = 0  ->  turns -0.3, -0.6, 0 and outcome 0
        bounded=False, o = 0  ->  turns 0.7, 0.4, 0 and outcome 0

    Paper: arXiv:2509.25598 (PPR), reward normalisation (ReNorm).
    Unconfirmed: the formula, which is told from memory.
    Differs: whatever scores the steps, where the paper's is a language model that writes its principles first.
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        right_G = outcome_only(parts["outcome"], "outcome").outcome
        said = _in_range(group, parts["process"], right_G)
        shift_G = right_G - 1 if bounded else np.zeros(len(group))
        turns = tuple(np.append(own[:-1] + shift, np.zeros(len(own[:1]))) for own, shift in zip(said, shift_G))
        return Scores(right_G, turns=turns, turn_channels={"steps": turns})

    return Combined({"process": process, "outcome": outcome}, merge)


def _in_range(group: Group, process: Scores, right_G: np.ndarray) -> tuple[np.ndarray, ...]:
    """The process scores, all of them and the outcomes from 0 to 1."""
    if process.turns is None:
        raise InputError("the process reward has no per-turn values; give one that has, such as judged_steps")
    for one, own, right in zip(group, process.turns, right_G, strict=True):
        if not (0 <= right <= 1 and np.all((own >= 0) & (own <= 1))):
            raise VerifierError(
                f"trajectory {one.id!r} has the outcome {right} and the process scores {own}; give 0 to 1",
                trajectory=one.id,
            )
    return process.turns
