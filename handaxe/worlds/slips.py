"""Sums and products whose first call is refused half of the time: the world in which slips and retries can be seen."""

from __future__ import annotations

from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts import extract
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts import arithmetic_tasks as arithmetic
from handaxe.worlds.parts.experts import arithmetic_call
from handaxe.worlds.sums import states_number
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["slips"]

START = Start(DemonstrationNoise(needed=0.6), steps=60)
FAILED = RatioMetric(
    lambda one, outcome: float(_first_failed(one)), lambda one, outcome: float(_calling_turn(one) is not None)
)


def slips() -> World:
    """Arithmetic of two or three digits with a calculator, asked in a way that it refuses half of the time at first.

    The expert slips in every other task: it leaves the second number out, is refused, and asks again rightly. Its
    answers are right in the end, so a policy that learns from it slips as often, and a reward of answers says nothing
    against it as long as there are turns left.

    Returns:
        A world whose gauge "first_call_failed" is the share of attempts whose first call fails, of those that call.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return arithmetic.tasks(count=count, seed=seed, split=split, easy=0.0)

    return World(
        name="slips",
        tasks=tasks,
        env=tool_chat,
        correct=answer_score(scorer=lambda task, text: float(text.strip() == task.answer), extract=extract.final_text),
        tools=(calculator,),
        answered=states_number,
        expert=_expert,
        solution=lambda task: f"{task.metadata['expression']}={task.answer}",
        start=START,
        gauges={"first_call_failed": FAILED},
    )


def _expert(task: Task, facts: Facts) -> Message:
    if "ok" in facts["statuses"]:
        return Message("assistant", str(task.answer))
    expression = task.metadata["expression"]
    if facts["turn"] == 0 and derive_seed("slip", task.id) % 2:
        expression = expression.rstrip("0123456789")
        return Message("assistant", "", (ToolCall(calculator.schema.name, {"expression": expression}),))
    return Message("assistant", "", arithmetic_call(expression, facts["tools"]))


def _calling_turn(attempt: Trajectory) -> Turn | None:
    """The first turn in which an attempt calls, be the call malformed; None where it never does."""
    return next((turn for turn in attempt.turns if turn.parsed.calls or turn.parsed.errors), None)


def _first_failed(attempt: Trajectory) -> bool:
    """Whether the first turn that calls holds a malformed call, or one that went wrong."""
    turn = _calling_turn(attempt)
    return turn is not None and bool(turn.parsed.errors or any(reply.status != "ok" for reply in turn.replies))
