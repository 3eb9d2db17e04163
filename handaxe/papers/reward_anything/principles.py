"""World of a listwise judge: scores of three responses under a principle of the prompt."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from types import MappingProxyType

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.papers.reward_anything.rank_agreement import pair_agreement
from handaxe.papers.reward_anything.ranking_format import form_score
from handaxe.papers.reward_anything.read_ranking import read_ranking
from handaxe.rewards.outcome import outcome
from handaxe.worlds.judging.order_principle import PRINCIPLES, OrderPrinciple, draw_response
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["NOVEL", "principles"]

NAMES = "abc"
"""Masked names of the responses."""
START = Start(skill=160, steps=0, batch_size=16, learning_rate=2e-3)

NOVEL: Mapping[str, OrderPrinciple] = MappingProxyType({"lo 2nd": OrderPrinciple(1, False)})
"""Principles of test alone, of known words in a new combination; `PRINCIPLES` are in both splits."""


def principles() -> World:
    """Principles with three responses of two digits, 1 to 5; the judge scores the responses from 1 to 5 and ranks them.

    A principle prefers high or low first digits ("hi 1st", "lo 1st") or second digits. The same responses have the
    reverse order under the opposite principle, so no judge without the principle ranks better than chance. The test
    split has "lo 2nd" too, of which no training task has a case. A reply is correct if each pair of responses has the
    order of the reference.

    Returns:
        A world broken down by "novel" (yes or no). No list of responses is in both splits. Gauges: agreement
        (`pair_agreement`) and form (`form_score`).

    Example:
        "lo 1st", "a35", "b51", "c24": '<think>352</think>{"scores":{"a":3,"b":1,"c":4},"best-to-worst":["c","a","b"]}'

    Paper: arXiv:2506.03637 (RewardAnything), principle, prompt and masked responses.
    Differs: principles of two words and responses of two digits; the responses have no prompt.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        check_count(split, count)
        known = {**PRINCIPLES, **NOVEL} if split == "test" else PRINCIPLES
        return [_task(known, split, seed, number) for number in range(count)]

    return World(
        name="principles",
        tasks=tasks,
        env=tool_chat,
        correct=outcome(lambda one: float(_agreement(one) == 1)),
        breakdown=("novel",),
        is_answer=lambda turn: read_ranking(turn.parsed.text).parsed,
        expert=_expert,
        start=START,
        start_turns=1,
        gauges={
            "agreement": RatioMetric(lambda one, right: _agreement(one)),
            "form": RatioMetric(lambda one, right: form_score(one.final_text, one.task.answer)),
        },
    )


def _task(known: Mapping[str, OrderPrinciple], split: Split, seed: int, number: int) -> Task:
    rng = random.Random(derive_seed("principles", split, seed, number))
    wording = list(known)[number % len(known)]
    principle = known[wording]
    responses = _draw(rng)
    while len({principle.score(one) for one in responses}) < len(NAMES) or _split(responses) != split:
        responses = _draw(rng)
    shown = "\n".join(name + response for name, response in zip(NAMES, responses, strict=True))
    gold = {name: principle.score(response) for name, response in zip(NAMES, responses, strict=True)}
    thought = "".join(response[principle.place] for response in responses)
    metadata = {"principle": wording, "novel": "yes" if wording in NOVEL else "no", "thought": thought}
    message = Message("user", f"{wording}\n{shown}")
    return Task(f"principles-{split}-{seed}-{number}", (message,), gold, (), metadata)


def _draw(rng: random.Random) -> list[str]:
    return [draw_response(rng) for _ in NAMES]


def _split(responses: list[str]) -> Split:
    return content_split("principles split", *responses)


def _expert(task: Task, facts: Facts) -> Message:
    del facts
    ranking = sorted(task.answer, key=lambda name: -task.answer[name])
    found = json.dumps({"scores": task.answer, "best-to-worst": ranking}, separators=(",", ":"))
    return Message("assistant", f"<think>{task.metadata['thought']}</think>{found}")


def _agreement(one: Trajectory) -> float:
    return pair_agreement(read_ranking(one.final_text).scores or {}, one.task.answer)
