"""Corrector of failed calls: a language model reads the error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import json_object
from handaxe.core.records import Sampling
from handaxe.synthesis.ask_values import AskedValue, ask_values, desk_settings, need_answers

__all__ = ["CallCorrector", "FailedCall"]

READ = json_object({"code": str})


class FailedCall(NamedTuple):
    """Failed call: id of the draft or rollout, question, code, and error."""

    id: str
    question: str
    code: str
    error: str


class CallCorrector:
    """Asks a model for the code of a corrected call.

    Args:
        desk: asks the model.
        about: description of the tool for the prompt.
        max_tokens: of an answer.

    Raises:
        InputError: while asking, the server is away or the budget is spent.

    Example:
        code "12*", error "cannot read '12*'", reply {"code": "12*34"}  ->  "12*34"

    Paper: arXiv:2512.20745 (AgentMath), self-correction from error traces; arXiv:2505.16410 (Tool-Star), code debugger.
    Unconfirmed: the wording of the prompt.
    """

    def __init__(self, desk: AskDesk, *, about: str = "", max_tokens: int = 256):
        self.desk = desk
        self._about = about
        self._sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
        self._prompt = find_prompt("correct_call", terse=desk.answerer.terse)

    @property
    def settings(self) -> dict[str, Any]:
        """JSON on which the corrections depend."""
        return desk_settings(self.desk, f"{self._prompt.name} {self._prompt.digest[:12]}")

    def correct(self, failed: Sequence[FailedCall]) -> list[AskedValue[str]]:
        """The code of each corrected call, or NoAnswer."""
        return ask_values(self.desk, [self._question(one) for one in failed], _code)

    def correct_one(self, failed: FailedCall) -> str | NoAnswer:
        """The code of a corrected call, or NoAnswer; the record of the question stays at the desk."""
        return need_answers(self.desk, [self._question(failed)], _code)[0]

    def _question(self, one: FailedCall) -> Ask:
        fields = {"tool": self._about, "question": one.question, "code": one.code, "error": one.error}
        return Ask(self._prompt, fields, role="corrector", about=(one.id, -1, ""), sampling=self._sampling)


def _code(answer: AskAnswer) -> str:
    return str(READ(answer)["code"])
