"""Tasks as drafts, and drafts as rows of the world `jsonl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.synthesis.draft import SynthesisDraft, make_draft

__all__ = ["ORIGIN", "draft_task", "draft_text", "message_text", "task_draft", "task_row"]

TAKEN = ("question", "messages", "answer", "tools", "calls", "image", "images", "synthesis")
"""Columns of the world `jsonl` that are no metadata, and the column of the notes."""
CALLS = "gold_calls"
ORIGIN = "origin"
"""Key of a payload with messages and answer of the task that a task is about; no column of the file."""


def task_draft(task: Task, *, parents: Sequence[str] = (), notes: Mapping[str, Any] | None = None) -> SynthesisDraft:
    """Make the draft of a task, without the task's id.

    Raises:
        InputError: a message shows an image or makes calls, or a key of the metadata is a column of the world `jsonl`.
    """
    if any(one.images or one.calls or one.role == "tool" for one in task.messages):
        raise InputError(f"task {task.id!r} has images or earlier calls, which a synthesis does not store")
    metadata = {key: value for key, value in task.metadata.items() if key != CALLS}
    if taken := sorted(set(metadata) & set(TAKEN)):
        raise InputError(f"task {task.id!r} has metadata {', '.join(taken)}, which are columns of the file of tasks")
    payload = {
        "messages": [{"role": one.role, "content": one.content} for one in task.messages],
        "answer": task.answer,
        "tools": None if task.tools is None else list(task.tools),
        "calls": task.metadata.get(CALLS),
        "metadata": metadata,
    }
    return make_draft("task", payload, parents=parents, notes=notes or {})


def draft_task(draft: SynthesisDraft) -> Task:
    """Make the task of a draft of kind "task", under the id of the draft."""
    found = draft.payload
    tools, calls = found.get("tools"), found.get("calls")
    return Task(
        f"draft-{draft.id}",
        tuple(Message(one["role"], one["content"]) for one in found["messages"]),
        found["answer"],
        None if tools is None else tuple(tools),
        {**found.get("metadata", {}), **({} if calls is None else {CALLS: calls})},
    )


def draft_text(draft: SynthesisDraft) -> str:
    """The messages of a draft of kind "task", without system messages, a line each."""
    return message_text(draft.payload["messages"])


def message_text(messages: Sequence[Mapping[str, Any]]) -> str:
    """Texts of messages as JSON, without system messages, a line each."""
    return "\n".join(str(one["content"]) for one in messages if one["role"] != "system")


def task_row(draft: SynthesisDraft) -> dict[str, Any]:
    """Make the row of a draft of kind "task": question or messages, answer, tools, calls, metadata and notes."""
    found = draft.payload
    messages = found["messages"]
    single = len(messages) == 1 and messages[0]["role"] == "user"
    row: dict[str, Any] = {"question": messages[0]["content"]} if single else {"messages": messages}
    row["answer"] = found["answer"]
    row |= {key: found[key] for key in ("tools", "calls") if found.get(key) is not None}
    return {**row, **found.get("metadata", {}), "synthesis": {"draft": draft.id, **draft.notes}}
