from dataclasses import replace

import numpy as np
import pytest
from helpers.reward_models import labelled_group, make_engine

from handaxe.core.errors import InputError
from handaxe.core.records import Pair, Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.labelled_groups import with_zero_credit
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.icpl.queried_ensemble import queried_ensemble

LAB = "reward models whose pairs a training asks; see reward_model"
CONTRACT = [{"engines": (make_engine(), make_engine(seed=1)), "epochs": 1, "fit_epochs": 1, "channel": None}]


def engine():
    return LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0))


def rated(seeds):
    """Groups of a better and a worse rollout, whose reward is no label: the channel is."""
    labelled = [labelled_group(seed) for seed in seeds]
    return with_zero_credit(
        [(group, Scores(np.zeros(2), channels={"correct": scores.outcome})) for group, scores in labelled]
    )


def begun(**options):
    judge = queried_ensemble(**{"members": 2, "first": 3, "per_step": 2, "most": 6, **options})
    judge.begin(engine())
    judge.fit([labelled_group(seed) for seed in range(5)])
    return judge


def test_disagreement_matches_the_docstring_example():
    class Fixed:
        def __init__(self, *probability):
            self.probability = probability

        def compare(self, sides):
            return np.array(self.probability[: len(sides)])

    judge = queried_ensemble(members=2)
    judge.members = (Fixed(0.9, 0.6), Fixed(0.1, 0.6))
    group, _ = labelled_group(0)
    pair = Pair(group[1], group[0])
    assert judge.disagreements([pair, pair]).tolist() == pytest.approx([0.4, 0.0])


def test_queries_are_the_pairs_of_greatest_disagreement_before_the_update():
    judge, groups = begun(), rated(range(10, 18))
    assert judge.queries == 3
    better = [int(one.scores.channels["correct"].argmax()) for one in groups]
    pairs = [Pair(one.group[i], one.group[1 - i]) for one, i in zip(groups, better, strict=True)]
    spread_P = judge.disagreements(pairs)
    wanted = sorted(range(8), key=lambda i: -spread_P[i])[:2]
    told = judge.learn(groups, step=0)
    assert told["queries"] == 5 and told["disagreement"] == pytest.approx(spread_P[wanted].mean(), abs=1e-6)
    assert told["disagreement_all"] == pytest.approx(spread_P.mean(), abs=1e-9)
    assert told["disagreement_all"] < told["disagreement"]
    asked = judge._asked([])[3:]
    for pair, i in zip(asked, wanted, strict=True):
        assert np.array_equal(pair.chosen.sequences[0].ids, pairs[i].chosen.sequences[0].ids)
        assert np.array_equal(pair.rejected.sequences[0].ids, pairs[i].rejected.sequences[0].ids)


def test_the_number_of_queries_ends_at_the_most_and_learning_goes_on():
    judge = begun()
    before = judge.learn(rated(range(10, 18)), step=0)
    assert [judge.learn(rated(range(20, 28)), step=k)["queries"] for k in (1, 2)] == [6.0, 6.0]
    group, _ = labelled_group(30)
    score_G = judge.score(group)
    after = judge.learn([], step=3)
    assert after["disagreement"] == 0.0 and after["0/labels"] == 6 and before["0/labels"] == 5
    assert not np.array_equal(judge.score(group), score_G)


def named(rated, name):
    """A group of another task."""
    task = replace(rated.group.task, id=name)
    members = tuple(replace(one, task=task) for one in rated.group)
    return rated.with_group(replace(rated.group, task=task, trajectories=members), rated.scores)


def test_pairs_in_the_order_of_tasks_replace_disagreement():
    groups = [named(one, f"task-{9 - n}") for n, one in enumerate(rated(range(10, 18)))]
    asked = {}
    for disagreement in (False, True):
        judge = begun(disagreement=disagreement)
        judge.learn(groups, step=0)
        asked[disagreement] = [pair.chosen.task.id for pair in judge._asked([])[3:]]
    assert asked[False] == ["task-2", "task-3"] != asked[True]


def test_members_learn_an_order_that_no_query_showed():
    judge = queried_ensemble(members=2, first=24, most=24, fit_epochs=20, learning_rate=3e-3)
    judge.begin(engine())
    judge.fit([labelled_group(seed) for seed in range(24)])
    right = [
        np.sign(np.diff(judge.score(group))) == np.sign(np.diff(scores.outcome))
        for group, scores in map(labelled_group, range(50, 70))
    ]
    assert np.mean(right) > 0.9


def test_a_restored_judge_scores_and_learns_alike():
    judge, other = begun(), queried_ensemble(members=2, first=3, per_step=2, most=6)
    judge.learn(rated(range(10, 18)), step=0)
    other.begin(engine())
    other.load_state_dict(judge.state_dict())
    assert other.queries == 5
    for one in (judge, other):
        one.learn(rated(range(30, 38)), step=1)
    group, _ = labelled_group(40)
    assert np.array_equal(judge.score(group), other.score(group)) and judge.queries == other.queries == 6


@pytest.mark.parametrize("wrong", [{"members": 0}, {"first": -1}, {"per_step": -1}, {"most": 5}, {"epochs": 0}])
def test_numbers_out_of_range_are_named(wrong):
    with pytest.raises(InputError, match="most from 1 and from first"):
        queried_ensemble(**wrong)
