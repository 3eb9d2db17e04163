"""From a play, another one that begins like it: the same tokens up to a place, and the environment as it was."""

from dataclasses import replace
from typing import NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Turn
from handaxe.core.requests import Partial
from handaxe.rollouts.play import Beginning, Play

__all__ = ["Forced", "fork"]


class Forced(NamedTuple):
    """Words that are put into the policy's mouth: their ids, and the log-prob of each under what drew it."""

    ids: list[int]
    behaviour_logp: list[float]


def fork(play: Play, at: Branch, *, id: str, seed: int, forced: Forced | None = None, turns: int | None = None) -> Play:
    """Make a play that shares the first `at.token` ids of sequence `at.sequence` with another, and all before it.

        t inside a turn [start, stop)     its first t - start tokens are shared, the rest is sampled anew
        t = stop                          the turn is shared, and the environment answers it anew
        t anywhere else                   what is not sampled cannot be had by halves: the fork moves on to the next
                                          turn, and shares all before it

    The environment is made and started again and restored to the snapshot from before that turn. Turn k of the fork
    draws from derive_seed(seed, k), and its tokens count from the turn's first: with the seed of `play` the fork
    repeats it token for token, with any other every draw from there on is new.

    With `forced`, these words follow what is shared of the turn, and the policy goes on after them. They are FORCED:
    they train as the policy's own do, but no policy was asked about them, so a step that trains them needs old_logp
    measured (`annotate`). They are part of the turn: its length counts them, and words that leave no room in it end the
    attempt as any turn that is too long does.

    The fork's record holds the shared tokens as its own. So training counts them once for each branch that shares
    them, each time with that branch's advantage: their gradient is the sum over branches.

    Args:
        play: to be left; over, or between two turns. Its rules say snapshots=True.
        at: where; `at.trajectory` is the play's id, `at.token` in [0, length of the sequence].
        id: of the new trajectory, unlike any other in its group.
        seed: of the new trajectory.
        forced: words that the turn at the fork goes on with; none of them may end a turn.
        turns: most turns of its own, >= 1, the one that it shares a part of included; as many as the rules allow
            unless told otherwise.

    Returns:
        The fork, not begun: `yield Spawn((fork.plan(),), (id,))`, or `yield from fork.run()`. It can be forked in
        turn. Its `branch_of` says where it begins to differ at the earliest.

    Raises:
        InputError: no snapshot was taken, there is no such place, or nothing can follow it (the turn was cut there,
            or nothing was sampled after it); forced words after the end of a turn, or words that end one.

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
    """The turn that a place belongs to or comes before, and the token at which it starts."""
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
