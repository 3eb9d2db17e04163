"""Imitation of a recorded success up to the restarted turn if all rollouts from there fail."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Credit, Selector
from handaxe.core.records import Advantages, RatedGroup, TokenSequence, Turn
from handaxe.papers.ipa.rollback_starts import RollbackStarts
from handaxe.selection.parts.stored import swap_in

__all__ = ["turn_replay"]

Arrays = tuple[np.ndarray, ...]


def turn_replay(*, starts: RollbackStarts, credit: Credit, weight: float = 1.0) -> Selector:
    """Replace a sibling by the stored success if every sibling restarted in it and none is correct.

        every sibling started in the success of `starts`, the latest at turn k, and no scored sibling is correct
            ->  sibling 0 is replaced by that success, with A_t = w G_t at the tokens t of its turns up to k

    G_t is the advantage that `credit` gives the success alone, in the paper the discounted return of the token's turn.
    Later tokens do not train, so that with the surrogate `tapered` the success adds w sum_t G_t (-logp_t) over these
    turns. The success keeps its ids, versions and scores. Its old_logp is that of sampling (behaviour_logp), so that a
    correction for sampler and trainer mismatch weights it by 1. The other siblings are unchanged.

    Args:
        starts: the store that `restarting` uses; it also decides correctness.
        credit: of the success; without a comparison of siblings, since it is a group of one.
        weight: w, >= 0; 0 replaces nothing.

    Returns:
        A selector: [RatedGroup] -> [RatedGroup], all groups in order. A replayed success has the id
        REPLACED/replay/STORED and trains; the replaced sibling stays in the record, untrained. A group is unchanged if
        a sibling started elsewhere, none was scored, or the store has another success by now, as for groups that were
        held over several steps. Value targets are the stored ones; further channels of advantages are 0 for the
        replayed success.

    Raises:
        InputError: a weight that is negative or not finite; a stored rollout scored by another reward.

    Example:
        a success of R = 1 has three turns, of the tokens 1, 3 to 4 and 6; four siblings started at its second turn and
        fail; return_to_go(gamma=0.9)
        ->  sibling 0 is the success, A = 0.81 at token 1, 0.9 at 3 and 4, which train, and 0 at 6, which does not

    Paper: arXiv:2512.24873 (ROME), Eq. (10), imitation of chunks at which all resampled rollouts fail.
    Unconfirmed: the weight; the paper's lambda_IL has no number.
    Differs: the success is the policy's own, and replaces a sibling. Eq. (10) prints the probability of a chunk as a
        further factor of its gradient; here the factor is 1, that of supervised fine-tuning.
    """
    if not 0 <= weight < np.inf:
        raise InputError(f"turn_replay takes a finite weight of 0 or more, not {weight}")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        return [_replayed(one, starts, credit, weight) for one in rated]

    return select


def _replayed(one: RatedGroup, starts: RollbackStarts, credit: Credit, weight: float) -> RatedGroup:
    stored = starts.stored.get(one.group.task.id)
    turn = None if stored is None else _restart_turn(one, stored)
    right_G = starts.correct(one)
    known_G = right_G[~np.isnan(right_G)]
    if stored is None or turn is None or not len(known_G) or known_G.any() or weight == 0:
        return one
    success = stored.group[0]
    sequences = tuple(_as_drawn(sequence) for sequence in success.sequences)
    as_drawn = stored.with_group(replace(stored.group, trajectories=(replace(success, sequences=sequences),)))
    replaced = swap_in(one, 0, as_drawn, id=f"{one.group[0].id}/replay/{success.id}", by="turn_replay")
    end = (turn.sequence, turn.stop)
    trained_tokens = tuple(
        sequence.mask & np.array([(place, token) < end for token in range(len(sequence))], bool)
        for place, sequence in enumerate(sequences)
    )
    trained_G = one.trained.copy()
    trained_G[0] = True
    given = credit(stored.group, stored.scores).tokens[0]
    weights = tuple(np.where(own_T, weight * adv_T, 0.0) for own_T, adv_T in zip(trained_tokens, given, strict=True))
    advantages = _advantages(one, trained_tokens, stored.advantages, weights)
    return replace(replaced, advantages=advantages, trained=trained_G)


def _restart_turn(one: RatedGroup, stored: RatedGroup) -> Turn | None:
    """Latest turn of the stored success at which a sibling restarted; None unless every sibling restarted in it."""
    success, places = stored.group[0], set[tuple[int, int]]()
    for sibling in one.group:
        place = sibling.branch_of
        if place is None or place.trajectory != success.id:
            return None
        places.add((place.sequence, place.token))
    found = [turn for turn in success.turns if (turn.sequence, turn.start) in places]
    return found[-1] if len(found) == len(places) else None


def _as_drawn(sequence: TokenSequence) -> TokenSequence:
    return replace(sequence, features={**sequence.features, "old_logp": sequence.behaviour_logp})


def _advantages(one: RatedGroup, trained_tokens: Arrays, stored: Advantages, weights: Arrays) -> Advantages:
    """Advantages of the group, with the weights at the tokens of sibling 0."""
    current = one.advantages
    nothing = tuple(np.zeros(len(own_T)) for own_T in trained_tokens)
    trains = current.trains or tuple(tuple(s.mask for s in sibling.sequences) for sibling in one.group)
    return Advantages(
        tokens=(weights, *current.tokens[1:]),
        returns=None if current.returns is None else ((stored.returns or (nothing,))[0], *current.returns[1:]),
        trains=(trained_tokens, *trains[1:]),
        channels={name: (nothing, *values[1:]) for name, values in current.channels.items()},
    )
