"""Lessons: the turns of a policy on a task, as JSON, played in an environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.errors import InfrastructureError
from handaxe.core.protocols import ChatFormat, EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.ops.seeds import derive_seed
from handaxe.rollouts.linear import linear
from handaxe.synthesis.computations import Computation, values_agree
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.world import Expert, Facts

__all__ = ["CALCULATOR", "LessonTool", "LessonTurn", "lesson_draft", "lesson_turns", "lesson_turns_of", "play_lesson"]

LESSON = "lesson"
CUT = "does not fit into the context"


class LessonTool(NamedTuple):
    """Tool of a lesson's calls: name, argument for the code, and code of an expression."""

    name: str = "calculator"
    argument: str = "expression"
    form: str = "{}"

    def call(self, code: str, id: str = "") -> ToolCall:
        """The call of a code."""
        return ToolCall(self.name, {self.argument: code}, id)


CALCULATOR = LessonTool()


class LessonTurn(NamedTuple):
    """Turn of a lesson: a text and a call.

    text    before the call
    code    argument of the call
    value   result that the text states; "" for any
    fails   the call has to fail
    """

    text: str
    code: str
    value: str = ""
    fails: bool = False


class _LeftOut(Exception):
    """Unusable lesson, with the reason."""


def lesson_turns(found: Sequence[Computation]) -> list[LessonTurn]:
    """Make a turn of each computation."""
    return [LessonTurn(one.before, one.code, one.value) for one in found]


def lesson_draft(draft: SynthesisDraft, turns: Sequence[LessonTurn]) -> SynthesisDraft:
    """Make a child of a task's draft with the turns as metadata "lesson"; notes stay."""
    task = draft_task(draft)
    metadata = {**task.metadata, LESSON: [list(one) for one in turns]}
    made = Task("", task.messages, task.answer, task.tools, metadata)
    return task_draft(made, parents=(draft.id,), notes=draft.notes)


def lesson_turns_of(task: Task) -> list[LessonTurn]:
    """Read the turns of a task; [] without a lesson."""
    return [LessonTurn(*one) for one in task.metadata.get(LESSON, ())]


def play_lesson(
    env: EnvFactory, task: Task, tool: LessonTool, *, format: ChatFormat, context: int = 1 << 20, seed: int = 0
) -> Trajectory | str:
    """Play the turns of a task, and the answer as last turn; tools reply.

    Args:
        env: of the task; every environment that is made is closed.
        task: of `lesson_draft`.
        tool: of the calls.
        format: of the conversation.
        context: most tokens.
        seed: of the tools.

    Returns:
        The trajectory, or why the lesson is unusable: a call fails, a call that has to fail runs, a reply contradicts
        the text (a reply may have more decimals), or the context is too short.

    Raises:
        InfrastructureError: the tool died.

    Example:
        turn ("He has", "70+12", "82") and answer "82": policy "He has" with a call of 70+12, tool 82, policy 82

    Paper: arXiv:2512.20745 (AgentMath), code of a solution is executed, and contradicted solutions are dropped.
    Unconfirmed: how a reply is compared with the text.
    Differs: the last turn is the task's answer alone.
    """
    turns = lesson_turns_of(task)
    try:
        one = demonstrate(
            env,
            task,
            _speaker(turns, tool),
            format=format,
            id=f"{task.id}/lesson",
            seed=derive_seed("lesson", task.id, seed),
            context=context,
            rollout=linear(max_turns=len(turns) + 1),
        )
    except _LeftOut as error:
        return str(error)
    if one.ending.kind == "infra_error":
        raise InfrastructureError(f"the tool {tool.name} died in a lesson of task {task.id}: {one.ending.reason}")
    return one if one.ending.kind == "completed" else CUT


def _speaker(turns: Sequence[LessonTurn], tool: LessonTool) -> Expert:
    def speak(task: Task, facts: Facts) -> Message:
        k = facts["turn"]
        if k:
            _compare(turns[k - 1], facts["replies"][-1], facts["statuses"][-1])
        if k == len(turns):
            return Message("assistant", str(task.answer))
        return Message("assistant", turns[k].text, (tool.call(turns[k].code),))

    return speak


def _compare(turn: LessonTurn, reply: str, status: str) -> None:
    """Raise if the reply contradicts the turn."""
    if turn.fails:
        if status == "ok":
            raise _LeftOut("a call that has to fail runs")
        return
    if status != "ok":
        raise _LeftOut("a call failed")
    agree = values_agree(turn.value, reply) if turn.value else True
    if agree is None:
        raise _LeftOut("a reply is no number")
    if not agree:
        raise _LeftOut("a reply contradicts the text")
