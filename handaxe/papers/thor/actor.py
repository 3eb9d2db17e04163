"""Actor of TIRGen: writes the next step of a solution, by a worked solution or by a language model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable
from handaxe.core.records import Sampling, Task
from handaxe.synthesis.ask_values import ask_values, desk_settings

__all__ = ["ANSWER", "Actor", "AskedActor", "NextStep", "OpenSolution", "WorkedActor", "read_step"]

ANSWER = "Answer:"
STEP = re.compile(r"(?<=[.!?])\s+|\n+")
MOST_CHARACTERS = 600
"""L_step: a longer step is unreadable."""


class OpenSolution(NamedTuple):
    """Solution in progress: id of the draft, task, question, and steps so far with results of calls."""

    id: str
    task: Task
    question: str
    steps: tuple[str, ...]


class NextStep(NamedTuple):
    """A step, or the reason why there is none; and JSON about a question to a model."""

    text: str
    reason: str = ""
    asked: tuple[Mapping[str, Any], ...] = ()

    @property
    def answer(self) -> str | None:
        """The answer that a final step states; None for another step."""
        head, found, answer = self.text.partition(ANSWER)
        return answer.strip() if found and not head.strip() else None


class Actor(Protocol):
    """Writes the next step of each solution."""

    @property
    def settings(self) -> Mapping[str, Any]: ...

    def act(self, open_: Sequence[OpenSolution]) -> list[NextStep]: ...


class WorkedActor:
    """Reads the steps off the worked solution of the world: a sentence or line each, then the task's answer.

    Args:
        solution: task -> worked solution.

    Example:
        "He has 70+12=82. So 82+30=112."  ->  "He has 70+12=82.", "So 82+30=112.", "Answer: 112"

    Paper: arXiv:2509.13761 (THOR), reasoning steps of the actor.
    Differs: a worked solution stands for a language model.
    """

    def __init__(self, solution: Callable[[Task], str]):
        self._solution = solution

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"actor": "rule"}

    def act(self, open_: Sequence[OpenSolution]) -> list[NextStep]:
        return [self._next(one) for one in open_]

    def _next(self, one: OpenSolution) -> NextStep:
        steps = [text for text in STEP.split(self._solution(one.task)) if text.strip()]
        number = len(one.steps)
        return NextStep(steps[number] if number < len(steps) else f"{ANSWER} {one.task.answer}")


class AskedActor:
    """Asks a language model for each step. The model reads question, steps and results, and no worked solution.

    Args:
        desk: asks the model.
        max_tokens: of a step.

    Example:
        reply "So 57*83=4731."  ->  a step;  reply "Answer: 4731"  ->  the last one

    Paper: arXiv:2509.13761 (THOR), the actor of TIRGen.
    Differs: the wording of the prompt, and 128 tokens a step; L_step is 512 tokens in the paper, 4,096 for reasoning
        models.
    """

    def __init__(self, desk: AskDesk, *, max_tokens: int = 128):
        self.desk = desk
        self._sampling = Sampling(temperature=0.0, max_tokens=max_tokens)
        self._prompt = find_prompt("thor/act", terse=desk.answerer.terse)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"actor": desk_settings(self.desk, f"{self._prompt.name} {self._prompt.digest[:12]}")}

    def act(self, open_: Sequence[OpenSolution]) -> list[NextStep]:
        asks = [
            Ask(
                self._prompt,
                {"question": one.question, "steps": " ".join(one.steps)},
                role="actor",
                about=(one.id, len(one.steps), ""),
                sampling=self._sampling,
            )
            for one in open_
        ]
        return [
            NextStep("", f"no step: {it.value.reason}", it.asked)
            if isinstance(it.value, NoAnswer)
            else NextStep(it.value, asked=it.asked)
            for it in ask_values(self.desk, asks, read_step)
        ]


def read_step(answer: AskAnswer) -> str:
    """Read a step: the text up to the first blank line. An answer after further text is the next step's.

    Example:
        "So 57*83=4731.\\n\\nNext ..." -> "So 57*83=4731.";  "" and a step above 600 characters are unreadable
    """
    text = answer.text.strip().split("\n\n")[0].strip()
    head, found, _ = text.partition(ANSWER)
    text = head.strip() if found and head.strip() else text
    if not text or len(text) > MOST_CHARACTERS:
        raise Unreadable(f"a step has 1 to {MOST_CHARACTERS} characters, not {len(text)}")
    return text
