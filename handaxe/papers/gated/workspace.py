"""File editing with submission: the world for busy rollouts without an end."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from handaxe.core.errors import InputError, Retry
from handaxe.core.metrics import RatioMetric
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Message, Task, ToolCall, Trajectory
from handaxe.envs.inherit_bound import inherit_bound
from handaxe.envs.tool_chat import tool_chat
from handaxe.ops.seeds import derive_seed
from handaxe.rewards.outcome import outcome
from handaxe.tools.decorator import tool
from handaxe.tools.files import files
from handaxe.worlds.parts.check_split import check_count
from handaxe.worlds.parts.content_split import content_split
from handaxe.worlds.world import Facts, Split, Start, World

__all__ = ["Workspace", "final_state", "workspace"]

NAMES = "abcde"
KEYS = "fghijklmnopqrstuvwxyz"
LAST = 8
"""Latest turn, from 0, of the expert's submission: the ninth."""
START = Start(skill=400, steps=0)


def workspace(*, count: int = 3, lines: int = 1) -> World:
    """Set a key in the correct file, and submit.

    Reading is always well-formed and possible; only `submit` ends the work. The expert is correct on every task, but in
    three of four tasks it reads files repeatedly before it submits, until its ninth turn, and so does the start policy.

    Args:
        count: number of files, 2 to 5.
        lines: keys per file, 1 to 4.

    Returns:
        A world for 8 turns. A rollout is correct if it submits the requested files. Gauges: submitted (share of
        rollouts), changed (share with a changed file). `outcome_state` distinguishes four outcomes.

    Raises:
        InputError: an argument out of range.

    Example:
        "set k=5 in a b c": read "a" returns "m=3", read "b" returns "k=2", replace "b k=2 k=5", submit

    Paper: arXiv:2508.10548 (G-RA), tasks with the outcomes no submission, no change, a change and a correct change.
    Differs: files of keys replace repositories with tests.
    """
    if not 2 <= count <= len(NAMES) or not 1 <= lines <= 4:
        raise InputError(f"files are 2 to {len(NAMES)} and lines 1 to 4, not {count} and {lines}")

    def tasks(split: Split, many: int, seed: int) -> list[Task]:
        check_count(split, many)
        return [_task(split, seed, number, count, lines) for number in range(many)]

    return World(
        name="workspace",
        tasks=tasks,
        env=_env,
        correct=outcome(lambda one: float(final_state(one) == "resolved")),
        hidden_keys=("files",),
        expert=_expert,
        start=START,
        gauges={
            "submitted": RatioMetric(lambda one, right: float(final_state(one) != "open")),
            "changed": RatioMetric(lambda one, right: float(_report(one).get("changed", False))),
        },
    )


def final_state(one: Trajectory) -> str:
    """Classify a rollout: "open" (not submitted), "empty" (submitted unchanged), "changed" (submitted with incorrect
    changes) or "resolved".
    """
    found = _report(one)
    if not found.get("submitted", False):
        return "open"
    if found["resolved"]:
        return "resolved"
    return "changed" if found["changed"] else "empty"


def _report(one: Trajectory) -> Mapping[str, Any]:
    return one.env.get("state", {}).get("Workspace", {})


def _task(split: Split, seed: int, number: int, count: int, lines: int) -> Task:
    rng = random.Random(derive_seed("workspace", seed, split, number))
    while True:
        keys = rng.sample(KEYS, count * lines)
        values = {key: rng.randrange(1, 10) for key in keys}
        key = rng.choice(keys)
        value = rng.choice([one for one in range(1, 10) if one != values[key]])
        if content_split("workspace split", key, values[key], value) == split:
            break
    texts = {
        name: "\n".join(f"{one}={values[one]}" for one in keys[place * lines : (place + 1) * lines])
        for place, name in enumerate(NAMES[:count])
    }
    at = next(name for name, text in texts.items() if f"{key}=" in text)
    edit = {"file": at, "old": f"{key}={values[key]}", "new": f"{key}={value}"}
    words = f"set {key}={value} in {' '.join(texts)}"
    return Task(
        f"workspace-{count}-{lines}-{split}-{seed}-{number}",
        (Message("user", words),),
        "done",
        None,
        {"files": texts, "edit": edit},
    )


class Workspace:
    """Files of a rollout."""

    def __init__(self, task: Task):
        self._start: Mapping[str, str] = task.metadata["files"]
        edit = task.metadata["edit"]
        wanted = self._start[edit["file"]].replace(edit["old"], edit["new"])
        self._wanted = {**self._start, edit["file"]: wanted}
        self._folder = files(self._start)()
        self.submitted = False

    @tool(timeout=None)
    def read(self, file: Annotated[str, "its name"]) -> str:
        """Read a file."""
        if file.strip() not in self._start:
            raise Retry(f"there is no file {file[:40]!r}; there are {' '.join(self._start)}")
        return self._folder.read_file(file.strip())

    @tool(timeout=None)
    def replace(self, edit: Annotated[str, "file, old text and new text, such as: a k=1 k=2"]) -> str:
        """Replace a piece of text in a file."""
        parts = edit.split()
        if len(parts) != 3:
            raise Retry("say three things, with a space between: file, old text, new text")
        self._folder.replace_text(*parts)
        return "ok"

    @tool(timeout=None)
    def submit(self) -> str:
        """Hand the files in. Nothing can be changed after that."""
        self.submitted = True
        return "ok"

    def report(self) -> dict[str, Any]:
        """Submission, difference from the first files, and correctness."""
        now = self._folder.contents()
        return {"submitted": self.submitted, "changed": now != self._start, "resolved": now == self._wanted}

    def snapshot(self) -> Any:
        """Files, and submission."""
        return self._folder.snapshot(), self.submitted

    def restore(self, state: Any) -> None:
        """Restore a snapshot."""
        self._folder.restore(state[0])
        self.submitted = state[1]


def _env(tools: Sequence[Any]) -> EnvFactory:
    example = _task("train", 0, 0, 2, 1)
    # Raises early for bad tools, and bounds the number of open environments.
    probe = tool_chat([lambda: Workspace(example), *tools], final=("submit",))
    return inherit_bound(
        lambda task: tool_chat([lambda: Workspace(task), *tools], final=("submit",))(task),
        probe,
    )


def _expert(task: Task, facts: Facts) -> Message:
    edit, turn = task.metadata["edit"], facts["turn"]
    at = list(task.metadata["files"]).index(edit["file"])
    if turn <= at:
        return _calls("read", {"file": list(task.metadata["files"])[turn]})
    if turn == at + 1:
        return _calls("replace", {"edit": f"{edit['file']} {edit['old']} {edit['new']}"})
    if turn < LAST and derive_seed("workspace expert", task.id) % 4:
        rng = random.Random(derive_seed("workspace expert", task.id, turn))
        return _calls("read", {"file": rng.choice(list(task.metadata["files"]))})
    return _calls("submit", {})


def _calls(name: str, arguments: Mapping[str, str]) -> Message:
    return Message("assistant", "", (ToolCall(name, arguments),))
