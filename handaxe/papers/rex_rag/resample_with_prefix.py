"""A rollout that begins a wrong answer anew, with words that are put into the policy's mouth."""

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
from handaxe.rollouts.budget import Budget, Tell
from handaxe.rollouts.play import Play, Rules
from handaxe.rollouts.play.fork import Forced, fork

__all__ = ["probe_words", "resample_with_prefix"]

PROBE = "probe"
"""The note that names the probe of a trajectory."""


def resample_with_prefix(
    *,
    correct: Reward,
    probes: Sequence[str],
    chance: float = 0.2,
    right: float = 1.0,
    max_turns: int = 4,
    budget: Budget | None = None,
    tell_budget: bool | Tell = False,
) -> Rollout:
    """Play an attempt like `linear`; where it called a tool and answered wrongly, with some probability answer anew.

        first     q a0 | r0 | a1 | r1 | c                     id "t/0"; c is its last turn, a wrong answer
        probed    q a0 | r0 | a1 | r1 | w0 w1 y2 .. | ..      id "t/0/probed", with probability p
        w         one of the probes, drawn evenly; the policy goes on after it, and may call tools again
        mu(w_k) = #(probes that begin with w_0 .. w_k) / #(probes that begin with w_0 .. w_(k-1))

    Both are returned and share all before c. The probe's tokens are FORCED, with log mu as behaviour_logp: they train,
    so that the policy learns to say them, and a step that trains them needs annotate=("old_logp",). What is put right
    is `papers.rex_rag.behaviour_mixture`'s.

    Args:
        correct: says how right an attempt is; asked only of those that were drawn. An attempt that it cannot decide is
            not probed.
        probes: texts, each not empty and none twice; what the policy might say to itself when it doubts its answer.
            About 30 in the paper.
        chance: p, from 0 to 1; 0.2 in the paper.
        right: from which outcome on an answer is right.
        max_turns, budget, tell_budget: of each trajectory, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory or two, the first of which is
        what `linear` would have made. The second has `branch_of` and notes["probe"], the probe's number. Evaluations
        need a strategy of their own, which is what a recipe does by itself.

    Raises:
        InputError: a number out of range, no probe, one that is empty or is there twice; an environment without
            snapshots. It is raised when an attempt is probed for a probe that a format writes as nothing.

    Example:
        probes "ab", "ac", "b", a byte a token: mu of "ab" is 2/3, 1/2; of "ac" 2/3, 1/2; of "b" 1/3
        four turns of which the last is wrong: drawn with p, and its clone has three turns of the first and a fourth

    Paper: arXiv:2508.08149 (REX-RAG), mixed sampling with exploratory probes.
    Differs: the whole of the last turn is taken back, where the released code keeps the thought before the answer; the
    first token of a probe has its share of the pool, which is 1 in the released pool, whose probes begin alike. The
    released code also probes an answer that no search came before.
    """
    if not 0 <= chance <= 1:
        raise InputError(f"probing has the chance {chance}; give 0 to 1")
    if not probes or not all(probes) or len(set(probes)) != len(probes):
        raise InputError(f"probing needs probes, none of them empty or there twice, not {list(probes)}")
    rules = Rules(max_turns=max_turns, budget=budget or Budget(), tell_budget=tell_budget, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        first = yield from play.whole()
        draws = generator("resample_with_prefix", attempt.seed)
        drawn, number = draws.random() < chance, int(draws.integers(len(probes)))
        if not drawn or not _answered_after_a_call(first):
            return [first]
        try:
            if not (yield Work(lambda: _wrong(first, correct, right))):
                return [first]
        except Stopped:
            return [first]
        last = first.turns[-1]
        said = probe_words(probes, number, attempt.format, play.tools)
        name, seed = f"{attempt.id}/probed", derive_seed(attempt.seed, "probed")
        probed = fork(play, Branch(attempt.id, last.sequence, last.start), id=name, seed=seed, forced=said)
        probed.notes[PROBE] = number
        try:
            found = yield Spawn((probed.plan(),), (name,))
        except Stopped as stopped:
            found = stopped.spawned
        return [first, *(one for made in found for one in made)]

    return rollout


def probe_words(probes: Sequence[str], number: int, format: ChatFormat, tools: Sequence[ToolSchema]) -> Forced:
    """A probe as ids, each with the log of its share among the probes that begin alike."""
    pool = [_said(text, format, tools) for text in probes]
    begun = Counter(tuple(ids[:k]) for ids in pool for k in range(len(ids) + 1))
    ids = pool[number]
    shares = [begun[tuple(ids[: k + 1])] / begun[tuple(ids[:k])] for k in range(len(ids))]
    return Forced(ids, [log(share) for share in shares])


def _said(text: str, format: ChatFormat, tools: Sequence[ToolSchema]) -> list[int]:
    """The ids with which a policy would say the text, without those that end the turn."""
    ids = format.encode_turn(Message("assistant", text), tools)
    ends = [place for place, id in enumerate(ids) if id in format.stop_ids]
    return list(ids[: ends[0]] if ends else ids)


def _answered_after_a_call(one: Trajectory) -> bool:
    return one.ending.kind == "completed" and any(turn.replies for turn in one.turns[:-1])


def _wrong(one: Trajectory, correct: Reward, right: float) -> bool:
    """Whether an attempt is known to be wrong."""
    try:
        outcome = correct(Group(one.task, (one,))).outcome[0]
    except (InfrastructureError, VerifierError):
        return False
    return bool(np.isfinite(outcome) and outcome < right)
