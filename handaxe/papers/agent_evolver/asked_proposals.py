"""Tasks that a language model proposes from explorations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from handaxe.asking.ask import Ask, AskAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import Unreadable, json_object
from handaxe.core.records import Message, Sampling, Task, Trajectory
from handaxe.judges.question_fields import FIELDS
from handaxe.papers.agent_evolver.text_role import TextRole

__all__ = ["TaskDraft", "asked_proposals", "read_task_draft"]

READ = json_object({"question": str, "answer": str, "calls": list})
LONGEST, MOST_CALLS = 500, 8
"""Characters of a question, and calls of a reference solution."""
SAMPLING = Sampling(temperature=0.7, max_tokens=256)


class TaskDraft(NamedTuple):
    """Proposed task: question, answer, and reference calls of name and arguments."""

    question: str
    answer: str
    calls: list[dict[str, Any]]


def read_task_draft(answer: AskAnswer) -> TaskDraft:
    """Read a task from a text: its last JSON object with question, answer and calls. Nothing is repaired.

    Example:
        '{"question": "4071 boss?", "answer": "5526", "calls": [{"name": "search", "arguments": {"query": "4071"}}]}'
        -> that task; without a call, with an empty question or with 9 calls -> unreadable

    Paper: arXiv:2511.10395 (AgentEvolver), a task with its reference solution.
    Unconfirmed: the form of the answer.
    """
    found = READ(answer)
    question, result = found["question"].strip(), found["answer"].strip()
    calls = found["calls"]
    if not question or len(question) > LONGEST or not result or not 0 < len(calls) <= MOST_CALLS:
        raise Unreadable(
            f"the answer has no question of {LONGEST} characters, no answer, or not 1 to {MOST_CALLS} calls"
        )
    if not all(_is_call(one) for one in calls):
        raise Unreadable("a call is no object with name and arguments")
    return TaskDraft(question, result, [{"name": one["name"], "arguments": one["arguments"]} for one in calls])


def asked_proposals(
    role: TextRole, explorations: Sequence[Trajectory], *, examples: Sequence[Task]
) -> dict[str, list[Task]]:
    """Ask a model for one task of each exploration.

    The model reads the tools, examples of the form, and the exploration's opening, calls and results as quoted data.

    Args:
        role: a bound role with a model.
        explorations: rollouts without a task.
        examples: training tasks with reference calls in metadata["gold_calls"].

    Returns:
        Id of each exploration -> its tasks: one, or none for an answer that cannot be read. Replay decides afterwards
        which tasks stay.

    Raises:
        InputError: the model is away.

    Example:
        an exploration that saw "4071 boss 5526" -> the task "4071 boss?" with the answer 5526

    Paper: arXiv:2511.10395 (AgentEvolver), self-questioning: a model proposes tasks with reference solutions.
    Unconfirmed: the wording of the prompt, and one task an exploration.
    Differs: no model judges the proposals; replay does.
    """
    prompt = find_prompt("agent_evolver/propose", terse=role.terse)
    shown = "\n".join(map(_example, examples))
    asks = []
    for one in explorations:
        fields = {"tools": _tools(one), "examples": shown, "seen": _seen(one)}
        asks.append(Ask(prompt, fields, role=role.name, about=(one.id, -1, ""), sampling=SAMPLING))
    drafts = role.ask(asks, read_task_draft)
    return {
        one.id: [] if draft is None else [_task(f"proposed-{one.id}", draft)]
        for one, draft in zip(explorations, drafts, strict=True)
    }


def _task(id: str, draft: TaskDraft) -> Task:
    return Task(id, (Message("user", draft.question),), draft.answer, None, {"gold_calls": draft.calls})


def _seen(exploration: Trajectory) -> str:
    last = len(exploration.turns) - 1
    opening = FIELDS["task"](exploration, last, None)
    return f"user: {opening}\n{FIELDS['conversation'](exploration, last, None)}" if last >= 0 else f"user: {opening}"


def _tools(exploration: Trajectory) -> str:
    shown = [
        {"name": one.name, "description": one.description, "parameters": one.parameters.get("properties", {})}
        for one in exploration.tools
    ]
    return "\n".join(map(json.dumps, shown))


def _example(task: Task) -> str:
    calls = task.metadata.get("gold_calls", [])
    return json.dumps({"question": task.messages[-1].content, "answer": str(task.answer), "calls": calls})


def _is_call(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("arguments"), dict)
