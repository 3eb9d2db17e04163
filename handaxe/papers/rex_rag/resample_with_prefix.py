"""Rollout that resamples a wrong answer after forced words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np

from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.protocols import ChatFormat, Reward, Rollout, RolloutPlan
from handaxe.core.records import Branch, Group, Message, ToolSchema, Trajectory
from handaxe.core.requests import Attempt, Spawn, Stopped, Work
from handaxe.ops.seeds import derive_seed, generator
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import Forced, fork

__all__ = ["probe_words", "resample_with_prefix"]

PROBE = "probe"
"""Note with the number of a trajectory's probe."""


def resample_with_prefix(
    *,
    correct: Reward,
    probes: Sequence[str],
    chance: float = 0.2,
    right: float = 1.0,
    max_turns: int | Rules = 4,
) -> Rollout:
    """Play like `linear`; with some probability resample a wrong answer that followed a tool call, after a probe.

        first     q a0 | r0 | a1 | r1 | c                     id "t/0"; c is its last turn, a wrong answer
        probed    q a0 | r0 | a1 | r1 | w0 w1 y2 .. | ..      id "t/0/probed", with probability p
        w         one of the probes, sampled uniformly; the policy continues after it, and may call tools again
        mu(w_k) = #(probes that begin with w_0 .. w_k) / #(probes that begin with w_0 .. w_(k-1))

    Both are returned and share everything before c. The probe's tokens are FORCED, with log mu as behaviour_logp: they
    train, so that the policy learns them, and a step that trains them needs annotate=("old_logp",).
    `papers.rex_rag.behaviour_mixture` corrects the ratio.

    Args:
        correct: reward of a trajectory; called only for sampled ones. A trajectory that it cannot score is not probed.
        probes: distinct non-empty texts, such as doubts about the answer; about 30 in the paper.
        chance: p, from 0 to 1; 0.2 in the paper.
        right: minimum outcome of a correct answer.
        max_turns: turns or `Rules`, of each trajectory, as for `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory or two, the first of which is
        that of `linear`. The second has `branch_of` and notes["probe"], the probe's number. Evaluations need another
        strategy; a method's default is the world's.

    Raises:
        InputError: a number out of range, no probe, an empty or repeated one; an environment without snapshots. Also
            when a rollout is probed with a probe that the format encodes as nothing.

    Example:
        probes "ab", "ac", "b", a byte a token: mu of "ab" is 2/3, 1/2; of "ac" 2/3, 1/2; of "b" 1/3
        four turns of which the last is wrong: with probability p a clone has three turns of the first and a fourth

    Paper: arXiv:2508.08149 (REX-RAG), mixed sampling with exploratory probes.
    Differs: the whole last turn is taken back, where the released code keeps the thought before the answer; the first
    token of a probe has its share of the pool, which is 1 in the released pool, whose probes begin alike. The released
    code also probes an answer without a search before it.
    """
    if not 0 <= chance <= 1:
        raise InputError(f"the chance of resample_with_prefix is {chance}; give 0 to 1")
    if not probes or not all(probes) or len(set(probes)) != len(probes):
        raise InputError(f"resample_with_prefix needs distinct non-empty probes, not {list(probes)}")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        first = yield from play.run()
        draws = generator("probing", attempt.seed)  # the name of version 0.1: equal seeds, equal draws
        drawn, number = draws.random() < chance, int(draws.integers(len(probes)))
        if not drawn or not _answered_after_a_call(first):
            return [first]
        try:
            if not (yield Work(lambda: _wrong(first, correct, right))):
                return [first]
        except Stopped:
            return [first]
        last = first.turns[-1]
        words = probe_words(probes, number, attempt.format, play.tools)
        name, seed = f"{attempt.id}/probed", derive_seed(attempt.seed, "probed")
        probed = fork(play, Branch(attempt.id, last.sequence, last.start), id=name, seed=seed, forced=words)
        probed.notes[PROBE] = number
        try:
            found = yield Spawn((probed.plan(),), (name,))
        except Stopped as stopped:
            found = stopped.spawned
        return [first, *(one for made in found for one in made)]

    return rollout


def probe_words(probes: Sequence[str], number: int, format: ChatFormat, tools: Sequence[ToolSchema]) -> Forced:
    """Encode a probe as ids, each with the log of its share among the probes with an equal prefix."""
    pool = [_turn_ids(text, format, tools) for text in probes]
    prefixes = Counter(tuple(ids[:k]) for ids in pool for k in range(len(ids) + 1))
    ids = pool[number]
    shares = [prefixes[tuple(ids[: k + 1])] / prefixes[tuple(ids[:k])] for k in range(len(ids))]
    return Forced(ids, [log(share) for share in shares])


def _turn_ids(text: str, format: ChatFormat, tools: Sequence[ToolSchema]) -> list[int]:
    """Ids of the text in a policy's turn, without the end of the turn."""
    ids = format.encode_turn(Message("assistant", text), tools)
    ends = [place for place, id in enumerate(ids) if id in format.stop_ids]
    return list(ids[: ends[0]] if ends else ids)


def _answered_after_a_call(one: Trajectory) -> bool:
    return one.ending.kind == "completed" and any(turn.replies for turn in one.turns[:-1])


def _wrong(one: Trajectory, correct: Reward, right: float) -> bool:
    """Check a trajectory for a wrong outcome; an unknown outcome gives False."""
    try:
        outcome = correct(Group(one.task, (one,))).outcome[0]
    except (InfrastructureError, VerifierError):
        return False
    return bool(np.isfinite(outcome) and outcome < right)
