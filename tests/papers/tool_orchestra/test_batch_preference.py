import numpy as np
import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Ending, RatedGroup, ToolReply
from handaxe.credit.group_norm import group_norm
from handaxe.papers.tool_orchestra.batch_preference import batch_preference, preference_coordinates
from handaxe.papers.tool_orchestra.preference_weighted import preference_weighted
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.parts.scoring import score_group
from handaxe.rewards.permuted import permuted
from handaxe.rewards.weighted import weighted
from handaxe.testing.make_records import make_group, make_task, make_trajectory

REWARD = preference_weighted(base=exact_match())
CREDIT = group_norm(std=None)
SELECT = batch_preference(credit=CREDIT)
CONTRACT = []
"""Groups of the contract have rewards per turn, which it refuses."""


def attempt(cost, *, right=True, seconds=1.0, calls=1, ending="completed"):
    replies = [[ToolReply(f"0-{k}", "t", "x", "ok", seconds / calls, cost / calls) for k in range(calls)], []]
    return make_trajectory(texts=["", "4" if right else "5"], calls=[["t"] * calls, []], replies=replies, ending=ending)


def rated(*attempts, preference):
    task = make_task(answer="4", metadata={} if preference is None else {"preference": preference})
    group = make_group(trajectories=list(attempts), task=task)
    _, scores = score_group(REWARD if preference else exact_match(), group)
    return RatedGroup.of(group, scores, CREDIT(group, scores))


CHEAP = {"cost": 1.0}


def test_the_worked_example():
    one = rated(attempt(0.0), attempt(1.0), preference=CHEAP)
    two = rated(attempt(10.0), attempt(2.0), preference=CHEAP)
    assert [own.scores.outcome.tolist() for own in (one, two)] == [[1, 0], [0, 1]]
    first, second = SELECT([one, two])
    assert first.scores.outcome.tolist() == pytest.approx([1.0, 0.9])
    assert second.scores.outcome.tolist() == pytest.approx([0.0, 0.8])
    assert first.scores.channels["preferred/cost"].tolist() == pytest.approx([1.0, 0.9])
    assert first.advantages.tokens[0][0].max() == pytest.approx(0.05)
    assert np.array_equal(first.trained, one.trained) and first.group is one.group


def test_one_group_is_its_own_batch():
    one = rated(attempt(0.1), attempt(0.02, right=False), attempt(0.5), preference={"outcome": 1.0, "cost": 0.5})
    (found,) = SELECT([one])
    assert found.scores.outcome.tolist() == one.scores.outcome.tolist()
    for own, before in zip(found.advantages.tokens, one.advantages.tokens, strict=True):
        assert np.array_equal(own[0], before[0])


def slow(groups):
    """Loops over all rollouts of the step, one coordinate at a time."""
    found = []
    for one in groups:
        weights, values = one.group.task.metadata["preference"], []
        for i, trajectory in enumerate(one.group):
            total = 0.0
            for name, weight in weights.items():
                everyone = [_measured(name, other, g.scores.channels["base"][k])
                            for g in groups for k, other in enumerate(g.group)]  # fmt: skip
                own = _measured(name, trajectory, one.scores.channels["base"][i])
                least, most = min(everyone), max(everyone)
                total += weight * ((own - least) / (most - least) if most > least else 0.0)
            values.append(one.scores.channels["base"][i] * total)
        found.append(values)
    return found


def _measured(name, trajectory, outcome):
    if name == "outcome":
        return outcome
    if name == "t":
        return len(trajectory.calls)
    replies = trajectory.replies
    return -sum(reply.cost if name == "cost" else reply.seconds for reply in replies)


def test_vectors_equal_the_slow_loop():
    rng = np.random.default_rng(0)
    groups = []
    for _ in range(5):
        weights = {name: round(float(rng.random()), 2) for name in ("outcome", "cost", "seconds", "t")}
        own = [
            attempt(
                float(rng.random()), right=rng.random() < 0.7, seconds=float(rng.random()), calls=rng.integers(1, 4)
            )
            for _ in range(4)
        ]
        groups.append(rated(*own, preference=weights))
    found = SELECT(groups)
    for one, expected in zip(found, slow(groups), strict=True):
        assert one.scores.outcome.tolist() == pytest.approx(expected, abs=1e-9)


def test_other_groups_change_the_order_of_no_group_with_one_wish():
    one = rated(attempt(1.0), attempt(2.0), attempt(3.0), preference=CHEAP)
    (alone,), (found, _) = SELECT([one]), SELECT([one, rated(attempt(90.0), attempt(0.0), preference=CHEAP)])
    assert np.argsort(alone.scores.outcome).tolist() == np.argsort(found.scores.outcome).tolist()
    assert found.scores.outcome.std() < 0.1 < alone.scores.outcome.std()


def test_the_control_permutes_coordinates_with_outcomes():
    """Permuted rewards of a group are a permutation of its rewards: no cost of a rollout of its own is left in them."""
    reward = weighted({"preferred": (1.0, REWARD), "coordinates": (0.0, preference_coordinates())})
    select = batch_preference(credit=CREDIT, correct="preferred/base", coordinates="coordinates")
    found = []
    for one in (reward, permuted(reward, seed=2)):
        groups = []
        for n, costs in enumerate(([0.0, 1.0, 7.0, 4.0], [10.0, 2.0, 3.0, 9.0])):
            task = make_task(id=f"t{n}", answer="4", metadata={"preference": {"outcome": 1.0, "cost": 0.5}})
            attempts = [attempt(cost, right=k != 1) for k, cost in enumerate(costs)]
            group, scores = score_group(one, make_group(trajectories=attempts, task=task))
            groups.append(RatedGroup.of(group, scores, CREDIT(group, scores)))
        found.append([own.scores.outcome.tolist() for own in select(groups)])
    plain, control = found
    assert plain != control and [sorted(own) for own in plain] == [sorted(own) for own in control]
    assert plain[0] == pytest.approx([1.5, 0, 1 + 0.5 * 0.3, 1 + 0.5 * 0.6])


def test_a_missing_coordinate_raises():
    one = rated(attempt(0.0), attempt(1.0), preference=CHEAP)
    with pytest.raises(InputError, match="no channel 'coordinates/cost'"):
        batch_preference(credit=CREDIT, coordinates="coordinates")([one])


def test_unscored_rollouts_set_no_bound():
    gone = attempt(1000.0, ending=Ending("infra_error", "gone"))
    group = make_group(
        trajectories=[attempt(1.0), attempt(2.0), gone], task=make_task(answer="4", metadata={"preference": CHEAP})
    )
    _, scores = score_group(REWARD, group)
    (found,) = SELECT([RatedGroup.of(group, scores, CREDIT(group, scores))])
    assert found.scores.outcome[:2].tolist() == [1, 0] and np.isnan(found.scores.outcome[2])


def test_no_group_gives_no_group_and_bad_preferences_raise():
    assert SELECT([]) == []
    lacking = rated(attempt(1.0), preference=None)
    with pytest.raises(TaskError, match="has the preference None"):
        batch_preference(credit=CREDIT, correct=None)([lacking])
    with pytest.raises(InputError, match="base"):
        batch_preference(credit=CREDIT, preference=lambda task: CHEAP)([lacking])
