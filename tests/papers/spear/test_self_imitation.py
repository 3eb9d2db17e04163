import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.spear.self_imitation import REPLAYED, made_a_call, self_imitation
from handaxe.selection.drop_equal_groups import drop_equal_groups
from handaxe.selection.mask_overlong import mask_overlong
from handaxe.selection.parts.dispositions import live
from handaxe.selection.pipe import pipe
from handaxe.selection.success_replay import success_replay
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory
from handaxe.training.loop.batch import make_batch
from handaxe.training.loop.schedule import cosine

CONTRACT = [
    {"capacity": 1, "worth": lambda trajectory: True},
    {"capacity": 2, "worth": lambda trajectory: True, "recalibrate": False, "weight": 0.5},
    {
        "capacity": 1,
        "worth": lambda trajectory: True,
        "normalise": True,
        "select": pipe(success_replay(credit=lambda group, scores: None, std_below=-1.0), drop_equal_groups()),
    },
]
FILTERS = False


def played(outcome, *, step=0, task="a", advantage=None, calls=1, ending="completed", logp=-0.5):
    siblings = [make_trajectory(texts=[""], calls=[["f"] * calls], ending=ending, logp=logp) for _ in outcome]
    group = make_group(trajectories=siblings, task=make_task(id=task), step=step)
    return make_rated(group=group, scores=make_scores(outcome), advantage=outcome if advantage is None else advantage)


def level(one):
    (own,), (sequence,) = one.advantages.tokens[0], one.group[0].sequences
    values = own[sequence.mask]
    assert np.all(values == values[0]) and not np.any(own[~sequence.mask])
    return float(values[0])


def test_replayed_rollouts_equal_the_worked_example():
    select = self_imitation(capacity=1)
    select([played([0.3, 0.1]), played([0.6], advantage=[-1.0]), played([0.4], advantage=[-1.0])])
    assert [one.scores.outcome[0] for one in select.stored] == [0.3, 0.1]
    # means 0.2, 0.6, 0.4 and now 1 and 1: two above the median are more than 1.5
    out = select([played([1.0], step=1), played([1.0], step=1)])
    assert len(out) == 3 and select.stored == []
    assert level(out[2]) == pytest.approx(1 - 0.6) and out[2].part == 1 + max(one.part for one in out[:2])


def test_replays_are_above_the_median_and_a_power_of_two():
    select = self_imitation(capacity=7, history=3, weight=0.5)
    low = [played([0.2], task="x"), played([0.4], task="y"), played([0.6], task="z")]
    assert len(select(low)) == 3
    out = select([played([1.0, 0.3] * 12, step=1, advantage=[1.0] * 24)] + [played([0.4], step=1)] * 2)
    again = out[3:]
    assert len(again) == 4  # twelve above, most 7, largest power of two
    assert {float(one.scores.outcome[0]) for one in again} == {1.0}
    # the history holds 0.65, 0.4, 0.4
    assert [level(one) for one in again] == [pytest.approx(0.5 * (1 - 0.4))] * 4
    assert all(one.group[0].id.endswith("/replay/1") and len(one.group) == 1 for one in again)


@pytest.mark.parametrize(("count", "replays"), [(3, False), (4, True)])
def test_a_replay_needs_more_than_one_and_a_half_capacities(count, replays):
    select = self_imitation(capacity=2)
    batch = [played([0.0]) for _ in range(9)]
    out = select([*batch, *[played([1.0], task=str(k)) for k in range(count)]])
    assert (len(out) > 9 + count) == replays and (select.stored == []) == replays
    if replays:
        assert len(out) == 9 + count + 2


def test_self_imitation_equals_a_slow_loop():
    rng, select = np.random.default_rng(0), self_imitation(capacity=3, tolerate=2, history=5)
    stored, means, replays = [], [], 0
    for step in range(40):
        batch = [played(rng.random(3).round(2).tolist(), step=step, task=t) for t in "abc"]
        for own in batch:
            centred = own.scores.outcome - own.scores.outcome.mean()
            for array, value in zip(own.advantages.tokens, centred):
                array[0][:] = np.where(array[0] != 0, value, 0.0)
        out = select(batch)
        for own in batch:
            means.append(sum(own.scores.outcome) / 3)
            stored += [
                (step, own.group[i].id, own.scores.outcome[i])
                for i in range(3)
                if own.scores.outcome[i] > own.scores.outcome.mean()
            ]
        stored = [one for one in stored if step - one[0] <= 2]
        middle = sorted(means[-5:])[len(means[-5:]) // 2] if len(means) >= 5 else float(np.median(means[-5:]))
        good = {name: value for _, name, value in stored if value > middle}
        if len(good) > 4.5:
            replays += 1
            again = out[3:]
            assert len(again) == 2
            for one in again:
                name = one.group[0].id.removesuffix(f"/replay/{step}")
                assert level(one) == pytest.approx(good[name] - middle)
            stored = []
        else:
            assert out == batch
        assert [one.group[0].id for one in select.stored] == [name for _, name, _ in stored]
    assert replays > 3


def test_the_replay_weight_follows_its_schedule():
    gamma = cosine(0.0, steps=300, floor=1.0)
    assert [gamma(t) for t in (0, 75, 150, 300, 400)] == pytest.approx([0, 0.1464, 0.5, 1, 1], abs=1e-4)
    select = self_imitation(capacity=1, weight=gamma)
    batch = [played([0.0], step=0), played([0.0], step=0), played([0.0]), played([1.0, 1.0], step=0)]
    assert len(select(batch)) == 4 and select.stored == []  # weight 0: nothing replayed, and emptied


def test_advantages_are_divided_by_the_median_deviation():
    select = self_imitation(capacity=1, normalise=True)
    batch = [played([0.0, 0.2]), played([0.0, 0.4]), played([0.0, 0.6], advantage=[0, 0]), played([1.0, 1.0])]
    (again,) = select(batch)[4:]
    # means 0.1, 0.2, 0.3, 1: median 0.25; sample stds 0.1414, 0.2828, 0.4243, 0: median 0.2121
    scaled = [(value - 0.25) / 0.21213 for value in (1.0, 0.4, 0.6)]
    assert any(level(again) == pytest.approx(value, rel=1e-4) for value in scaled)


def test_without_recalibration_stored_advantages_are_replayed():
    select = self_imitation(capacity=2, recalibrate=False, weight=0.5)
    batch = [played([0.0]) for _ in range(5)] + [played([1.0] * 4, advantage=[2.0, 3.0, 4.0, 5.0])]
    again = select(batch)[6:]
    stale = {f"a/0/{i}/replay/0": 0.5 * (i + 2) for i in range(4)}
    assert len(again) == 2 and all(level(one) == stale[one.group[0].id] for one in again)


def test_only_rollouts_worth_storing_are_stored():
    assert made_a_call(make_trajectory(texts=[""], calls=[["f"]])) and not made_a_call(make_trajectory())
    select = self_imitation(capacity=8)
    select([played([1.0], calls=0), played([1.0], advantage=[-0.1]), played([np.nan], advantage=[0.0])])
    assert select.stored == []
    select = self_imitation(capacity=8, select=pipe(mask_overlong(), drop_equal_groups()))
    out = select([played([1.0, 0.0], ending="truncated"), played([1.0], task="b")])
    # a dropped rollout is stored; a masked rollout is not
    assert len(live(out)) == 1 and len(select.stored) == 1 and len(select.stored[0].group) == 1
    assert select.stored[0].group[0].ending.kind == "completed"


def test_old_rollouts_are_dropped():
    select = self_imitation(capacity=9, tolerate=2)
    for step in range(5):
        select([played([1.0], step=step)])
        assert [one.group.step for one in select.stored] == list(range(max(0, step - 2), step + 1))


def test_replays_keep_stored_log_probs_and_carry_the_feature():
    select = self_imitation(capacity=1)
    select([played([1.0], logp=-0.9), *[played([0.0], task="b")] * 5])
    out = select([played([1.0], step=1, task="c", logp=-0.4)])
    assert len(out) == 2
    fresh, again = (make_batch([one], pad_id=0) for one in out)
    assert REPLAYED not in fresh.extras and again.extras[REPLAYED][again.mask_BT].unique().tolist() == [1.0]
    stored = -0.9 if out[1].group[0].id.startswith("a/0") else -0.4
    assert again.old_logp_BT[again.mask_BT].unique().tolist() == pytest.approx([stored])


def test_self_imitation_refuses_numbers_out_of_range():
    for wrong in ({"capacity": 0}, {"tolerate": -1}, {"history": 0}):
        with pytest.raises(InputError, match="capacity"):
            self_imitation(**wrong)
    select = self_imitation(capacity=1, weight=-1.0)
    with pytest.raises(InputError, match="weight -1.0 at step 0"):
        select([played([1.0] * 3), played([0.0]), played([0.0])])
