import json
from collections import Counter

import numpy as np
import pytest

from handaxe.core.errors import CheckpointError, InputError, TaskError
from handaxe.papers.skill_mimic.low_reward_more import low_reward_more
from handaxe.papers.skill_mimic.sampler_monitor import SamplerMonitor
from handaxe.papers.skill_mimic.sampling_probabilities import sampling_probabilities
from handaxe.testing.make_records import make_task

KINDS = {"a": "sum", "b": "sum", "c": "product", "d": "product"}


def made(seed=0, names="abcd", **knobs):
    tasks = [make_task(id=name, metadata={"kind": KINDS[name]}) for name in names]
    return low_reward_more(**{"key": "kind", **knobs})(tasks, seed)


def ids(tasks):
    return "".join(task.id for task in tasks)


def test_the_first_steps_are_uniform():
    assert made().probabilities().tolist() == [0.25] * 4


def test_rewards_are_running_means_and_fill_their_class(seen):
    pool = made()
    pool.observe(seen(a=[1, 0], c=[0, 0]))
    assert pool.reward_N.tolist()[0::2] == [0.5, 0.0] and np.isnan(pool.reward_N[1::2]).all()
    expected = sampling_probabilities([0.5, 0.5, 0.0, 0.0], [KINDS[name] for name in "abcd"])
    assert pool.probabilities() == pytest.approx(expected, abs=1e-12)
    pool.observe(seen(a=[1, 1]))
    assert pool.reward_N[0] == 0.75


def test_a_class_without_a_group_has_the_mean_of_all(seen):
    pool = made()
    pool.observe(seen(a=[1], b=[0]))
    expected = sampling_probabilities([1.0, 0.0, 0.5, 0.5], [KINDS[name] for name in "abcd"])
    assert pool.probabilities() == pytest.approx(expected, abs=1e-12)


def test_unscored_and_foreign_groups_change_nothing(seen):
    pool = made()
    pool.observe(seen(a=[float("nan")] * 2, x=[1, 1]))
    assert np.isnan(pool.reward_N).all()
    pool.observe(seen(a=[float("nan"), 1.0]))
    assert pool.reward_N[0] == 1


def test_first_draws_have_the_probabilities(seen):
    pool = made(names="ab", alpha=0.5)
    pool.observe(seen(a=[0.2], b=[0.8]))
    first = Counter(ids(pool.next(step, 1)) for step in range(1500))
    assert first["a"] / 1500 == pytest.approx(0.7263, abs=0.04)


def test_a_step_has_no_task_twice_and_repeats_its_tasks(seen):
    pool = made()
    for step in range(20):
        found = ids(pool.next(step, 3))
        assert len(set(found)) == 3
        pool.observe(seen(**{found[0]: [0.0, 1.0]}))
        assert ids(pool.next(step, 4))[:3] == found
    assert Counter(ids(pool.next(20, 8))) == dict.fromkeys("abcd", 2)
    assert pool.next(-1, 0) == []


def test_a_resumed_curriculum_continues(seen):
    pool = made(seed=3)
    pool.next(0, 2)
    pool.observe(seen(a=[1, 1], d=[0, 0]))
    again = made(seed=3)
    again.load_state_dict(json.loads(json.dumps(pool.state_dict())))
    assert ids(again.next(0, 4)) == ids(pool.next(0, 4))
    for step in range(1, 9):
        assert ids(again.next(step, 4)) == ids(pool.next(step, 4))


def test_the_pool_is_the_first_tasks_and_no_key_is_one_class(seen):
    pool = made(pool=2, key=None)
    assert sorted(ids(pool.next(0, 2))) == ["a", "b"]
    pool.observe(seen(a=[0.2], b=[0.8]))
    assert pool.probabilities() == pytest.approx([0.726287, 0.273713], abs=1e-6)


def test_the_monitor_reports_the_distance_from_uniform(seen):
    monitor = SamplerMonitor()
    pool = made(names="ab", monitor=monitor)
    assert monitor.learn([], step=0) == {}
    pool.next(0, 1)
    assert monitor.learn([], step=0) == {"tilt": 0.0, "most": 1.0}
    pool.observe(seen(a=[0.2], b=[0.8]))
    pool.next(1, 1)
    expected = {"tilt": 0.226287, "most": 1.452574}
    assert monitor.learn([], step=1) == pytest.approx(expected, abs=1e-6)
    again = SamplerMonitor()
    again.load_state_dict(json.loads(json.dumps(monitor.state_dict())))
    assert again.learn([], step=1) == pytest.approx(expected, abs=1e-6)


def test_bad_input_raises():
    for knobs in ({"alpha": -0.1}, {"sharpness": 0.0}, {"pool": 0}):
        with pytest.raises(InputError, match="give 0 to 1"):
            made(**knobs)
    with pytest.raises(TaskError, match="no metadata 'hops'"):
        made(key="hops")
    for names in ("", "aa"):
        with pytest.raises(TaskError):
            made(names=names)
    with pytest.raises(CheckpointError, match="same pool"):
        made().load_state_dict(made(names="ab").state_dict())
