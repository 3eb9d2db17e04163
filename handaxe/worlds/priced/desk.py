"""The experts that an attempt in the world `priced` may ask: what they can do is real, and what they say is billed."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from handaxe.core.errors import Retry
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling, Task
from handaxe.engines.local.engine import LocalEngine
from handaxe.tools.ask import PolicyAnswer, answer_of
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.python import python
from handaxe.tools.schema import Billed, ToolContext
from handaxe.tools.truncate import truncate
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.priced.small import small_expert

__all__ = ["CALCULATOR", "Desk", "EXPERTS", "PYTHON", "SECONDS", "SMALL", "reckoner"]

SMALL = "small"
CALCULATOR = "calculator"
PYTHON = "python"
EXPERTS = (SMALL, CALCULATOR, PYTHON)
SECONDS = {SMALL: 0.05, CALCULATOR: 0.1, PYTHON: 0.4}
"""Declared time of each token that an expert says."""
MOST = 2_000
"""Characters of an expert's words that are read, and paid for."""
LESSONS = tuple(
    (f"{left}{sign}{right}", str(act(left, right)))
    for sign, act in arithmetic.OPERATORS.items()
    for left in range(10)
    for right in range(10)
)


class Desk:
    """Three experts at the prices of one task; `report` holds every bill.

    A token is a byte of what an expert says, and one more for the end; the cost of a call is its tokens times the
    expert's price. What is read is what is paid for: words that are cut cost no more than what is left of them, and
    why an expert could not help is paid for like an answer, since it may say what was asked for. Its status is "ok".
    """

    def __init__(self, task: Task, small: Callable[[str], PolicyAnswer]):
        self.prices: Mapping[str, int] = task.metadata["prices"]
        self.bills: list[dict[str, Any]] = []
        self._small, self._python = small, python()

    @tool(name=SMALL, timeout=None, max_chars=MOST)
    def ask_small(self, question: Annotated[str, "for example 7*8"]) -> Billed:
        """Ask a small model that knows some sums by heart."""
        said = self._small(question.strip())
        return self._bill(SMALL, said.text, said.written)

    @tool(name=CALCULATOR, timeout=None, max_chars=MOST)
    def ask_calculator(self, expression: Annotated[str, "for example 12*34"]) -> Billed:
        """Ask a calculator."""
        return self._bill(CALCULATOR, _said(lambda: calculator(expression)))

    @tool(name=PYTHON, timeout=None, max_chars=MOST)
    def ask_python(self, code: Annotated[str, "a program"], context: ToolContext) -> Billed:
        """Have a Python program run."""
        return self._bill(PYTHON, _said(lambda: self._python(code=code, context=context)))

    def _bill(self, expert: str, text: str, tokens: int | None = None) -> Billed:
        text = truncate(text, limit=MOST).encode(errors="replace").decode()
        spent = len(text.encode()) + 1 if tokens is None else tokens
        self.bills.append({"expert": expert, "tokens": spent})
        return Billed(text, self.prices[expert] * spent, SECONDS[expert] * spent)

    def report(self) -> dict[str, Any]:
        """Who was paid for how many tokens, in order, and the prices."""
        return {"bills": list(self.bills), "prices": dict(self.prices)}

    def snapshot(self) -> Any:
        """The bills so far, and the state of the Python session."""
        return tuple(self.bills), self._python.owner.snapshot()

    def restore(self, state: Any) -> None:
        """Go back to a snapshot."""
        self.bills = list(state[0])
        self._python.owner.restore(state[1])

    def close(self) -> None:
        """End the Python session."""
        self._python.owner.close()


def _said(ask: Callable[[], str]) -> str:
    """An expert's words, whether it could help or not."""
    try:
        return ask()
    except Retry as refused:
        return str(refused)


@functools.cache
def reckoner() -> Callable[[str], PolicyAnswer]:
    """What the small expert says to a question: the most likely answer, so that it depends on nothing else.

    It is taught all that two one-digit numbers make, in some seconds, where that is not in the cache yet.
    """
    policy = small_expert(LESSONS)
    speaker = AuxPolicy(LocalEngine(policy.model), policy.format, Sampling(temperature=0.0, max_tokens=8))
    lock = threading.Lock()

    @functools.lru_cache(maxsize=4096)
    def asked(question: str) -> PolicyAnswer:
        with lock:
            return answer_of(speaker, question, seed=0)

    return asked
