"""Imitation of the recorded turn if all rollouts restarted before it fail."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Advantages, RatedGroup, TokenSequence, Turn
from handaxe.papers.ipa.rollback_starts import RollbackStarts
from handaxe.selection.parts.stored import swap_in

__all__ = ["turn_replay"]

Arrays = tuple[np.ndarray, ...]


def turn_replay(*, starts: RollbackStarts, weight: float = 1.0) -> Selector:
    """Replace a sibling by the stored success if every sibling restarted in it and none is correct.

        every sibling started in the success of `starts`, at turn k, and no scored sibling is correct
            ->  sibling 0 is replaced by that success, with A_t = w at the tokens t of its turn k

    No other token of the success trains, so that with the surrogate `tapered` its part of the loss is w times the
    negative log-likelihood of turn k. The success keeps its ids, versions and scores. Its old_logp is that of sampling
    (behaviour_logp), so that a correction for sampler and trainer mismatch weights it by 1. The other siblings are
    unchanged.

    Args:
        starts: the store that `restarting` uses; it also decides correctness.
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
        a success has turns of the tokens 2, 3 and 5, 6, 7; four siblings started at its second turn, and R = 0 four
        times
        ->  sibling 0 is the success, A = 0, 0 and 1, 1, 1, of which the last three train

    Paper: arXiv:2512.24873 (ROME), Eq. (10), imitation of chunks at which all resampled rollouts fail.
    Unconfirmed: the weight; the paper's lambda_IL has no number.
    Differs: turn k alone; the paper imitates the turns before it, too, each weighted by its discounted return. The
        success is the policy's own, and replaces a sibling.
    """
    if not 0 <= weight < np.inf:
        raise InputError(f"turn_replay takes a finite weight of 0 or more, not {weight}")

    def select(rated: Sequence[RatedGroup]) -> list[RatedGroup]:
        return [_replayed(one, starts, weight) for one in rated]

    return select


def _replayed(one: RatedGroup, starts: RollbackStarts, weight: float) -> RatedGroup:
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
    trained_tokens = tuple(
        sequence.mask & (np.arange(len(sequence)) >= turn.start) & (np.arange(len(sequence)) < turn.stop)
        if place == turn.sequence
        else np.zeros(len(sequence), bool)
        for place, sequence in enumerate(sequences)
    )
    trained_G = one.trained.copy()
    trained_G[0] = True
    advantages = _advantages(one, trained_tokens, stored.advantages, weight)
    return replace(replaced, advantages=advantages, trained=trained_G)


def _restart_turn(one: RatedGroup, stored: RatedGroup) -> Turn | None:
    """Turn of the stored success at which every sibling restarted; None without such a turn."""
    places = {sibling.branch_of for sibling in one.group}
    place, success = places.pop(), stored.group[0]
    if places or place is None or place.trajectory != success.id:
        return None
    found = [turn for turn in success.turns if (turn.sequence, turn.start) == (place.sequence, place.token)]
    return found[0] if found else None


def _as_drawn(sequence: TokenSequence) -> TokenSequence:
    return replace(sequence, features={**sequence.features, "old_logp": sequence.behaviour_logp})


def _advantages(one: RatedGroup, trained_tokens: Arrays, stored: Advantages, weight: float) -> Advantages:
    """Advantages of the group, with the weight at the `own` tokens of sibling 0."""
    current = one.advantages
    nothing = tuple(np.zeros(len(own_T)) for own_T in trained_tokens)
    trains = current.trains or tuple(tuple(s.mask for s in sibling.sequences) for sibling in one.group)
    return Advantages(
        tokens=(tuple(np.where(own_T, weight, 0.0) for own_T in trained_tokens), *current.tokens[1:]),
        returns=None if current.returns is None else ((stored.returns or (nothing,))[0], *current.returns[1:]),
        trains=(trained_tokens, *trains[1:]),
        channels={name: (nothing, *values[1:]) for name, values in current.channels.items()},
    )
