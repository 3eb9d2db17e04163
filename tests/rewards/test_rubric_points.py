import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Criterion, ToolReply
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.gate import gate
from handaxe.rewards.outcome import outcome
from handaxe.rewards.rubric_points import rubric_points
from handaxe.testing.make_records import make_group, make_trajectory
from handaxe.worlds.hops.world import hops


def says(trajectory, criteria):
    """A turn meets the criteria named in its text."""
    return np.array([[one.name in turn.parsed.text for turn in trajectory.turns] for one in criteria], bool).reshape(
        len(criteria), len(trajectory.turns)
    )


def of(*criteria):
    return lambda _: list(criteria)


PLAIN = (Criterion("4", ""), Criterion("two", "", 3.0))
CONTRACT = [
    {"criteria": of(*PLAIN), "check": says},
    {"items": of(*PLAIN), "check": says, "aggregate": "mean"},
    {"items": of(PLAIN[0]), "check": says, "aggregate": "all"},
]
LAB = [
    LabCase(
        "rubric_points(...)",
        hops,
        lambda world: rubric_points(criteria=world.need("criteria"), check=world.need("check")),
    ),
]
RUBRIC = of(Criterion("a", "", 5.0), Criterion("b", "", 3.0), Criterion("c", "", -2.0))


def score(*texts, **knobs):
    group = make_group(trajectories=[make_trajectory(texts=own, id=str(i)) for i, own in enumerate(texts)])
    return rubric_points(**({"criteria": RUBRIC} | knobs), check=says)(group).outcome.tolist()


def test_rubric_points_matches_the_docstring_example():
    assert score(["a", "c"], ["c"]) == [0.375, 0.0]
    assert score(["a", "c"], aggregate="mean") == [pytest.approx(0.6667, abs=5e-5)]
    assert score(["a", "c"], ["c b a"], aggregate="all") == [0, 1]


def test_a_met_criterion_stays_met():
    assert score(["a b", "nothing"], ["a", "b"], ["", ""]) == [1, 1, 0]


def test_replies_are_checked_for_correct_plans_only():
    """DeepTravel's two verifiers: the plan, then the use of each of three replies."""

    def replies_of(one):
        return [Criterion(reply.content, "the plan agrees with this reply") for reply in one.replies]

    def rollout(text):
        replies = [ToolReply(f"0-{k}", "f", word) for k, word in enumerate(("r1", "r2", "r3"))]
        return make_trajectory(texts=["", text], calls=[["f"] * 3, []], replies=[replies, []])

    asked = []

    def counting(one, criteria):
        asked.append(one.id)
        return says(one, criteria)

    group = make_group(trajectories=[rollout("plan r1 r2"), rollout("r1 r2 r3"), rollout("plan r1 r2 r3")])
    plan = outcome(lambda one: float("plan" in one.final_text))
    for aggregate, wanted in (("all", [0, 0, 1]), ("mean", [2 / 3, 0, 1])):
        turns = rubric_points(items=replies_of, check=counting, aggregate=aggregate)
        scores = gate(on=plan, then=turns, ask="passed")(group)
        assert scores.outcome.tolist() == pytest.approx(wanted)
        assert asked == [group[0].id, group[2].id] and scores.channels["then"].tolist() == pytest.approx(wanted)
        asked.clear()
    gate(on=plan, then=rubric_points(items=replies_of, check=counting))(group)
    assert asked == [one.id for one in group]


def test_a_rollout_without_items_earns_the_fixed_reward():
    silent = make_group(trajectories=[make_trajectory(layouts=["Ut"])])
    assert rubric_points(criteria=RUBRIC, check=says)(silent).outcome.tolist() == [0]
    assert rubric_points(items=of(), check=says, aggregate="all")(silent).outcome.tolist() == [1]
    assert rubric_points(items=of(), check=says, without=0.5)(silent).outcome.tolist() == [0.5]


def test_rubric_points_equals_a_slow_loop():
    rng = np.random.default_rng(2)
    listed = [Criterion(name, "", float(points)) for name, points in zip("abcde", rng.integers(-3, 6, size=5))]
    texts = [[" ".join(c for c in "abcde" if rng.random() < 0.4) for _ in range(3)] for _ in range(20)]
    most = sum(max(one.points, 0) for one in listed)
    for answer, got in zip(texts, score(*texts, criteria=of(*listed)), strict=True):
        assert got == pytest.approx(max(sum(one.points for one in listed if one.name in " ".join(answer)), 0) / most)


def test_wrong_options_and_tasks_are_errors():
    with pytest.raises(TaskError, match="no criterion with positive points"):
        score(["a"], criteria=of(Criterion("a", "", -1.0)))
    with pytest.raises(TaskError, match="has no criterion"):
        score(["a"], criteria=of())
    for knobs in ({}, {"criteria": RUBRIC, "items": RUBRIC}, {"criteria": RUBRIC, "aggregate": "sum"}):
        with pytest.raises(InputError, match="criteria or items"):
            rubric_points(check=says, **knobs)
