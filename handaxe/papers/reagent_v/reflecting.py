"""Reflection on an answer from three perspectives, after a low rating of the draft by a critic."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.protocols import Rollout, RolloutPlan
from handaxe.core.records import Ending, Trajectory
from handaxe.core.requests import Attempt, Completion, Work
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.play import Play, Request, Rules
from handaxe.rollouts.play.takeback import Takeback

__all__ = ["Reflection", "choose_reflection", "reflecting"]


class Reflection(NamedTuple):
    """A candidate: answer, confidence and all turns."""

    answer: str
    confidence: float
    turns: tuple[Completion, ...]


def reflecting(
    *, importance: Callable[[Trajectory], float], threshold: float = 5.0, max_turns: int | Rules = 4
) -> Rollout:
    """Play a draft; after a low rating by the critic, sample three reflections and keep one.

        draft kept       if importance(draft) >= threshold
        conservative     the last turn of the draft is sampled again: the answer alone
        neutral          the turn of the last call and all later turns are sampled again: evidence and answer
        aggressive       all turns are sampled again
        kept             the most frequent answer of the three; of equal ones the highest confidence

    The confidence is the mean probability of the tokens of the last turn. A truncated reflection is kept only if all
    three are truncated. Reflections stay paid: budgets and `total_usage` count tokens and calls of all three.

    Args:
        importance: critic of a rollout after its last turn, 0 to 10; may block.
        threshold: 5 in the paper's filter of training data.
        max_turns: turns or `Rules`, as in `linear`.

    Returns:
        A rollout strategy: Attempt -> generator of requests that returns one trajectory. Turns of a kept reflection are
        FORCED tokens, since the critic makes the choice. notes["importance"] has the critic's rating of the draft,
        and notes["reflection"] the number of the kept reflection.

    Raises:
        InputError: a threshold that is no number from 0 to 10, or an environment without snapshots.

    Example:
        answers 12 (confidence 0.9), 37 (0.6), 37 (0.7) -> 37, the third

    Paper: arXiv:2506.01300 (ReAgent-V), multi-perspective reflection.
    Unconfirmed: the choice among different reflections.
    Differs: a perspective is the depth from which the policy samples again; the paper prompts with the critic's report.
    """
    if not 0 <= threshold <= 10:
        raise InputError(f"threshold is {threshold}; give an importance from 0 to 10")
    rules = Rules.of(max_turns, snapshots=True)

    def rollout(attempt: Attempt) -> RolloutPlan:
        play = Play(attempt, rules)
        return [(yield from play.run(_turns(play, importance, threshold)))]

    return rollout


def choose_reflection(found: Sequence[Reflection]) -> int:
    """Return the number of the kept reflection: the most frequent answer, then the highest confidence, then the first.

    Example:
        answers a, b, b with confidences 0.9, 0.5, 0.8 -> 2
    """
    answers = [one.answer for one in found]
    return max(range(len(found)), key=lambda k: (answers.count(answers[k]), found[k].confidence, -k))


def _turns(play: Play, importance: Callable[[Trajectory], float], threshold: float) -> Generator[Request, Any, Ending]:
    ending = yield from _finish(play, None)
    if ending.kind == "infra_error" or not play.turns:
        return ending
    rating = float((yield Work(partial(importance, play.partial_trajectory()))))
    play.notes["importance"] = rating
    if rating >= threshold:
        return ending
    takeback, kept = Takeback(play), list[Reflection]()
    for number, start in enumerate(_depths(play)):
        gone = yield from takeback.rewind(start)
        if gone is not None:
            return gone
        ending = yield from _finish(play, number)
        if ending.kind == "infra_error":
            return ending
        if len(play.turns) > start and all(turn.finish == "stop" for turn in play.turns):
            kept.append(_reflection(play))
    if not kept:
        return ending
    gone = yield from takeback.rewind(0)
    if gone is not None:
        return gone
    chosen = choose_reflection(kept)
    last: Ending | None = ending
    for said in kept[chosen].turns:
        last = yield from takeback.splice_turn(said, own=0)
    play.notes.update({"importance": rating, "reflection": chosen})
    return last or Ending("truncated", "turns")


def _depths(play: Play) -> tuple[int, int, int]:
    """First turn that is sampled again, in the order of the perspectives: later turns first."""
    last = len(play.turns) - 1
    calls = [number for number, turn in enumerate(play.turns) if turn.parsed.calls]
    return last, calls[-1] if calls else last, 0


def _finish(play: Play, reflection: int | None) -> Generator[Request, Any, Ending]:
    """Play to the end: the draft, or a reflection with seeds of its own."""
    while True:
        k = len(play.turns)
        seed = None if reflection is None else derive_seed(play.attempt.seed, "reflection", reflection, k)
        ending = yield from play.turn(seed=seed)
        if ending is not None:
            return ending


def _reflection(play: Play) -> Reflection:
    said = []
    for turn in play.turns:
        part = play.sequences[turn.sequence].span(turn.start, turn.stop)
        said.append(Completion(part.ids, part.logp, part.behaviour_logp, part.version, "stop"))
    confidence = float(np.exp(said[-1].logp).mean())
    return Reflection(play.turns[-1].parsed.text.strip(), confidence, tuple(said))
