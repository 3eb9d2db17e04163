from dataclasses import replace

import numpy as np
import pytest

from handaxe.commands.configure import parse_train
from handaxe.core.records import Disposition, PlayedGroup, RatedGroup, ScoredGroup, Scores
from handaxe.credit.group_norm import group_norm
from handaxe.methods.base_side import BaseSide
from handaxe.methods.build import build, make_method, make_world
from handaxe.methods.run_spec import base_spec, run_template
from handaxe.testing.make_records import make_group, make_trajectory

SMALL = {"steps": 2, "groups": 2, "group_size": 3, "held_out": 1, "max_turns": 2, "max_tokens": 8, "seed": 3}


def side(name, **changes):
    """The base of a method in the gym, and the reward of the base replaced by the number of tokens."""
    spec = base_spec(run_template(name, world="gym").read({**SMALL, **changes}))
    method = make_method(spec, make_world(spec))
    made = build(spec, method=method)
    return BaseSide.of(spec, replace(method, reward=lengths), made)


def lengths(group):
    return Scores(np.array([float(one.num_tokens) for one in group]))


@pytest.fixture
def rated():
    """Two rollouts of 2 and 4 tokens; the method's reward gave no number to the second, and has a feature."""
    rollouts = [
        make_trajectory(id="short", texts=["a"], features={"ref_logp": -1.0}),
        make_trajectory(id="long", texts=["a", "b"], features={"ref_logp": -1.0}),
    ]
    group = make_group(trajectories=rollouts)
    scores = Scores(np.array([1.0, np.nan]))
    played = PlayedGroup(group).decided({group[1].id: Disposition("unscored", "reward")})
    return RatedGroup(ScoredGroup(played, group, scores), group_norm()(group, scores), np.ones(2, bool))


def test_base_scores_rollouts_that_the_reward_of_the_method_left_unscored(rated):
    (found,) = side("rloo").rate([rated], 0, ())
    assert [one.id for one in found.group] == [one.id for one in rated.group]
    assert found.scores.outcome.tolist() == [one.num_tokens for one in found.group]
    first, second = (one[0].sum() for one in found.advantages.tokens)
    assert first < 0 < second


@pytest.mark.slow
def test_base_reads_its_own_features_only(rated):
    (without,) = side("rloo").rate([rated], 0, ("ref_logp",))
    assert "ref_logp" not in without.group[0].sequences[0].features
    (measured,) = side("dapo").rate([rated], 0, ())
    sequence = measured.group[0].sequences[0]
    assert sequence.features["ref_logp"][sequence.mask].max() < 0
    assert sequence.features["ref_logp"][sequence.mask].min() != -1, "measured under the reference model of the run"


def test_base_plays_a_group_a_task_with_equal_tokens_in_each_call():
    base = side("rloo")
    tasks = base.tasks.next(0, 2)
    first, second = base.play(tasks, 0), base.play(tasks, 0)
    assert len(first) == 6 and {one.task.id for one in first} == {task.id for task in tasks}
    for one, other in zip(first, second, strict=True):
        assert one.id == other.id
        np.testing.assert_array_equal(one.sequences[0].ids, other.sequences[0].ids)


def test_base_draws_the_tasks_of_the_named_curriculum():
    words = ["--world", "arithmetic", "--curriculum", "few_tasks", "--curriculum.count", "3", "--model", "tiny"]
    spec = base_spec(parse_train("rloo", words, prog="handaxe train rloo", also={})[0])
    method = make_method(spec, make_world(spec))
    made = build(spec, method=method)
    base = BaseSide.of(spec, method, made)
    ours, theirs = (one.next(0, 12) for one in (made["tasks"], base.tasks))
    assert [one.id for one in theirs] == [one.id for one in ours] and len({one.id for one in theirs}) == 3
