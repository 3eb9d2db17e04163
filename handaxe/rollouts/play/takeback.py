"""Takeback: removes turns of a play and replaces them.

    takeback = Takeback(play)                           play: Play(attempt, Rules(snapshots=True))
    yield from takeback.rewind(k)                       forget turn k and all later turns
    yield from takeback.splice_turn(completion, own=n)  a turn composed of previously sampled tokens
    yield from takeback.resample_turn(prefix, seed=s)   a turn that keeps its first tokens

Turns taken back stay paid: budgets and `Trajectory.total_usage` count them. The replacing turn has a mark in the
notes, so that a replay repeats its accounting.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from handaxe.core.errors import InputError
from handaxe.core.records import Ending
from handaxe.core.requests import Completion, Partial, Splice
from handaxe.core.usage import Usage
from handaxe.rollouts.play.env_session import work

if TYPE_CHECKING:
    from handaxe.rollouts.play.play import Play, Request

__all__ = ["SPLICE_NOTE", "Takeback", "note_splice", "spliced_usage"]

SPLICE_NOTE = "put"
"""Key of the notes that map the number of a spliced turn to the usage of the turns that it replaces."""
NOTHING = Usage()


def note_splice(notes: dict[str, Any], turn: int, splice: Splice) -> None:
    """Write the mark of a spliced turn into the notes of its play."""
    notes[SPLICE_NOTE] = {**notes.get(SPLICE_NOTE, {}), str(turn): splice.usage.numbers()}


def spliced_usage(notes: Mapping[str, Any], turn: int) -> Usage | None:
    """Usage of the turns that a turn replaces; None for a turn without a splice."""
    found = notes.get(SPLICE_NOTE, {}).get(str(turn))
    return None if found is None else Usage(*found)


class Takeback:
    """Turns taken back from one play.

    Args:
        play: its rules have snapshots=True.

    Idea: a strategy that retries needs the state before a turn, and an account of the tries.

    Example:
        yield from takeback.rewind(2); yield from takeback.splice_turn(best, own=0)
    """

    def __init__(self, play: Play):
        self.play = play
        self._pending = NOTHING

    def was_spliced(self, turn: int) -> bool:
        """Return True if the turn replaces turns taken back."""
        return spliced_usage(self.play.notes, turn) is not None

    def rewind(self, turn: int) -> Generator[Request, Any, Ending | None]:
        """Take back a turn and all later turns: tokens, messages, notes and the environment's state.

        Returns:
            The ending of the rollout if the environment cannot be restored; None otherwise.

        Raises:
            InputError: the rules lack snapshots=True, or there is no such turn to take back.
        """
        play = self.play
        mark = play.marks[turn] if turn < min(len(play.turns), len(play.marks)) else None
        if mark is None or mark.state is None:
            raise InputError(
                f"{play.attempt.id!r} cannot go back to before turn {turn}: there is no snapshot, or no turn"
            )
        _, ending = yield from work(partial(play.session.restore, mark.state), back=True)
        if ending is not None:
            return ending
        of_aux = Usage.of(one.turn for one in play.aux_turns[mark.aux_turns :])._replace(tokens=0, calls=0)
        gone = Usage.of(play.turns[turn:]).plus(of_aux)
        replaced = [spliced_usage(play.notes, k) for k in range(turn, len(play.turns))]
        play.forget(turn)
        play.usage.add_outside(gone, spent=False)
        for usage in (gone, *replaced):
            self._pending = self._pending.plus(usage or NOTHING)
        return None

    def splice_turn(self, completion: Completion, *, own: int) -> Generator[Request, Any, Ending | None]:
        """Play a turn of tokens sampled in turns taken back, and the environment's reply.

        Args:
            completion: the turn; it ended by itself.
            own: number of its first tokens that the policy drew in this place. Later tokens are FORCED: they train, and
                keep the `behaviour_logp` of the place of their draw.
        """
        splice = Splice(own, self._settle(len(completion.ids)))  # its tokens were counted where they were drawn
        return (yield from self.play.append_turn(completion._replace(splice=splice)))

    def resample_turn(self, prefix: Partial, *, seed: int) -> Generator[Request, Any, Ending | None]:
        """Play a turn that begins with the first tokens of a turn taken back, drawn by the policy in this place.

        The record has the turn's original seed; `seed` only draws the other tokens.
        """
        kept = len(prefix.ids)
        if (ending := self.play.exhausted(kept)) is not None:
            return ending
        return (yield from self.play.turn(seed=seed, prefix=prefix, replaces=self._settle(kept)))

    def _settle(self, tokens: int) -> Usage:
        """Usage of the turns taken back since the last splice, without the `tokens` of the next turn."""
        kept = Usage(tokens=-tokens)
        found, self._pending = self._pending.plus(kept), NOTHING
        self.play.usage.add_outside(kept)
        return found
