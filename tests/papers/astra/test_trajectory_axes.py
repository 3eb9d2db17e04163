"""Seven axes by hand."""

import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.astra.trajectory_axes import trajectory_axes
from handaxe.testing.make_records import make_task, make_trajectory

SUBS = [["town", "1204", "4410", -1, 0], ["mayor", "4410", "3071", 0, 0]]


def trajectory(turns, final="3071"):
    """`turns`: lists of (tool, key, reply, status)."""
    replies = [
        [ToolReply(f"{k}-{j}", name, text, status) for j, (name, _, text, status) in enumerate(turn)]
        for k, turn in enumerate(turns)
    ]
    calls = [
        [ToolCall(name, {"name": key}, f"{k}-{j}") for j, (name, key, *_) in enumerate(turn)]
        for k, turn in enumerate(turns)
    ]
    task = make_task(question="1204 town mayor?", answer="3071", metadata={"sub_questions": SUBS})
    texts = [*[""] * len(turns), final]
    return make_trajectory(task=task, texts=texts, calls=[*calls, []], replies=[*replies, []])


TOWN, MAYOR = ("town", "1204", "4410", "ok"), ("mayor", "4410", "3071", "ok")
CLOCK, LATE = ("clock", "1204", "no clock", "retry"), ("town", "1204", "timeout", "retry")


@pytest.mark.parametrize(
    ("turns", "final", "axes"),
    [
        ([[TOWN], [MAYOR]], "3071", (1, 1, 1, 1, 1, 1, 1)),
        ([[TOWN, CLOCK], [MAYOR]], "3071", (0.5, 1, 1, 0, 2 / 3, 2 / 3, 1)),
        ([[LATE], [TOWN], [MAYOR]], "3071", (1, 1, 1, 1, 2 / 3, 2 / 3, 1)),
        ([[MAYOR], [TOWN]], "4410", (0, 0.5, 0, 1, 1, 1, 0)),
        ([], "3071", (0, 0, 0, 0, 0, 0, 1)),
    ],
)
def test_axes_of_trajectories(turns, final, axes):
    found = trajectory_axes(trajectory(turns, final))
    assert tuple(found) == pytest.approx(axes) and found.mean == pytest.approx(sum(axes) / 7)
