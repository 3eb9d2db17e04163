"""The F1 reward: the dossier's examples, a slow loop, and attacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.astra.arena import arena
from handaxe.papers.astra.trajectory_f1 import trajectory_f1
from handaxe.testing.make_records import make_group, make_task, make_trajectory

LAB = [LabCase("trajectory_f1()", arena, lambda world: trajectory_f1())]


def group(needed, *pairs):
    """A rollout for each (solved, calls) of a task with `needed` sub-questions of one tool: the first `solved` of its
    calls give an answer each."""
    task = make_task(metadata={"unsolved": {"f": [f"answer{k}" for k in range(needed)]}})
    made = []
    for solved, calls in pairs:
        texts = [f"answer{k}" if k < solved else "nothing" for k in range(calls)]
        replies = [ToolReply(f"0-{k}", "f", text) for k, text in enumerate(texts)]
        made.append(make_trajectory(texts=[""], calls=[["f"] * calls], replies=[replies], task=task))
    return make_group(task=task, trajectories=made)


SIBLINGS = group(3, (3, 3), (3, 5), (1, 4), (0, 0))


@pytest.mark.parametrize(
    ("n", "h", "c", "expected"), [(5, 4, 6, 0.7273), (5, 5, 5, 1.0), (5, 5, 15, 0.5), (4, 0, 0, 0.0), (4, 0, 3, 0.0)]
)
def test_f1_of_worked_examples(n, h, c, expected):
    assert trajectory_f1()(group(n, (h, c))).outcome[0] == pytest.approx(expected, abs=1e-4)


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 9))
def test_f1_is_twice_the_solved_over_needed_and_calls(n, h, more):
    """Closed form of the harmonic mean, and a slow loop over the replies."""
    h = min(h, n)
    made = group(n, (h, h + more))
    open_, solved = [f"answer{k}" for k in range(n)], 0
    for reply in made[0].replies:
        for gold in list(open_):
            if gold in reply.content:
                open_.remove(gold)
                solved += 1
                break
    assert solved == h
    assert trajectory_f1(eps=0.0 if h + more else 1e-6)(made).outcome[0] == pytest.approx(2 * h / (n + h + more))
    assert trajectory_f1(measure="recall")(made).outcome[0] == pytest.approx(h / n)
    assert trajectory_f1(measure="precision")(made).outcome[0] == pytest.approx(h / (h + more + 1e-6))


def test_a_sub_question_counts_once_and_only_for_its_tool():
    replies = [ToolReply(f"0-{k}", name, "7") for k, name in enumerate(["f", "f", "g"])]
    one = make_trajectory(texts=[""], calls=[["f", "f", "g"]], replies=[replies])
    made = make_group(task=make_task(metadata={"unsolved": {"f": ["7"], "h": ["7"]}}), trajectories=[one])
    assert trajectory_f1()(made).outcome[0] == pytest.approx(2 / 5, abs=1e-6)


def test_wrong_input():
    with pytest.raises(InputError, match="unknown measure"):
        trajectory_f1(measure="f2")
    with pytest.raises(TaskError, match="unsolved"):
        trajectory_f1()(make_group(trajectories=[make_trajectory(texts=[""])]))
