"""Scenario decomposition: a question with its sub-questions, drawn by a rule or read from a model, and checked."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.papers.ftrl.toolchains import SCENARIOS, brief_question, draw_chains
from handaxe.worlds.hops.knowledge_base import KnowledgeBase

__all__ = ["Scenario", "SubStep", "check_scenario", "draw_scenario", "read_scenario"]


class SubStep(NamedTuple):
    """Sub-question, answer, and indices of the earlier sub-questions with needed answers."""

    question: str
    answer: str
    needs: tuple[int, ...] = ()


class Scenario(NamedTuple):
    """Kind of a question (see `toolchains.SCENARIOS`), question, answer and sub-questions in order."""

    kind: str
    question: str
    answer: str
    steps: tuple[SubStep, ...]

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Scenario:
        """Read the JSON of `_asdict`."""
        steps = tuple(SubStep(question, answer, tuple(needs)) for question, answer, needs in found["steps"])
        return cls(found["kind"], found["question"], found["answer"], steps)


def draw_scenario(known: KnowledgeBase, people: Sequence[str], rng: random.Random, kind: str) -> Scenario:
    """Draw a scenario by rule: chains of relations between people; no chain begins with a name inside another one.

    Example:
        kind "chain": question "4071 boss ally?", steps ("4071 boss", "5526") and ("5526 ally", "1390", needs 0)

    Paper: arXiv:2508.08791 (FTRL), scenario decomposition into sub-questions of four kinds.
    Differs: a rule over invented facts; a language model writes scenarios in the paper.
    """
    chains, parts = draw_chains(known, people, rng, kind)
    while {name for one in chains for name in one[1:-1]} & {one[0] for one in chains}:
        chains, parts = draw_chains(known, people, rng, kind)
    steps = list[SubStep]()
    for visited, (_, path) in zip(chains, parts, strict=True):
        first = len(steps)
        for k, relation in enumerate(path):
            needs = (first + k - 1,) if k else ()
            steps.append(SubStep(f"{visited[k]} {relation}", visited[k + 1], needs))
    return Scenario(kind, brief_question(parts), ", ".join(one[-1] for one in chains), tuple(steps))


def read_scenario(kind: str, found: Mapping[str, Any]) -> Scenario | None:
    """Read a model's JSON {"question", "answer", "steps": [{"question", "answer", "needs"}]}; None for another form.

    Paper: arXiv:2508.08791 (FTRL), sub-questions written by a language model.
    Unconfirmed: the form of the answer.
    Differs: nothing else that is known.
    """
    steps = list[SubStep]()
    for one in found["steps"]:
        if not isinstance(one, dict) or not all(isinstance(one.get(key), str) for key in ("question", "answer")):
            return None
        needs = one.get("needs", [])
        if not isinstance(needs, list) or not all(isinstance(k, int) and not isinstance(k, bool) for k in needs):
            return None
        steps.append(SubStep(one["question"].strip(), one["answer"].strip(), tuple(needs)))
    return Scenario(kind, found["question"].strip(), found["answer"].strip(), tuple(steps))


def check_scenario(one: Scenario) -> str:
    """Reason to reject a decomposition for a kind of scenario; "" for a good decomposition.

        hops of a step = 1 + the most hops of the steps that it needs
        good  <=>  texts and answers are there; each step needs at most one step, an earlier one; the steps are chains,
                   as many as the width of the kind, each as long as its depth; the answer is the list of the answers
                   of the last steps, in order; the question states no answer of an earlier step

    Example:
        kind "chain", steps (boss, "5526") and (ally, "1390", needs 0), answer "1390"  ->  "";  kind "single"  ->
        "another kind"

    Paper: arXiv:2508.08791 (FTRL), single-hop, parallel single-hop, multi-hop and parallel multi-hop scenarios.
    Unconfirmed: the checks.
    Differs: nothing else that is known.
    """
    if not one.steps or not all((one.question, one.answer, *(text for step in one.steps for text in step[:2]))):
        return "an empty text"
    if any(not 0 <= need < k for k, step in enumerate(one.steps) for need in step.needs):
        return "a step needs a later one"
    width, depth = SCENARIOS[one.kind]
    needed = [need for step in one.steps for need in step.needs]
    hops = list[int]()
    for step in one.steps:
        hops.append(1 + max((hops[need] for need in step.needs), default=0))
    last = [k for k in range(len(hops)) if k not in needed]
    chains = len(set(needed)) == len(needed) and all(len(step.needs) <= 1 for step in one.steps)
    if not chains or [hops[k] for k in last] != [depth] * width:
        return "another kind"
    if one.answer != ", ".join(one.steps[k].answer for k in last):
        return "the answer is not that of the last steps"
    hidden = [step.answer for k, step in enumerate(one.steps) if k in needed]
    if any(re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", one.question) for answer in hidden):
        return "the question states a step"
    return ""
