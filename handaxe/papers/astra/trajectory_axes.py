"""Scores of a trajectory on seven axes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from handaxe.core.records import ToolCall, ToolReply, Trajectory, Turn
from handaxe.papers.astra.sub_questions import SubQuestion

__all__ = ["TrajectoryAxes", "trajectory_axes"]


class TrajectoryAxes(NamedTuple):
    """Seven scores, each from 0 to 1."""

    query: float
    plan: float
    response: float
    conditioned: float
    status: float
    conciseness: float
    answer: float

    @property
    def mean(self) -> float:
        """Mean of the seven."""
        return sum(self) / len(self)


def trajectory_axes(trajectory: Trajectory) -> TrajectoryAxes:
    """Score a trajectory by rules.

        query         share of calls of the first turn that are sub-questions without a parent
        plan          share of calls whose argument stands in the question or in an earlier reply
        response      share of solved sub-questions with a parent that were asked after the parent's reply
        conditioned   share of turns after a failed call that make the failed call again; 1 without a failure
        status        share of calls with status ok
        conciseness   sub-questions / calls, at most 1
        answer        1 if the final text is the answer

    Shares of nothing are 1, except without any call, where the first six are 0.

    Args:
        trajectory: of a task with metadata sub_questions.

    Returns:
        Seven scores and their mean.

    Example:
        two sub-questions, calls town, clock (no such key), mayor and the correct answer: (0.5, 1, 1, 0, 2/3, 2/3, 1)
        if town and clock are one turn

    Paper: arXiv:2601.21558 (ASTRA), its seven axes; the mean of the axes ranks trajectories.
    Unconfirmed: what each axis reads.
    Differs: rules score, where the paper asks a language model.
    """
    subs = [SubQuestion(*one) for one in trajectory.task.metadata["sub_questions"]]
    turns = [turn for turn in trajectory.turns if turn.parsed.calls]
    answer = float(trajectory.final_text.strip() == str(trajectory.task.answer))
    if not turns:
        return TrajectoryAxes(0, 0, 0, 0, 0, 0, answer)
    calls = [(k, one.name, _key(one)) for k, turn in enumerate(turns) for one in turn.parsed.calls]
    roots = {(one.table, one.key) for one in subs if one.parent < 0}
    known = [_known(trajectory, turns, k) for k in range(len(turns))]
    failed = [{(call.name, _key(call)) for call, reply in _pairs(turn) if reply.status != "ok"} for turn in turns]
    again = [
        bool(failed[k] & {(call.name, _key(call)) for call in turns[k + 1].parsed.calls})
        for k in range(len(turns) - 1)
        if failed[k]
    ]
    statuses = [reply.status == "ok" for turn in turns for reply in turn.replies]
    return TrajectoryAxes(
        _share([(name, key) in roots for k, name, key in calls if k == 0]),
        _share([key in known[k] for k, _, key in calls]),
        _share([one.key in known[k] for one in subs if one.parent >= 0 for k in [_first(calls, one)] if k >= 0]),
        _share(again),
        _share(statuses),
        min(1.0, len(subs) / len(calls)),
        answer,
    )


def _known(trajectory: Trajectory, turns: Sequence[Turn], k: int) -> set[str]:
    texts = [one.content for one in trajectory.task.messages]
    texts += [reply.content for turn in turns[:k] for reply in turn.replies if reply.status == "ok"]
    return set(re.findall(r"\w+", " ".join(texts)))


def _key(call: ToolCall) -> str:
    return str(call.arguments.get("name", ""))


def _pairs(turn: Turn) -> list[tuple[ToolCall, ToolReply]]:
    by_id = {reply.call_id: reply for reply in turn.replies}
    return [(call, by_id[call.id]) for call in turn.parsed.calls if call.id in by_id]


def _first(calls: Sequence[tuple[int, str, str]], one: SubQuestion) -> int:
    return next((k for k, name, key in calls if (name, key) == (one.table, one.key)), -1)


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 1.0
