import numpy as np
import pytest

from handaxe.core.records import Advantages, Criterion, RatedGroup, Scores
from handaxe.papers.calm.goal_agreement import goal_agreement
from handaxe.testing.make_records import make_group, make_task, make_trajectory

GOALS = [Criterion("a", "A."), Criterion("b", "B.")]


def told(*turns):
    """A judge that says of the first criterion that it was brought about in the turns turns[0], and so on."""

    def judge(trajectory, criteria):
        return np.array([[n in own for n in range(len(trajectory.turns))] for own in turns], bool)

    return judge


def met(*first):
    """A check that says of the first criterion that it is met from turn first[0] on, of the second from first[1] on;
    None: in no turn."""

    def check(trajectory, criteria):
        turns = np.arange(len(trajectory.turns))
        return np.array([np.full(len(turns), False) if start is None else turns >= start for start in first])

    return check


def figures(said, true, attempts=1):
    group = make_group(trajectories=[make_trajectory(texts=["x"] * 4, id=str(i)) for i in range(attempts)])
    rated = RatedGroup.of(group, Scores(np.zeros(attempts)), Advantages(()))
    return goal_agreement(criteria=lambda task: GOALS, judge=told(*said), rule=met(*true)).learn([rated], step=0)


def test_goal_agreement_matches_its_example():
    expected = {"f1": 0.5, "constant": 0.4, "difference": 0.1, "said": 0.25, "true": 0.25}
    assert figures(([1], [2]), (1, 3)) == pytest.approx(expected) == figures(([1], [2]), (1, 3), attempts=3)


def test_a_constant_yes_scores_the_constant_and_false_positives_count():
    always = figures(([0, 1, 2, 3], [0, 1, 2, 3]), (1, 3))
    assert always["difference"] == 0 and always["said"] == 1
    assert figures(([1, 2, 3], [3]), (1, 3))["f1"] == 2 * 2 / (4 + 2)


def test_f1_is_0_without_a_yes_and_missing_without_rollouts():
    found = figures(([], []), (1, 3))
    assert (found["f1"], found["said"], found["difference"]) == (0, 0, -0.4)
    assert goal_agreement(criteria=lambda task: GOALS, judge=told([1], [2]), rule=met(1, 3)).learn([], step=0) == {}


def test_task_filter_restricts_the_metrics():
    groups = [make_group(trajectories=[make_trajectory(texts=["x"] * 4)], task=make_task(id=name)) for name in "ab"]
    rated = [RatedGroup.of(one, Scores(np.zeros(1)), Advantages(())) for one in groups]
    checks = {"criteria": lambda task: GOALS, "judge": told([1], [2]), "rule": met(1, 3)}
    both, held = goal_agreement(**checks), goal_agreement(**checks, task_filter=lambda task: task.id == "b")
    assert held.learn(rated, step=0) == both.learn(rated[1:], step=0) and held.learn(rated[:1], step=0) == {}
