"""Where every attempt that began in a success failed, learn the turn with which that success went on."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Selector
from handaxe.core.records import Advantages, Rated, TokenSequence, Turn
from handaxe.papers.ipa.rollback_starts import RollbackStarts
from handaxe.selection.parts.stored import put

__all__ = ["turn_replay"]

Arrays = tuple[np.ndarray, ...]


def turn_replay(*, starts: RollbackStarts, weight: float = 1.0) -> Selector:
    """Put the recorded turn into a group that restarted before it and did not get to the end.

        every sibling began in the success of `starts`, at turn k, and none of those that were scored is right
            ->  sibling 0 is replaced by that success, with A_t = w at the tokens t of its turn k

    No other token of the success trains, so with the surrogate `tapered` its part of the loss is the negative
    log-likelihood of turn k, times w. What is put in keeps its ids, versions and scores. Its old_logp is what it was
    drawn with (behaviour_logp), so that a correction for what sampler and trainer disagree about weighs it by 1. The
    other siblings stay as they are.

    Args:
        starts: where the groups began, such as `restarting` was given; says what is right.
        weight: w, >= 0; 0 puts nothing in.

    Returns:
        A selector: [Rated] -> [Rated], all groups in order. A success put in has the id REPLACED/replay/STORED and
        trains; the one replaced is in the record, untrained. A group stays as it is where a sibling began elsewhere,
        none was scored, or the store has another success by now, as it may where groups are held over several steps.
        Value targets are those stored; further channels of advantages are 0 for what is put in.

    Raises:
        InputError: a weight that is negative or not finite; a stored attempt scored by another reward.

    Example:
        a success has turns of the tokens 2, 3 and 5, 6, 7; four siblings began at its second turn, and R = 0 four times
        ->  sibling 0 is the success, A = 0, 0 and 1, 1, 1, of which the last three train

    Paper: arXiv:2512.24873 (ROME), imitation of chunks at which all resampled attempts fail.
    Unconfirmed: that one chunk is imitated and not all to the end; the paper's text was not at hand.
    Differs: the success is the policy's own, and takes the place of a sibling.
    """
    if not 0 <= weight < np.inf:
        raise InputError(f"turn_replay takes a finite weight of 0 or more, not {weight}")

    def select(rated: Sequence[Rated]) -> list[Rated]:
        return [_helped(one, starts, weight) for one in rated]

    return select


def _helped(one: Rated, starts: RollbackStarts, weight: float) -> Rated:
    stored = starts.stored.get(one.group.task.id)
    turn = None if stored is None else _begun_at(one, stored)
    right_G = starts.right(one)
    known_G = right_G[~np.isnan(right_G)]
    if stored is None or turn is None or not len(known_G) or known_G.any() or weight == 0:
        return one
    success = stored.group[0]
    sequences = tuple(_as_drawn(sequence) for sequence in success.sequences)
    as_drawn = replace(stored, group=replace(stored.group, trajectories=(replace(success, sequences=sequences),)))
    group, scores = put(one, 0, as_drawn, id=f"{one.group[0].id}/replay/{success.id}")
    own = tuple(
        sequence.mask & (np.arange(len(sequence)) >= turn.start) & (np.arange(len(sequence)) < turn.stop)
        if place == turn.sequence
        else np.zeros(len(sequence), bool)
        for place, sequence in enumerate(sequences)
    )
    trained_G = one.trained.copy()
    trained_G[0] = True
    advantages = _advantages(one, own, stored.advantages, weight)
    return replace(one, group=group, scores=scores, advantages=advantages, trained=trained_G)


def _begun_at(one: Rated, stored: Rated) -> Turn | None:
    """The turn of the stored success that every sibling plays anew; None where there is no such turn."""
    places = {sibling.branch_of for sibling in one.group}
    place, success = places.pop(), stored.group[0]
    if places or place is None or place.trajectory != success.id:
        return None
    found = [turn for turn in success.turns if (turn.sequence, turn.start) == (place.sequence, place.token)]
    return found[0] if found else None


def _as_drawn(sequence: TokenSequence) -> TokenSequence:
    return replace(sequence, features={**sequence.features, "old_logp": sequence.behaviour_logp})


def _advantages(one: Rated, own: Arrays, stored: Advantages, weight: float) -> Advantages:
    """Those of the group, with the weight where sibling 0 trains, which is at its `own` tokens."""
    given = one.advantages
    nothing = tuple(np.zeros(len(own_T)) for own_T in own)
    trains = given.trains or tuple(tuple(s.mask for s in sibling.sequences) for sibling in one.group)
    return Advantages(
        tokens=(tuple(np.where(own_T, weight, 0.0) for own_T in own), *given.tokens[1:]),
        returns=None if given.returns is None else ((stored.returns or (nothing,))[0], *given.returns[1:]),
        trains=(own, *trains[1:]),
        channels={name: (nothing, *values[1:]) for name, values in given.channels.items()},
    )
