"""Arithmetic with a calculator: hard questions need a tool call, easy questions do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from handaxe.asking.conversation_question import conversation_question
from handaxe.core.metrics import RatioMetric
from handaxe.core.records import Message, Task, ToolCall, Trajectory, Turn
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.action_score import count_correct_calls
from handaxe.rewards.answer_score import answer_score
from handaxe.rewards.parts import extract
from handaxe.rollouts.advised import ADVISER, Adviser
from handaxe.tools.calculator import calculator
from handaxe.worlds.parts import arithmetic_tasks
from handaxe.worlds.parts.advisers import add_adviser
from handaxe.worlds.parts.answering import is_number_answer
from handaxe.worlds.parts.call_metrics import USED_TOOLS
from handaxe.worlds.parts.experts import arithmetic_call, calls_then_answer
from handaxe.worlds.parts.mistakes import add_mistakes
from handaxe.worlds.parts.reference_calls import reference_calls
from handaxe.worlds.parts.users import ANSWER_KEPT, add_user, doubting_user
from handaxe.worlds.world import DemonstrationNoise, Facts, Split, Start, World

__all__ = ["arithmetic"]

WARMUP_PHRASES = ("{0} is", "{0} makes", "How much is {0}?", "Say {0}.")
"""Wordings of warmup pairs; no task uses one."""
WARMUP = tuple(
    (phrase.format(f"{left}{sign}{right}"), str(act(left, right)))
    for phrase in WARMUP_PHRASES
    for sign, act in arithmetic_tasks.OPERATORS.items()
    for left in range(10)
    for right in range(10)
)
"""Every operation on two one-digit numbers."""
START = Start(
    DemonstrationNoise(call_rate=0.6, spurious_rate=0.9, corrupt_rate=0.1),
    skill=600,
    steps=100,
    warmup=WARMUP,
    warmup_steps=1000,
)
MISTAKES_START = Start(DemonstrationNoise(call_rate=0.6), steps=60)


CALL_PRECISION = RatioMetric(
    lambda one, outcome: count_correct_calls(one, reference_calls(one.task)), lambda one, outcome: len(one.calls)
)
"""The share of calls that equal the reference call."""
CALLS_ON_HARD = RatioMetric(
    lambda one, outcome: len(one.calls) * float(one.task.metadata["difficulty"] == "hard"),
    lambda one, outcome: len(one.calls),
)
"""The share of calls made on hard questions."""
FIRST_CALL_FAILED = RatioMetric(
    lambda one, outcome: float(_first_call_failed(one)), lambda one, outcome: float(_first_call(one) is not None)
)
"""The share of rollouts with a failing first call, among rollouts with a call."""


def arithmetic(
    *,
    easy: float = 0.5,
    mistakes: bool = False,
    last_number: bool = False,
    doubts: float = 0.0,
    adviser: bool = False,
) -> World:
    """Arithmetic with a calculator. Easy questions have operands of 1 digit; operands of hard questions have 2 or 3
    digits.

    The start policy answers most easy questions correctly without a call, but calls the calculator for most of them.
    With `mistakes` it begins half of its calls with a failing one and retries: outcome rewards do not penalize such
    calls while turns remain.

    Args:
        easy: share of easy questions, 0 to 1.
        mistakes: in half of the tasks the expert's first call lacks the second operand, fails, and is corrected in the
            next turn. The start policy then memorizes no sums.
        last_number: score the last number of an answer instead of its whole text, for models that answer in sentences.
        doubts: probability that a user doubts the first answer, 0 to 1, and 0 for no user; the last answer is scored.
            A model speaks with --aux-policies user=SOURCE.
        adviser: a user message after every failed call says how to call the calculator, by a rule, or by a model with
            --aux-policies adviser=SOURCE.

    Returns:
        A world broken down by "difficulty" if both difficulties occur. Gauges: call_precision, calls_on_hard and
        used_tools; with `mistakes` only first_call_failed, the share of rollouts with a failing first call among
        rollouts with a call. With a user answer_kept, the share of unchanged answers among rollouts with a doubt.

    Raises:
        InputError: `doubts` out of range; `easy` out of range, when tasks are made.
    """

    def tasks(split: Split, count: int, seed: int) -> list[Task]:
        return arithmetic_tasks.tasks(count=count, seed=seed, split=split, easy=easy)

    expert = calls_then_answer(_calls)
    made = World(
        name="arithmetic",
        tasks=tasks,
        env=tool_chat,
        correct=answer_score(
            scorer=lambda task, text: float(text.strip() == task.answer),
            extract=extract.last_number if last_number else extract.final_text,
        ),
        tools=(calculator,),
        breakdown=("difficulty",) if 0 < easy < 1 else (),
        is_answer=is_number_answer,
        reference=reference_calls,
        expert=add_mistakes(expert, wrong=_missing_operand) if mistakes else expert,
        start=MISTAKES_START if mistakes else START,
        solution=lambda task: f"{task.metadata['expression']}={task.answer}",
        gauges={"first_call_failed": FIRST_CALL_FAILED}
        if mistakes
        else {"call_precision": CALL_PRECISION, "calls_on_hard": CALLS_ON_HARD, "used_tools": USED_TOOLS},
    )
    if doubts:
        gauges = {**made.gauges, "answer_kept": ANSWER_KEPT}
        made = replace(add_user(made, doubting_user(doubts)), gauges=gauges)
    return add_adviser(made, CALL_ADVISER) if adviser else made


def _call_advice(task: Task, said: Sequence[Message], seed: int) -> str:
    """Advice on a failed call."""
    del task, said, seed
    return "Call the calculator with one expression, such as 12*34."


CALL_ADVISER = Adviser(_call_advice, conversation_question(ADVISER, "advise"))


def _calls(task: Task, facts: Facts) -> Sequence[ToolCall]:
    if task.metadata["difficulty"] == "easy" and facts.get("sure", True):
        return ()
    return arithmetic_call(task.metadata["expression"], facts["tools"])


def _missing_operand(task: Task, call: ToolCall, rng: random.Random) -> ToolCall | None:
    """The calculator's call without the second operand, in half of the tasks."""
    del rng
    if call.name != calculator.schema.name or derive_seed("slip", task.id) % 2 == 0:
        return None
    return ToolCall(call.name, {"expression": task.metadata["expression"].rstrip("0123456789")})


def _first_call(trajectory: Trajectory) -> Turn | None:
    """The first turn with a well-formed or malformed call."""
    return next((turn for turn in trajectory.turns if turn.parsed.calls or turn.parsed.errors), None)


def _first_call_failed(trajectory: Trajectory) -> bool:
    turn = _first_call(trajectory)
    return turn is not None and bool(turn.parsed.errors or any(reply.status != "ok" for reply in turn.replies))
