"""Keep short tips from finished attempts, and tell the tasks like theirs of them."""

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

__all__ = ["Tip", "TipPool", "TippedTasks", "shared_words", "tell_calls", "tip_pool", "tips_of", "told_calls"]

TIPS = "tips"
"""The key of `Task.metadata` under which the tips for a task stand."""
Tell = Callable[[Trajectory, bool], str]
"""(attempt, whether it is right) -> a tip; "" for none."""
Similar = Callable[[str, str], float]
"""(what one task asks, what another asked) -> how like they are; 0 is not at all."""


class Tip(NamedTuple):
    """What is kept of a group: what its task asked, and what may help with one like it."""

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
    """Keep a tip of each group that was played, and give a task the tips of those most like it.

        after a step   of each group, the first attempt of the highest reward R says a tip: tell(attempt, R > above)
        before a step  a task is given the `top` tips of most similarity > 0 with what it asks, the newest of equal ones

    The tips of a task stand in its metadata, so that all siblings read the same, of one moment, and the record says
    which; `rollouts.hinted(criteria=tips_of)` says them to some of the siblings. Tasks that did not come from this
    curriculum, such as those of an evaluation, have none. R_i is the outcome plus the per-turn rewards.

    Args:
        top: tips of a task, >= 1.
        most: tips kept, >= 1; the oldest leave. Of two that are alike word for word the newer one stays.
        above: right is a reward strictly above this.
        longest: characters of a tip, >= 1; what is beyond is cut off.
        tell: what an attempt teaches; `tell_calls` unless told otherwise, and a model's summary in the paper.
        similar: `shared_words` unless told otherwise, and an embedding's in the paper.

    Returns:
        A pool. `curriculum(tasks, seed)` goes through tasks as `task_pool` does, tells them of tips, learns from what
        came of them, and carries the pool's state.

    Raises:
        InputError: a number out of range.

    Example:
        "4071 boss ally?" was answered after search(query='4071 boss') and search(query='5526 ally'); then
        "4071 boss idol?" is given "In '4071 boss ally?': It calls search(query='4071 boss'), ..."
        shared_words("4071 boss ally?", "4071 boss idol?") is 2/4

    Paper: arXiv:2511.10395 (AgentEvolver), its self-navigating: a pool of experience in words, retrieved by similarity.
    Unconfirmed: that a group gives one tip, how many are kept and told, and that a failure gives one too.
    Differs: tips by rule, and likeness by words; a model that summarises, and embeddings, are arguments.
    """
    if min(top, most, longest) < 1:
        raise InputError(f"tip_pool has top {top}, most {most} and longest {longest}; give 1 or more of each")
    return TipPool(top, most, above, longest, tell or tell_calls, similar or shared_words)


def tips_of(task: Task) -> list[Criterion]:
    """The tips for a task, as `rollouts.hinted` says them; none where none were told."""
    return [Criterion(f"tip {k}", text) for k, text in enumerate(task.metadata.get(TIPS, ()))]


def tell_calls(trajectory: Trajectory, right: bool) -> str:
    """Say which calls of a right attempt were answered, or what helps against what went wrong in another.

    Example:
        right: "In '2*7=?': It calls calculator(expression='2*7')."
        wrong, without a call: "In '2*7=?': Use a tool."
    """
    if not right:
        return f"In {_asked(trajectory.task)!r}: {' '.join(ADVICE[tag] for tag in failure_tags(trajectory))}"
    done = {reply.call_id for reply in trajectory.replies if reply.status == "ok"}
    return told_calls(trajectory.task, [call for call in trajectory.calls if call.id in done])


def told_calls(task: Task, calls: Sequence[ToolCall]) -> str:
    """Say that a task took these calls; "" where there are none."""
    return f"In {_asked(task)!r}: It calls {', '.join(map(format_call, calls))}." if calls else ""


def shared_words(one: str, other: str) -> float:
    """Words in both of all words in either, as sets, whatever their case; 0 for two without words."""
    words, more = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(words & more) / len(words | more) if words | more else 0.0


class TipPool:
    """What `tip_pool` returns; `tips` are those that are kept, the oldest first."""

    def __init__(self, top: int, most: int, above: float, longest: int, tell: Tell, similar: Similar):
        self.tips: list[Tip] = []
        self._top = top
        self._most = most
        self._above = above
        self._longest = longest
        self._tell = tell
        self._similar = similar

    def curriculum(self, tasks: Sequence[Task], seed: int) -> "TippedTasks":
        """Tasks that are told of tips."""
        return TippedTasks(self, tasks, seed=seed)

    def recall(self, task: Task) -> list[Tip]:
        """The tips for a task, those of most similarity first."""
        asked = _asked(task)
        ranked = [(self._similar(asked, tip.asked), k) for k, tip in enumerate(self.tips)]
        return [self.tips[k] for score, k in sorted(ranked, reverse=True)[: self._top] if score > 0]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """Keep a tip of each group."""
        for one in groups:
            reward_G = group_rewards(one.group, one.scores)
            if np.isnan(reward_G).all():
                continue
            best = int(np.nanargmax(reward_G))
            self.keep(one.group.task, self._tell(one.group[best], bool(reward_G[best] > self._above)))

    def keep(self, task: Task, text: str) -> None:
        """Keep what a task taught; "" is nothing."""
        if text:
            tip = Tip(_asked(task), " ".join(text.split())[: self._longest])
            self.tips = [*(kept for kept in self.tips if kept != tip), tip][-self._most :]

    def state_dict(self) -> dict[str, Any]:
        return {"tips": [list(one) for one in self.tips]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.tips = [Tip(asked, text) for asked, text in state["tips"]]


class TippedTasks(TaskPool):
    """The curriculum of a pool of tips; its tasks may be exchanged, as those of any `task_pool`."""

    def __init__(self, pool: TipPool, tasks: Sequence[Task], *, seed: int):
        super().__init__(tasks, seed=seed, shuffle=True)
        self._pool = pool

    def next(self, step: int, count: int) -> list[Task]:
        """The `count` tasks of this step, each with its tips."""
        return [_tipped(task, self._pool.recall(task)) for task in super().next(step, count)]

    def observe(self, groups: Sequence[RatedGroup]) -> None:
        """The pool learns; the order does not depend on what came of the tasks."""
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
