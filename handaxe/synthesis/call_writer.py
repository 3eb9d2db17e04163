"""Writer of calls for the computations of a text: a rule, or a language model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.records import Sampling
from handaxe.synthesis.ask_values import ask_values, desk_settings
from handaxe.synthesis.computations import Computation, computations
from handaxe.synthesis.lesson import CALCULATOR, LessonTool

__all__ = ["CallWriter", "WorkedText", "WrittenCalls", "place_calls"]

READ = json_object({"calls": list})
KEYS = ("span", "code", "value")
PART = re.compile(r"[\d.,]\||\|[.,]?\d")
"""Characters before and after a value, with a bar between, inside a longer number."""


class WorkedText(NamedTuple):
    """Text to rewrite: id of the draft, question, and text."""

    id: str
    question: str
    text: str


class WrittenCalls(NamedTuple):
    """Computations of a text, or the reason of a missing answer; and JSON about a question to a model.

    No computation and no reason: nothing in the text is worth a call.
    """

    found: tuple[Computation, ...]
    reason: str = ""
    asked: tuple[Mapping[str, Any], ...] = ()


class CallWriter:
    """Finds the computations of a text, and writes a call for each.

        rule    by pattern, see `synthesis.computations`
        model   names spans of the text, each with code and the value at its end

    A model points at spans and cannot change the text: the words of the solution stay. An answer of another form, and
    a span that is not in the text or does not end in its value, has a reason; nothing of it is repaired, and the rule
    never answers in place of a model.

    Args:
        desk: asks the model; None for the rule.
        tool: of the calls.
        easy: computations with all numbers below this stay text, by the rule.
        about: description of tool and code for the prompt.
        max_tokens: of an answer.

    Raises:
        InputError: while writing, the model's server is away or its budget is spent.

    Example:
        CallWriter().write([WorkedText("a", "12*34=?", "12*34=408")])  ->  [WrittenCalls((("", "12*34", "408", 6),))]

    Paper: arXiv:2504.11536 (ReTool), arXiv:2512.20745 (AgentMath) and arXiv:2509.13761 (THOR): a language model turns
    computable parts of a text solution into code.
    Unconfirmed: the wordings of the prompts of the first two.
    Differs: the model names spans, and does not write the solution again. The prompt has other words than THOR's, whose
        model does not read the question.
    """

    def __init__(
        self,
        desk: AskDesk | None = None,
        *,
        tool: LessonTool = CALCULATOR,
        easy: int = 10,
        about: str = "",
        max_tokens: int = 512,
    ):
        self.desk = desk
        self.tool = tool
        self._easy = easy
        self._about = about or f"{tool.name}({tool.argument}), such as {tool.form.format('12*34')}"
        self._sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
        self._prompt = None if desk is None else find_prompt("write_calls", terse=desk.answerer.terse)

    @property
    def settings(self) -> dict[str, Any]:
        """JSON on which the calls depend."""
        prompt = "" if self._prompt is None else f"{self._prompt.name} {self._prompt.digest[:12]}"
        return {**desk_settings(self.desk, prompt), "tool": list(self.tool), "easy": self._easy, "about": self._about}

    def write(self, texts: Sequence[WorkedText]) -> list[WrittenCalls]:
        """Computations of each text."""
        if self.desk is None:
            return [WrittenCalls(tuple(computations(one.text, easy=self._easy, form=self.tool.form))) for one in texts]
        found = ask_values(self.desk, [self._question(one) for one in texts], READ)
        return [_written(one.text, it.value)._replace(asked=it.asked) for one, it in zip(texts, found, strict=True)]

    def _question(self, one: WorkedText) -> Ask:
        assert self._prompt is not None
        fields = {"tool": self._about, "question": one.question, "text": one.text}
        return Ask(self._prompt, fields, role="refiner", about=(one.id, -1, ""), sampling=self._sampling)


def place_calls(text: str, calls: Sequence[Any]) -> tuple[Computation, ...] | None:
    """Find the spans of a model's calls in a text, in order; None for a missing span, or a value inside a number.

    Args:
        text: worked solution.
        calls: {"span", "code", "value"} each; the span ends in the value.

    Example:
        ("He has 70+12 = 82.", [{"span": "70+12 = 82", "code": "70+12", "value": "82"}])
        ->  (("He has", "70+12", "82", 15),)

    Idea: a quotation that is not in the text is no answer.
    """
    found, end = list[Computation](), 0
    for one in calls:
        if not isinstance(one, dict) or not all(isinstance(one.get(key), str) and one[key].strip() for key in KEYS):
            return None
        span, value = one["span"].strip(), one["value"].strip()
        place = text.find(span, end)
        stop = place + len(span) - len(value)
        if place < 0 or not span.endswith(value) or PART.search(f"{text[:stop][-1:]}|{text[place + len(span) :][:2]}"):
            return None
        found.append(Computation(text[end:place].strip(), one["code"], value, stop))
        end = stop
    return tuple(found)


def _written(text: str, value: Mapping[str, Any] | NoAnswer) -> WrittenCalls:
    if isinstance(value, NoAnswer):
        return WrittenCalls((), f"no answer: {value.reason}")
    found = place_calls(text, value["calls"])
    return WrittenCalls((), "spans that are not in the text") if found is None else WrittenCalls(found)
