"""Model and program tools of the world `routing`, with bills."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from handaxe import engines
from handaxe.core.deferred import DeferredModule
from handaxe.core.errors import Retry
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling, Task
from handaxe.tools.ask import PolicyAnswer, sample_answer
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.definition import Billed, ToolContext
from handaxe.tools.python import python
from handaxe.tools.truncate import truncate
from handaxe.worlds.parts import arithmetic_tasks as arithmetic

if TYPE_CHECKING:
    from handaxe.worlds.routing import small
else:
    small = DeferredModule("handaxe.worlds.routing.small")

__all__ = ["CALCULATOR", "Desk", "EXPERTS", "PYTHON", "SECONDS", "SMALL", "small_model"]

SMALL = "small"
CALCULATOR = "calculator"
PYTHON = "python"
EXPERTS = (SMALL, CALCULATOR, PYTHON)
SECONDS = {SMALL: 0.05, CALCULATOR: 0.1, PYTHON: 0.4}
"""Declared time per token of a tool's reply."""
MAX_REPLY = 2_000
"""Character limit of a tool's reply, also of its cost."""
FACTS = tuple(
    (f"{left}{sign}{right}", str(act(left, right)))
    for sign, act in arithmetic.OPERATORS.items()
    for left in range(10)
    for right in range(10)
)


class Desk:
    """Three tools at the prices of one task; `report` holds every bill.

    A token is a byte of the reply, plus one for the end; the cost of a call is its tokens times the tool's price. A
    truncated reply costs its remaining length. An error message is billed like an answer, since its text can contain
    the answer; its status is "ok".
    """

    def __init__(self, task: Task, small: Callable[[str], PolicyAnswer]):
        self.prices: Mapping[str, int] = task.metadata["prices"]
        self.bills: list[dict[str, Any]] = []
        self._small, self._python = small, python()

    @tool(name=SMALL, timeout=None, max_chars=MAX_REPLY)
    def ask_small(self, question: Annotated[str, "for example 7*8"]) -> Billed:
        """Ask a small model that knows some sums by heart."""
        answer = self._small(question.strip())
        return self._bill(SMALL, answer.text, answer.written)

    @tool(name=CALCULATOR, timeout=None, max_chars=MAX_REPLY)
    def ask_calculator(self, expression: Annotated[str, "for example 12*34"]) -> Billed:
        """Ask a calculator."""
        return self._bill(CALCULATOR, _reply(lambda: calculator(expression)))

    @tool(name=PYTHON, timeout=None, max_chars=MAX_REPLY)
    def ask_python(self, code: Annotated[str, "a program"], context: ToolContext) -> Billed:
        """Have a Python program run."""
        return self._bill(PYTHON, _reply(lambda: self._python(code=code, context=context)))

    def _bill(self, expert: str, text: str, tokens: int | None = None) -> Billed:
        text = truncate(text, limit=MAX_REPLY).encode(errors="replace").decode()
        spent = len(text.encode()) + 1 if tokens is None else tokens
        self.bills.append({"expert": expert, "tokens": spent})
        return Billed(text, self.prices[expert] * spent, SECONDS[expert] * spent)

    def report(self) -> dict[str, Any]:
        """Tool and tokens of every bill, in order, and the prices."""
        return {"bills": list(self.bills), "prices": dict(self.prices)}

    def snapshot(self) -> Any:
        """The bills so far, and the state of the Python session."""
        return tuple(self.bills), self._python.owner.snapshot()

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        self.bills = list(state[0])
        self._python.owner.restore(state[1])

    def close(self) -> None:
        """End the Python session."""
        self._python.owner.close()


def _reply(ask: Callable[[], str]) -> str:
    """The reply of a tool, or its error message."""
    try:
        return ask()
    except Retry as refused:
        return str(refused)


@functools.cache
def small_model() -> Callable[[str], PolicyAnswer]:
    """Load the small model as a function: question -> its most likely answer, a function of the question alone.

    The model is trained on all operations of two one-digit numbers, in some seconds, unless it is cached.
    """
    policy = small.small_expert(FACTS)
    speaker = AuxPolicy(engines.LocalEngine(policy.model), policy.format, Sampling(temperature=0.0, max_tokens=8))
    lock = threading.Lock()

    @functools.lru_cache(maxsize=4096)
    def reply(question: str) -> PolicyAnswer:
        with lock:
            return sample_answer(speaker, question, seed=0)

    return reply
