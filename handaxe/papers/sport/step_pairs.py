"""Preference pairs of single steps: the best candidate of a turn against each other one."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.core.errors import InputError
from handaxe.core.protocols import Pairs
from handaxe.core.records import Pair, RatedGroup, Trajectory
from handaxe.papers.sport.step_candidates import CANDIDATES
from handaxe.selection.parts.first_turns import first_turns

__all__ = ["step_pairs"]


def step_pairs(*, gap: float = 0.0) -> Pairs:
    """Make pairs of candidates of one turn, from rollouts of `step_candidates`.

        for each turn k:  {(x_best, x_n) : s_best - s_n > gap},   strength s_best - s_n

    Each side is cut after turn k. Both sides have the tokens before turn k in common; in a pairwise loss on differences
    of log-probs, such as DPO, these cancel, so that the tokens of turn k alone train. Candidates without a score are in
    no pair; of equal best ones the first is taken.

    Args:
        gap: >= 0, in units of the verifier's score.

    Returns:
        Pairs: [RatedGroup] -> [Pair], by group, turn, and order of the candidates.

    Raises:
        InputError: a negative gap; a group of another rollout strategy.

    Example:
        candidates of one turn scored 2, 5 and 1  ->  pairs (2nd, 1st) of strength 3 and (2nd, 3rd) of strength 4

    Paper: arXiv:2504.21561 (SPORT), step-wise preference data.
    Differs: nothing.
    """
    if gap < 0:
        raise InputError(f"step_pairs takes a gap of at least 0, not {gap}")

    def pairs(rated: Sequence[RatedGroup]) -> list[Pair]:
        return [pair for one in rated for pair in _pairs(one, gap)]

    return pairs


def _pairs(rated: RatedGroup, gap: float) -> list[Pair]:
    found = list[Pair]()
    for k in range(max((len(one.turns) for one in rated.played.group), default=0)):
        by_turn: dict[int, tuple[float, Trajectory]] = {}
        for one in rated.played.group:
            if CANDIDATES not in one.notes:
                raise InputError(f"trajectory {one.id!r} is not of step_candidates: it has no scores of candidates")
            if len(one.turns) > k and (score := one.notes[CANDIDATES][k]) is not None:
                by_turn.setdefault(one.turns[k].seed, (score, one))
        if not by_turn:
            continue
        best, chosen = max(by_turn.values(), key=lambda candidate: candidate[0])
        found += [
            Pair(first_turns(chosen, k + 1), first_turns(one, k + 1), best - score)
            for score, one in by_turn.values()
            if best - score > gap
        ]
    return found
