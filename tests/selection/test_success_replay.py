from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.credit.group_norm import group_norm
from handaxe.selection.success_replay import success_replay
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_task, make_trajectory
from handaxe.training.loop.batch import make_batch

CREDIT = group_norm(std="sample")
CONTRACT = [{"credit": CREDIT}, {"credit": CREDIT, "place": "random", "most": 1, "tasks": 2}]
FILTERS = False


def played(outcome, *, step=0, task="a", logp=-0.5, version=0, trained=None):
    siblings = [make_trajectory(layouts=["UUt pp tTt p"], logp=logp, version=version) for _ in outcome]
    group = make_group(trajectories=siblings, task=make_task(id=task), step=step)
    scores = make_scores(outcome)
    return make_rated(group=group, scores=scores, advantage=[0.0] * len(outcome), trained=trained)


def level(one):
    return [float(own[0][sequence.mask][0]) for own, (sequence,) in zip(one.advantages.tokens, sequences(one))]


def sequences(one):
    return [trajectory.sequences for trajectory in one.group]


def test_success_replay_puts_a_stored_success_into_a_failed_group():
    select = success_replay(credit=CREDIT)
    (first,) = select([played([1.0, 0.0], logp=-0.9, version=3)])
    assert first.group[0].id == "a/0/0"
    (helped,) = select([played([0.0] * 8, step=5, version=9)])
    assert helped.scores.outcome.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert level(helped) == pytest.approx([2.475, *[-0.35355] * 7], abs=1e-3)
    assert helped.group[0].id == "a/5/0/replay/a/0/0"
    (sequence,) = helped.group[0].sequences
    assert set(sequence.version[sequence.mask].tolist()) == {3}
    np.testing.assert_allclose(sequence.features["old_logp"][sequence.mask], -0.9, rtol=1e-6)


@pytest.mark.parametrize(
    ("outcome", "helped"),
    [
        ([0.0, 0.0, 0.0, 0.0], True),
        ([0.1, 0.1], True),  # all equal and low, if not 0
        ([0.2, 0.2], False),  # not low
        ([0.0, 0.07], True),  # std 0.0495
        ([0.0, 0.072], False),  # std 0.0509
        ([0.0, 1.0], False),
        ([0.0], True),  # a lone sibling
        ([np.nan, 0.0, 0.0], True),
        ([np.nan, np.nan], False),
    ],
)
def test_only_groups_of_low_and_nearly_equal_rewards_get_a_success(outcome, helped):
    select = success_replay(credit=CREDIT)
    select([played([1.0])])
    (one,) = select([played(outcome, step=1)])
    assert (one.group[0].id != "a/1/0") == helped


def test_a_channel_decides_success_and_failure():
    """A wrong attempt that is paid a little is neither stored nor taken for a success."""

    def paid(right, reward, *, step):
        one = played(reward, step=step)
        return one.with_group(one.group, make_scores(reward, channels={"base": np.array(right, float)}))

    select, plain = success_replay(credit=CREDIT, channel="base"), success_replay(credit=CREDIT)
    first, second = paid([1, 0], [0.5, 0.4], step=0), paid([0, 0], [0.1, 0.5], step=1)
    assert select([first])[0] is first and [one.group[0].id for one in select.stored["a"]] == ["a/0/0"]
    (helped,) = select([second])
    assert helped.group[0].id == "a/1/0/replay/a/0/0" and helped.scores.outcome.tolist() == [0.5, 0.5]
    plain([first])
    assert len(plain.stored["a"]) == 2 and plain([second])[0] is second


def test_successes_of_the_same_task_and_of_earlier_steps_are_replayed():
    select = success_replay(credit=CREDIT)
    lost, won = played([0.0, 0.0]), played([0.0, 1.0])
    first = select([lost, won])
    assert first[0] is lost and first[1] is won  # the success of the same step comes too late
    assert select([played([0.0, 0.0], task="b", step=1)])[0].group[0].id == "b/1/0"
    assert select([played([0.0, 0.0], step=1)])[0].group[0].id == "a/1/0/replay/a/0/1"


def test_success_replay_equals_a_slow_loop():
    rng, seen, select = np.random.default_rng(0), {}, success_replay(credit=CREDIT, most=3)
    for step in range(40):
        batch = [played((rng.random(3) < 0.15).astype(float).tolist(), step=step, task=t) for t in "ab"]
        for one, own in zip(select(batch), batch, strict=True):
            stored = seen.get(own.group.task.id, [])
            if own.scores.outcome.sum() == 0 and stored:
                assert one.group[0].id.partition("/replay/")[2] in stored
                assert one.scores.outcome.tolist() == [1, 0, 0]
            else:
                assert one is own
        for own in batch:
            name = own.group.task.id
            for i in range(3):
                if own.scores.outcome[i] > 0.1:
                    seen[name] = [*seen.get(name, []), own.group[i].id][-3:]
    held = {name: [one.group[0].id for one in found] for name, found in select.stored.items()}
    assert held == seen and all(len(found) == 3 for found in held.values())


def test_untrained_rollouts_are_not_stored_and_replayed_ones_train():
    select = success_replay(credit=CREDIT)
    select([played([1.0, 1.0], trained=[False, True])])
    assert [one.group[0].id for one in select.stored["a"]] == ["a/0/1"]
    (one,) = select([played([0.0, 0.0], step=1, trained=[False, False])])
    assert one.trained.tolist() == [True, False]


def test_replayed_rollouts_are_not_stored_again():
    select = success_replay(credit=CREDIT)
    select([played([1.0])])
    for step in range(1, 5):
        select([played([0.0, 0.0], step=step)])
    assert len(select.stored["a"]) == 1


@pytest.mark.slow
def test_the_draw_is_uniform_and_depends_on_step_and_group_only():
    select = success_replay(credit=CREDIT, place="random")
    select([played([1.0] * 8)])
    picked, places = Counter(), Counter()
    for step in range(1, 400):
        (one,) = select([played([0.0] * 4, step=step)])
        (again,) = select([played([0.0] * 4, step=step)])
        assert [t.id for t in one.group] == [t.id for t in again.group]
        (place,) = [i for i, t in enumerate(one.group) if "/replay/" in t.id]
        picked[one.group[place].id.partition("/replay/")[2]] += 1
        places[place] += 1
    assert len(picked) == 8 and min(picked.values()) > 25 and min(places.values()) > 65


def test_the_store_is_bounded_by_rollouts_and_tasks():
    select = success_replay(credit=CREDIT, most=2, tasks=3)
    for step in range(6):
        select([played([1.0] * 5, step=step, task=f"t{step}"), played([1.0], step=step, task="often")])
    assert list(select.stored) == ["t4", "t5", "often"]
    assert [len(found) for found in select.stored.values()] == [2, 2, 2]


def test_the_ratio_uses_the_stored_log_probs():
    select = success_replay(credit=CREDIT)
    select([played([1.0], logp=-0.9)])
    batch = make_batch(select([played([0.0, 0.0], step=1, logp=-0.4)]), pad_id=0)
    per_row = [batch.old_logp_BT[row][batch.mask_BT[row]].unique().tolist() for row in range(2)]
    assert per_row == [pytest.approx([-0.9]), pytest.approx([-0.4])]


def test_a_stateful_credit_and_wrong_options_are_errors():
    class Remembers:
        def __call__(self, group, scores): ...
        def state_dict(self): ...
        def load_state_dict(self, state): ...

    with pytest.raises(InputError, match="no state"):
        success_replay(credit=Remembers())
    for wrong in ({"most": 0}, {"tasks": 0}, {"place": "last"}):
        with pytest.raises(InputError, match="place"):
            success_replay(credit=CREDIT, **wrong)


def test_replays_in_two_groups_of_a_task_have_different_ids():
    select = success_replay(credit=CREDIT)
    select([played([1.0])])
    twins = [played([0.0, 0.0], step=1) for _ in range(2)]
    later = replace(twins[1].group, trajectories=tuple(replace(t, id=f"{t.id}+") for t in twins[1].group))
    ids = [t.id for one in select([twins[0], twins[1].with_group(later)]) for t in one.group]
    assert len(set(ids)) == 4
