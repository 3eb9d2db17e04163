"""Writer of rubrics: a rule, or a language model with retrieved seed rubrics; and the checks of criteria."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object, probability
from handaxe.core.errors import InputError
from handaxe.core.protocols import Check
from handaxe.core.records import Criterion, Sampling, Task, Trajectory
from handaxe.judges.asked_check import check_question
from handaxe.ops.criteria import apply_check
from handaxe.synthesis.ask_values import ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft, digest_of
from handaxe.synthesis.seed_rubrics import SeedCase, SeedRubrics
from handaxe.synthesis.task_drafts import draft_task, draft_text
from handaxe.worlds.parts.checklists import call_check, call_criteria
from handaxe.worlds.world import World

__all__ = ["AskedRubrics", "RubricWriter", "RuleRubrics", "WrittenRubric", "reference_rubrics", "seed_rubrics"]

READ = json_object({"criteria": list})
MET = 0.5


class WrittenRubric(NamedTuple):
    """Criteria, or the reason for their absence, and JSON about a question to a model."""

    criteria: tuple[Criterion, ...]
    reason: str = ""
    asked: tuple[Mapping[str, Any], ...] = ()


class RuleRubrics(NamedTuple):
    """Rubrics by rule: criteria of a task, and a check of criteria.

    Example:
        reference_rubrics(world).write([draft]) -> criteria "call 0" and "answer" of a task with one reference call
    """

    criteria: Callable[[Task], Sequence[Criterion]]
    check: Check
    name: str

    @property
    def settings(self) -> dict[str, Any]:
        """JSON on which the rubrics depend."""
        return {"by": "rule", "rule": self.name}

    def write(self, drafts: Sequence[SynthesisDraft]) -> list[WrittenRubric]:
        """The rubric of each draft."""
        return [WrittenRubric(tuple(self.criteria(draft_task(one)))) for one in drafts]

    def met(
        self, rollouts: Sequence[tuple[Sequence[Criterion], Trajectory]]
    ) -> list[tuple[np.ndarray | None, tuple[Mapping[str, Any], ...]]]:
        """[C] bool for each rollout: criteria met after some turn."""
        return [(np.asarray(apply_check(self.check, one, criteria).any(1)), ()) for criteria, one in rollouts]


class AskedRubrics:
    """Asks a model for criteria, with retrieved seed rubrics as examples, and whether each rollout meets them.

    Args:
        desk: asks the model.
        seeds: of training tasks.
        cases: retrieved cases of a question, 0 or more.
        max_tokens: of a rubric.

    Raises:
        InputError: a negative number; while asking, see `ask_values`.

    Example:
        reply {"criteria": [{"text": "It cites a source.", "points": 2}]}  ->  a criterion "1" with 2 points

    Paper: arXiv:2510.15859 (ORBIT), rubrics of a language model that reads similar cases.
    Unconfirmed: the wording of the prompt.
    Differs: one question with retrieved cases; the paper retrieves single criteria, too.
    """

    def __init__(self, desk: AskDesk, seeds: Sequence[SeedCase], *, cases: int = 3, max_tokens: int = 512):
        if cases < 0:
            raise InputError(f"cases is {cases}; give 0 or more")
        self._desk = desk
        self._cases = cases
        self._seeds = SeedRubrics(seeds) if cases else None
        self._prompt = find_prompt("rubric", terse=desk.answerer.terse)
        self._sampling = Sampling(temperature=0.0, max_tokens=max_tokens)

    @property
    def settings(self) -> dict[str, Any]:
        """JSON on which the rubrics depend."""
        shown = [[one.question, [list(item) for item in map(_row, one.criteria)]] for one in self._cases_of_base()]
        prompt = f"{self._prompt.name} {self._prompt.digest[:12]}"
        return {**desk_settings(self._desk, prompt), "cases": self._cases, "seeds": digest_of(shown)}

    def write(self, drafts: Sequence[SynthesisDraft]) -> list[WrittenRubric]:
        """The rubric of each draft."""
        found = ask_values(self._desk, [self._question(one) for one in drafts], READ)
        return [_written(own.value)._replace(asked=own.asked) for own in found]

    def met(
        self, rollouts: Sequence[tuple[Sequence[Criterion], Trajectory]]
    ) -> list[tuple[np.ndarray | None, tuple[Mapping[str, Any], ...]]]:
        """[C] bool for each rollout, judged after its last turn; None where a question has no answer."""
        asks = [
            check_question(self._desk, "check", one, len(one.turns) - 1, item)
            for items, one in rollouts
            for item in items
        ]
        found = iter(ask_values(self._desk, asks, probability()))
        out = list[tuple[np.ndarray | None, tuple[Mapping[str, Any], ...]]]()
        for items, _ in rollouts:
            own = [next(found) for _ in items]
            values = [one.value for one in own]
            known = not any(isinstance(one, NoAnswer) for one in values)
            met_C = np.array(values, float) > MET if known else None
            out.append((met_C, tuple(call for one in own for call in one.asked)))
        return out

    def _cases_of_base(self) -> Sequence[SeedCase]:
        return () if self._seeds is None else self._seeds.cases

    def _question(self, draft: SynthesisDraft) -> Ask:
        text = draft_text(draft)
        near = [] if self._seeds is None else self._seeds.nearest(text, self._cases)
        shown = [{"question": one.question, "criteria": [dict(_row(item)) for item in one.criteria]} for one in near]
        fields = {"examples": "\n".join(map(json.dumps, shown)), "question": text}
        return Ask(self._prompt, fields, role="rubric writer", about=(draft.id, -1, ""), sampling=self._sampling)


RubricWriter = RuleRubrics | AskedRubrics


def reference_rubrics(world: World) -> RuleRubrics:
    """Make rubrics of a world's reference calls: a criterion for each call, and a criterion for the answer.

    Raises:
        InputError: the world has no reference calls.

    Example:
        "12*34=?" with the call calculator(12*34)  ->  "call 0", "answer"
    """
    gold = world.need("reference")
    check = call_check(gold, is_answer=world.is_answer or (lambda turn: not turn.parsed.calls))
    return RuleRubrics(call_criteria(gold, in_order=False), check, f"reference calls of {world.name}")


def seed_rubrics(world: World, writer: RuleRubrics, *, count: int, seed: int) -> list[SeedCase]:
    """Write the rubrics of training tasks by rule, as the seed base of a model.

    Example:
        seed_rubrics(world, reference_rubrics(world), count=48, seed=0) -> 48 cases
    """
    tasks = world.tasks("train", count, seed)
    return [SeedCase(one.messages[-1].content, tuple(writer.criteria(one))) for one in tasks]


def _row(one: Criterion) -> list[tuple[str, Any]]:
    return [("text", one.text), ("points", one.points)]


def _written(value: Mapping[str, Any] | NoAnswer) -> WrittenRubric:
    if isinstance(value, NoAnswer):
        return WrittenRubric((), f"no answer: {value.reason}")
    rows = value["criteria"]
    if not rows or not all(_is_row(one) for one in rows) or len({one["text"].strip() for one in rows}) < len(rows):
        return WrittenRubric((), "criteria of another form")
    made = [Criterion(str(k), one["text"].strip(), float(one["points"])) for k, one in enumerate(rows, 1)]
    return WrittenRubric(tuple(made))


def _is_row(one: Any) -> bool:
    if not isinstance(one, dict) or not isinstance(one.get("text"), str) or not one["text"].strip():
        return False
    points = one.get("points")
    return isinstance(points, int | float) and not isinstance(points, bool) and 0 < abs(points) < float("inf")
