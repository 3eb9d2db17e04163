"""Fork a play: the same tokens up to a place, and the environment's state there."""

from dataclasses import replace
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Turn
from handaxe.core.requests import Partial
from handaxe.rollouts.play import Beginning, Play

__all__ = ["Forced", "fork"]


class Forced(NamedTuple):
    """Tokens forced into the policy's turn: ids, and log-probs under the process that drew them."""

    ids: list[int]
    behaviour_logp: list[float]


def fork(play: Play, at: Branch, *, id: str, seed: int, forced: Forced | None = None, turns: int | None = None) -> Play:
    """Make a play that shares the first `at.token` ids of sequence `at.sequence` with another, and all before it.

        t inside a turn [start, stop)     its first t - start tokens are shared, the rest is sampled again
        t = stop                          the turn is shared, and the environment replies again
        t anywhere else                   unsampled parts cannot be split: the fork moves on to the next turn, and
            shares
                                          all before it

    The environment is made and started again and restored to the snapshot from before that turn. Turn k of the fork
    draws from derive_seed(seed, k), and its tokens count from the turn's first: with the seed of `play` the fork
    repeats it token for token, with any other seed every draw after the fork point is new.

    Tokens of `forced` follow the shared part of the turn, and the policy continues after them. They are FORCED: they
    train like the policy's, but no policy assigned their log-probs, so a step that trains them needs old_logp measured
    (`annotate`). They count in the turn's length; if they leave no room in it, the rollout ends as for any overlong
    turn.

    The fork's record holds the shared tokens as its own. Training counts them once per branch, each time with that
    branch's advantage: their gradient is the sum over branches.

    Args:
        play: finished, or between two turns. Its rules have snapshots=True.
        at: fork point; `at.trajectory` is the play's id, `at.token` in [0, length of the sequence].
        id: of the new trajectory, unique in its group.
        seed: of the new trajectory.
        forced: tokens after the fork point; none may end a turn.
        turns: maximum turns of the fork, >= 1, the shared partial turn included; None: the limit of the rules.

    Returns:
        The fork, not begun: `yield Spawn((fork.plan(),), (id,))`, or `yield from fork.run()`. It can be forked again.
        Its `branch_of` is the earliest point of difference.

    Raises:
        InputError: no snapshot was taken, there is no such place, or nothing can follow it (the turn was cut there,
            or nothing was sampled after it); forced tokens after the end of a turn, or tokens that end one.

    Example:
        fork(trunk, Branch("t/0", 0, 57), id="t/0/branch-0", seed=7)

    Idea: a state of the conversation is its tokens and the environment's snapshot; with both, any token is a fork.
    """
    if at.trajectory != play.attempt.id:
        raise InputError(f"{at} is not of {play.attempt.id!r}, which is to be forked")
    if not play.rules.snapshots:
        raise InputError(f"{play.attempt.id!r} cannot be forked: play it with Rules(snapshots=True)")
    lengths = [len(builder.ids) for builder in play.sequences]
    if not 0 <= at.sequence < len(lengths) or not 0 <= at.token <= lengths[at.sequence]:
        raise InputError(f"{at}: there is no such place; the sequences of {at.trajectory!r} have {lengths} ids")
    k, start = _turn(play, at)
    mark, shared = play.marks[k], play.sequences[at.sequence]
    token = max(at.token, start)
    prefix = ended = None
    if token > start:
        prefix = shared.span(start, token)
        ended = play.turns[k] if token == play.turns[k].stop else None
    own = shared.forced(start, token)
    if forced is not None:
        _check_forced(play, forced, at, ended=ended is not None)
        own += range(token - start, token - start + len(forced.ids))
        prefix = _followed_by(prefix or Partial([], [], [], []), forced)
    beginning = Beginning(
        branch=at._replace(token=token),
        messages=play.messages[: mark.messages],
        tools=play.tools,
        turns=play.turns[:k],
        sequences=[*play.sequences[: at.sequence], shared.prefix(start)],
        marks=play.marks[: k + 1],
        prefix=prefix,
        ended=ended,
        aux_turns=play.aux_turns[: mark.aux_turns],
        forced=tuple(own),
    )
    rules = play.rules
    if turns is not None:
        if turns < 1:
            raise InputError(f"a fork of {play.attempt.id!r} may have {turns} turns; give 1 or more")
        rules = replace(rules, max_turns=min(rules.max_turns, k + turns))
    return Play(replace(play.attempt, id=id, seed=seed), rules, beginning=beginning)


def _followed_by(prefix: Partial, forced: Forced) -> Partial:
    count = len(forced.ids)
    return Partial(
        ids=[*prefix.ids, *forced.ids],
        logp=[*prefix.logp, *[0.0] * count],
        behaviour_logp=[*prefix.behaviour_logp, *forced.behaviour_logp],
        version=[*prefix.version, *[-1] * count],
    )


def _check_forced(play: Play, forced: Forced, at: Branch, *, ended: bool) -> None:
    format = play.attempt.format
    if ended:
        raise InputError(f"{at}: its turn ends there, so no words can be forced upon the policy after it")
    if not forced.ids or len(forced.ids) != len(forced.behaviour_logp):
        raise InputError(f"{len(forced.ids)} ids and {len(forced.behaviour_logp)} log-probs are forced; give one each")
    if not (format.stop_ids | format.header_ids).isdisjoint(forced.ids):
        raise InputError(f"{at}: the words to force end the turn; give words that the policy can go on after")


def _turn(play: Play, at: Branch) -> tuple[int, int]:
    """Return the turn of a place, or the next turn, and the turn's first token."""
    for k, turn in enumerate(play.turns):
        if turn.sequence == at.sequence and at.token <= turn.stop:
            _check_answered(turn, at)
            return k, turn.start
    last = len(play.sequences) - 1
    if at.sequence == last and not play.done:
        return len(play.turns), len(play.sequences[last].ids)
    raise InputError(f"{at}: nothing was sampled after it")


def _check_answered(turn: Turn, at: Branch) -> None:
    if at.token == turn.stop and turn.finish != "stop":
        raise InputError(f"{at}: nothing follows it, the turn ended there for {turn.finish!r}")
