"""Process scores shifted into the sign of the outcome (ReNorm)."""

import numpy as np

from handaxe.core.errors import InputError, VerifierError
from handaxe.core.protocols import Reward
from handaxe.core.records import Group, Scores
from handaxe.rewards.parts.checks import outcome_only
from handaxe.rewards.parts.combined import Combined

__all__ = ["outcome_bounded_steps"]


def outcome_bounded_steps(*, process: Reward, outcome: Reward, bounded: bool = True) -> Reward:
    """Reward each turn with its process score, shifted by the outcome, and the last turn with the outcome.

        r_k     = p_k + o - 1        turns k = 0 .. N-2, in [0, 1] if o = 1 and in [-1, 0] if o = 0
        r_{N-1} = o                  as the outcome [G]; the process score of the last turn is not used

    p_k and o are centred at 1/2 each. With bounded=False r_k = p_k: the plain sum, in which process scores can outweigh
    the outcome.

    Args:
        process: reward with a score p_k in [0, 1] for each turn, such as `judged_steps`; its outcome is not used.
        outcome: o in [0, 1], such as the correctness of the answer.
        bounded: add o - 1.

    Returns:
        A reward with outcome [G] o and turn rewards, per trajectory [N], also the turn channel "steps"; channels
        "process" and "outcome". A trajectory of one turn has only the outcome.

    Raises:
        VerifierError: a process score or an outcome outside [0, 1]; the error names the trajectory.
        InputError: an outcome with per-turn values, or a process reward without any.

    Example:
        p = 0.7, 0.4, 0.9:  o = 1  ->  turns 0.7, 0.4, 0 and outcome 1;  o = 0  ->  turns -0.3, -0.6, 0 and outcome 0
        bounded=False, o = 0  ->  turns 0.7, 0.4, 0 and outcome 0

    Paper: arXiv:2509.25598 (PPR), reward normalization (ReNorm): r_p + r_o - mu, mu about 1.
    Unconfirmed: the formula, from descriptions of the paper and its code, and the reward of the last turn.
    Differs: any reward scores the steps; the paper's is a language model that writes its principles first.
    """

    def merge(group: Group, parts: dict[str, Scores]) -> Scores:
        right_G = outcome_only(parts["outcome"], "outcome").outcome
        process = _in_range(group, parts["process"], right_G)
        shift_G = right_G - 1 if bounded else np.zeros(len(group))
        turns = tuple(np.append(own[:-1] + shift, np.zeros(len(own[:1]))) for own, shift in zip(process, shift_G))
        return Scores(right_G, turns=turns, turn_channels={"steps": turns})

    return Combined({"process": process, "outcome": outcome}, merge)


def _in_range(group: Group, process: Scores, right_G: np.ndarray) -> tuple[np.ndarray, ...]:
    """Check process scores and outcomes for [0, 1], and return the process scores."""
    if process.turns is None:
        raise InputError("the process reward has no per-turn values; give a reward such as judged_steps")
    for one, own, outcome_value in zip(group, process.turns, right_G, strict=True):
        if not (0 <= outcome_value <= 1 and np.all((own >= 0) & (own <= 1))):
            raise VerifierError(
                f"trajectory {one.id!r} has the outcome {outcome_value} and the process scores {own}; give 0 to 1",
                trajectory=one.id,
            )
    return process.turns
