"""Store short tips from finished rollouts and attach them to similar tasks."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, RatedGroup, Task, ToolCall, Trajectory
from handaxe.curricula.advice import ADVICE, failure_tags
from handaxe.curricula.task_pool import TaskPool
from handaxe.ops.ragged import group_rewards
from handaxe.ops.tool_calls import format_call

__all__ = ["Tip", "TipPool", "TippedTasks", "call_tip", "shared_words", "task_tips", "tell_calls", "tip_pool"]

TIPS = "tips"
"""Key of `Task.metadata` for the tips of a task."""
Tell = Callable[[Trajectory, bool], str]
"""(trajectory, correct) -> tip; "" for no tip."""
Similar = Callable[[str, str], float]
"""(prompt of one task, prompt of another) -> similarity; 0 is none."""


class Tip(NamedTuple):
    """Tip of a group: prompt of its task, and advice for similar tasks."""

    asked: str
    text: str


def tip_pool(
    *,
    top: int = 1,
    most: int = 256,
    above: float = 0.5,
    longest: int = 200,
    tell: Tell | None = None,
    similar: Similar | None = None,
) -> "TipPool":
    """Store a tip per played group, and attach to each task the tips of the most similar prompts.

        after a step   per group, the first trajectory of the highest reward R yields tell(trajectory, R > above)
        before a step  a task gets its `top` tips of highest similarity > 0; among equal ones the newest first

    A task's tips are in its metadata: all siblings share one state of the pool, and the run record holds the tips.
    `rollouts.hinted(criteria=task_tips)` shows the tips to some of the siblings. Tasks from outside this curriculum,
    such as evaluation tasks, have no tips. R_i is the outcome plus the per-turn rewards.

    Args:
        top: tips per task, >= 1.
        most: capacity in tips, >= 1; the oldest tip leaves first. A tip with equal text and prompt replaces the older
            one.
        above: a trajectory is correct at a reward strictly above this.
        longest: maximum length of a tip in characters, >= 1; the rest is cut off.
        tell: makes a tip of a trajectory; default `tell_calls`. The paper uses a model's summary.
        similar: similarity of two prompts; default `shared_words`. The paper uses embeddings.

    Returns:
        A pool. `curriculum(tasks, seed)` iterates over tasks as `task_pool` does, attaches tips, learns from results
        and saves the pool's state.

    Raises:
        InputError: a number out of range.

    Example:
        "4071 boss ally?" was answered after search(query='4071 boss') and search(query='5526 ally'); then
        "4071 boss idol?" gets "In '4071 boss ally?': It calls search(query='4071 boss'), ..."
        shared_words("4071 boss ally?", "4071 boss idol?") is 2/4

    Paper: arXiv:2511.10395 (AgentEvolver), self-navigating: a textual experience pool, retrieved by similarity.
    Unconfirmed: one tip per group, the capacity, tips per task, and tips from failures.
    Differs: rule-based tips and word overlap; a summarising model and embeddings are arguments.
    """
    if min(top, most, longest) < 1:
        raise InputError(f"tip_pool has top {top}, most {most} and longest {longest}; give 1 or more of each")
    return TipPool(top, most, above, longest, tell or tell_calls, similar or shared_words)


def task_tips(task: Task) -> list[Criterion]:
    """Return the tips of a task as criteria for `rollouts.hinted`; empty without tips."""
    return [Criterion(f"tip {k}", text) for k, text in enumerate(task.metadata.get(TIPS, ()))]


def tell_calls(trajectory: Trajectory, right: bool) -> str:
    """List the answered calls of a correct rollout, or give advice on the failure of an incorrect one.

    Example:
        correct: "In '2*7=?': It calls calculator(expression='2*7')."
        incorrect, without a call: "In '2*7=?': Use a tool."
    """
    if not right:
        return f"In {_asked(trajectory.task)!r}: {' '.join(ADVICE[tag] for tag in failure_tags(trajectory))}"
    done = {reply.call_id for reply in trajectory.replies if reply.status == "ok"}
    return call_tip(trajectory.task, [call for call in trajectory.calls if call.id in done])


def call_tip(task: Task, calls: Sequence[ToolCall]) -> str:
    """Format a tip that lists calls; "" without calls."""
    return f"In {_asked(task)!r}: It calls {', '.join(map(format_call, calls))}." if calls else ""


def shared_words(one: str, other: str) -> float:
    """Jaccard similarity of the lower-case word sets of two texts; 0 for two texts without words."""
    words, more = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(words & more) / len(words | more) if words | more else 0.0


class TipPool:
    """Pool of `tip_pool`; `tips` holds the stored tips, oldest first."""

    def __init__(self, top: int, most: int, above: float, longest: int, tell: Tell, similar: Similar):
        self.tips: list[Tip] = []
        self._top = top
        self._most = most
        self._above = above
        self._longest = longest
        self._tell = tell
        self._similar = similar

    def curriculum(self, tasks: Sequence[Task], seed: int) -> "TippedTasks":
        """Make a curriculum that attaches tips to its tasks."""
        return TippedTasks(self, tasks, seed=seed)

    def recall(self, task: Task) -> list[Tip]:
        """Return the tips for a task, by decreasing similarity."""
        asked = _asked(task)
        ranked = [(self._similar(asked, tip.asked), k) for k, tip in enumerate(self.tips)]
        return [self.tips[k] for score, k in sorted(ranked, reverse=True)[: self._top] if score > 0]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Store a tip of each group."""
        for one in groups:
            reward_G = group_rewards(one.group, one.scores)
            if np.isnan(reward_G).all():
                continue
            best = int(np.nanargmax(reward_G))
            self.keep(one.group.task, self._tell(one.group[best], bool(reward_G[best] > self._above)))

    def keep(self, task: Task, text: str) -> None:
        """Store a tip of a task; "" is ignored."""
        if text:
            tip = Tip(_asked(task), " ".join(text.split())[: self._longest])
            self.tips = [*(kept for kept in self.tips if kept != tip), tip][-self._most :]

    def state_dict(self) -> dict[str, Any]:
        return {"tips": [list(one) for one in self.tips]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tips = [Tip(asked, text) for asked, text in state["tips"]]


class TippedTasks(TaskPool):
    """Curriculum of a tip pool. Its tasks are replaceable, as in `task_pool`."""

    def __init__(self, pool: TipPool, tasks: Sequence[Task], *, seed: int):
        super().__init__(tasks, seed=seed, shuffle=True)
        self._pool = pool

    def next(self, step: int, count: int) -> list[Task]:
        """Return the `count` tasks of a step, each with its tips."""
        return [_tipped(task, self._pool.recall(task)) for task in super().next(step, count)]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Update the pool. The order is independent of results."""
        self._pool.observe(groups)

    def state_dict(self) -> dict[str, Any]:
        return {"order": super().state_dict(), "pool": self._pool.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state["order"])
        self._pool.load_state_dict(state["pool"])


def _asked(task: Task) -> str:
    return " ".join(" ".join(one.content for one in task.messages if one.role == "user").split())


def _tipped(task: Task, tips: Sequence[Tip]) -> Task:
    return replace(task, metadata={**task.metadata, TIPS: [one.text for one in tips]}) if tips else task
