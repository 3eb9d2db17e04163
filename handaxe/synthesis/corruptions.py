"""Corruptions of a correct rollout: turns with one change, and the rollout's continuation."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Group, Message, Task, Trajectory
from handaxe.evaluation.scenes import script, turn_messages
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.ops.change_digit import change_digit
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.parts.scoring import score_group
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.draft_groups import rollout_text
from handaxe.synthesis.task_drafts import draft_task
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.demonstration_noise import corrupt_arguments
from handaxe.worlds.world import Expert, Facts, World

__all__ = ["CORRUPTIONS", "Corruption", "Corruptor", "WrongRollout", "copied_answer", "resumed"]

CORRECT = 0.5
SAME = "no change is incorrect"
LONG = "another length"

Corruption = Callable[[Trajectory, random.Random], Sequence[Message] | None]
"""(correct rollout, random numbers) -> its first turns with one change; None without a place for it."""


def resumed(expert: Expert, right: Trajectory, turns: Sequence[Message]) -> Expert:
    """Wrap an expert: first the given turns, then the turns of the expert; an answer copies the last reply.

    Args:
        expert: correct behaviour.
        right: its rollout, which shows what the answer copied.
        turns: first turns.

    Example:
        turns with a call of 12*35 instead of 12*34, reply 420, the expert's answer 408 copied 408  ->  the answer 420
    """
    before = right.turns[-2].replies[-1].content if len(right.turns) > 1 and right.turns[-2].replies else ""

    def speak(task: Task, facts: Facts) -> Message:
        if facts["turn"] < len(turns):
            return turns[facts["turn"]]
        message = expert(task, facts)
        if message.calls or not facts["replies"]:
            return message
        return replace(message, content=copied_answer(right.final_text, before, facts["replies"][-1]))

    return speak


def copied_answer(answer: str, before: str, after: str) -> str:
    """The text of another reply at the place from which an answer was copied; the answer without such a place.

    Example:
        copied_answer("luta", "mayor: luta.", "mayor: kemi.") -> "kemi"
    """
    if answer == before.strip():
        return after.strip()
    old, new = re.findall(r"\w+", before), re.findall(r"\w+", after)
    return new[old.index(answer)] if old.count(answer) == 1 and len(old) == len(new) else answer


def _digit(right: Trajectory, rng: random.Random) -> Sequence[Message] | None:
    *first, last = turn_messages(right)
    text = change_digit(last.content, seed=rng.getrandbits(32))
    return None if text is None else [*first, replace(last, content=text)]


def _argument(right: Trajectory, rng: random.Random) -> Sequence[Message] | None:
    turns = turn_messages(right)
    places = [k for k, one in enumerate(turns) if one.calls]
    if not places:
        return None
    place = rng.choice(places)
    first, *more = turns[place].calls
    changed = _changed(first.arguments, rng) or corrupt_arguments(first.arguments, rng)
    if changed is None:
        return None
    return [*turns[:place], replace(turns[place], calls=(replace(first, arguments=changed), *more))]


def _changed(arguments: Mapping[str, Any], rng: random.Random) -> dict[str, Any] | None:
    """Arguments with one digit changed, at equal length; None without digits."""
    texts = {key: value for key, value in arguments.items() if isinstance(value, str) and re.search(r"\d", value)}
    if not texts:
        return None
    key = rng.choice(sorted(texts))
    return {**arguments, key: change_digit(texts[key], seed=rng.getrandbits(32))}


def _tool(right: Trajectory, rng: random.Random) -> Sequence[Message] | None:
    turns = turn_messages(right)
    places = [k for k, one in enumerate(turns) if one.calls]
    if not places:
        return None
    place = rng.choice(places)
    first, *more = turns[place].calls
    others = sorted({one.name for one in right.tools} - {first.name})
    if not others:
        return None
    return [*turns[:place], replace(turns[place], calls=(replace(first, name=rng.choice(others)), *more))]


def _order(right: Trajectory, rng: random.Random) -> Sequence[Message] | None:
    turns = turn_messages(right)
    places = [k for k in range(len(turns) - 1) if turns[k].calls and turns[k + 1].calls and turns[k] != turns[k + 1]]
    if not places:
        return None
    place = rng.choice(places)
    return [*turns[:place], turns[place + 1], turns[place]]


def _ending(right: Trajectory, rng: random.Random) -> Sequence[Message] | None:
    """Another word of the conversation, of the same length and kind, instead of the answer."""
    *first, last = turn_messages(right)
    answer = last.content.strip()
    seen = " ".join([right.task.messages[-1].content, *(reply.content for reply in right.replies)])
    others = [one for one in re.findall(r"\w+", seen) if len(one) == len(answer) and one.isdigit() == answer.isdigit()]
    others = sorted(set(others) - {answer})
    return [*first, replace(last, content=rng.choice(others))] if others else None


CORRUPTIONS: Mapping[str, Corruption] = MappingProxyType(
    {"digit": _digit, "argument": _argument, "tool": _tool, "order": _order, "ending": _ending}
)
"""Name -> corruption: a digit of the answer, an argument, the tool of a call, the order of two calls, the answer."""


class WrongRollout(NamedTuple):
    """Corrupted rollout that the oracle calls incorrect, and the kind; or None and the reason."""

    trajectory: Trajectory | None
    by: str


@dataclass(frozen=True)
class Corruptor:
    """Plays corruptions, and keeps incorrect rollouts of similar length.

    Args:
        world: has an expert; its rule is the oracle.
        env: of the tasks.
        kinds: of `CORRUPTIONS`.
        tries: draws of a kind, 1 or more.
        length: greatest share of the length in characters that may change, 0 or more.

    Raises:
        InputError: an unknown kind or none, a number out of range, or a world without an expert.

    Example:
        Corruptor(world, env).by_rule(right, seed=0) -> WrongRollout(trajectory, "digit")

    Idea: an environment that replies to the changed turn makes a wrong rollout that is consistent in itself.
    """

    world: World
    env: EnvFactory
    kinds: tuple[str, ...] = tuple(CORRUPTIONS)
    tries: int = 3
    length: float = 0.2

    def __post_init__(self) -> None:
        self.world.need("expert")
        if not self.kinds or not set(self.kinds) <= set(CORRUPTIONS) or self.tries < 1 or self.length < 0:
            raise InputError(
                f"corruptions take kinds out of {', '.join(CORRUPTIONS)}, tries from 1 and a length from 0, not "
                f"{', '.join(self.kinds) or 'none'}, {self.tries} and {self.length}"
            )

    def right(self, draft: SynthesisDraft) -> Trajectory | None:
        """The expert's rollout at the task of a draft; None for an incorrect rollout."""
        one = self._play(draft_task(draft), self.world.need("expert"), "right")
        return one if self._verdict(one) else None

    def by_rule(self, right: Trajectory, seed: int) -> WrongRollout:
        """The first kept corruption; the kinds have an order drawn for the task."""
        reason, rng = SAME, random.Random(derive_seed("corrupt", seed, right.task.id))
        for kind in rng.sample(list(self.kinds), len(self.kinds)):
            for _ in range(self.tries):
                turns = CORRUPTIONS[kind](right, rng)
                if turns is None:
                    break
                found = self._checked(right, resumed(self.world.need("expert"), right, turns), kind)
                if found.trajectory is not None:
                    return found
                reason = LONG if found.by == LONG else reason
        return WrongRollout(None, reason)

    def by_text(self, right: Trajectory, text: str) -> WrongRollout:
        """The rollout with another text in the last turn, as written by a model."""
        *first, last = turn_messages(right)
        return self._checked(right, script(*first, replace(last, content=text)), "model")

    def _checked(self, right: Trajectory, speaker: Expert, kind: str) -> WrongRollout:
        wrong = self._play(right.task, speaker, kind)
        before, after = len(rollout_text(right)), len(rollout_text(wrong))
        reason = (
            SAME if self._verdict(wrong) is not False else LONG if abs(after - before) > self.length * before else ""
        )
        return WrongRollout(None, reason) if reason else WrongRollout(wrong, kind)

    def _play(self, task: Task, speaker: Expert, id: str) -> Trajectory:
        rollout = self.world.make_rollout(self.world.start_turns)
        return demonstrate(self.env, task, speaker, format=Transcript(), id=id, rollout=rollout)

    def _verdict(self, one: Trajectory) -> bool | None:
        """Verdict of the world's rule; None for a rollout without a score."""
        (value,) = score_group(self.world.correct, Group(one.task, (one,)))[1].outcome
        return None if value != value else bool(value > CORRECT)
