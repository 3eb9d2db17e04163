import numpy as np
import pytest
from helpers.reward_models import labelled_group, make_engine

from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.ensemble import ensemble
from handaxe.judges.reward_model import reward_model
from handaxe.judges.step_status import step_status
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

CONTRACT = [
    {"members": [reward_model(engine=make_engine(seed=s), learning_rate=0.01) for s in (0, 1)], "combine": "median"},
]

LAB = "combines other judges; see reward_model"


class Says:
    def __init__(self, *scores):
        self.scores = scores

    def score(self, group):
        return np.array(self.scores[: len(group)])


def group(count=1):
    return make_group(trajectories=[make_trajectory(id=str(i), sample=i) for i in range(count)])


@pytest.mark.parametrize("combine, want", [("mean", 0.5), ("median", 0.4), ("min", 0.1), ("pessimistic", 0.1258343)])
def test_the_docstring_example(combine, want):
    judge = ensemble(members=[Says(1.0), Says(0.4), Says(0.1)], combine=combine)
    assert judge.score(group()).tolist() == pytest.approx([want])


def test_a_constant_on_a_member_changes_nothing_once_centred():
    groups = [make_rated(group=group(3), outcome=[1, 0, 0])]
    members = [Says(1.0, 0.2, 0.3), Says(0.4, 0.9, 0.1)]
    moved = [members[0], Says(*(score + 7 for score in members[1].scores))]
    ranks = []
    for own in (members, moved):
        judge = ensemble(members=own, combine="min", centred=True)
        judge.learn(groups, step=0)
        ranks.append(judge.score(group(3)).tolist())
    assert ranks[0] == pytest.approx(ranks[1])
    plain = [ensemble(members=own, combine="min").score(group(3)).tolist() for own in (members, moved)]
    assert plain[0] != pytest.approx(plain[1])


def test_members_begin_learn_and_keep_their_own_weights():
    policy = LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0))

    def make():
        return ensemble(
            members=[
                reward_model(pairs=ordered(), head=Head(init="normal", seed=s), learning_rate=0.01) for s in (0, 1)
            ],
            centred=True,
        )

    judge, (one, scores) = make(), labelled_group(0)
    judge.begin(policy)
    before = judge.member_scores(one)
    assert not np.allclose(before[0], before[1])
    metrics = judge.fit([(one, scores)])
    assert {"0/loss", "1/loss"} <= set(metrics)
    found = judge.learn([make_rated(group=one, outcome=scores.outcome)], step=0)
    assert found["spread"] > 0 and found["0/agreement"] in (0.0, 0.5, 1.0)
    other = make()
    other.begin(policy)
    other.load_state_dict(judge.state_dict())
    assert other.score(one).tolist() == judge.score(one).tolist()


def test_steps_and_pairs():
    one = make_group(trajectories=[make_trajectory(texts=["", "4"], calls=[["f"], []], replies=[["1"], []], id="a")])
    judge = ensemble(members=[step_status(), step_status()])
    assert judge.score_steps(one)[0].tolist() == step_status().score_steps(one)[0].tolist()
    two = group(2)
    assert ensemble(members=[Says(1.0, 0.0)]).compare([(two[0], two[1])]).tolist() == pytest.approx([0.7310586])


def test_bad_ensembles_are_one_sentence():
    with pytest.raises(InputError, match="a member or more"):
        ensemble(members=[])
    with pytest.raises(InputError, match="not 'best'"):
        ensemble(members=[Says(1.0)], combine="best")
    with pytest.raises(InputError, match="Says scores no turns"):
        ensemble(members=[Says(1.0)]).score_steps(group())
