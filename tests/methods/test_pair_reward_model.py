"""The reward model of a method is fitted on pairs of siblings with different rewards, and then frozen."""

from helpers.methods import made

from handaxe.core.records import Group
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.pair_reward_model import pair_reward_model
from handaxe.models.load import load
from handaxe.testing.make_records import make_rated, make_scores, make_trajectory


def rated(task):
    """Rewards 1, 0 and 0: two pairs."""
    texts = [str(task.answer), "0", "1"]
    rollouts = tuple(make_trajectory(texts=[text], task=task, id=text) for text in texts)
    scores = make_scores([1.0, 0.0, 0.0], channels={"correct": [1.0, 0.0, 0.0]})
    return make_rated(group=Group(task, rollouts), scores=scores)


def test_the_model_learns_two_pairs_of_a_group_in_its_fit_alone():
    base = made("grpo", "--world", "arithmetic")
    model, _ = pair_reward_model(base, channel="correct", epochs=2)
    model.begin(LocalEngine(load("tiny").model))
    one = rated(base.world.tasks("train", 1, 0)[0])
    assert model.fit([(one.group, one.scores)])["labels"] == 2
    before = model.score(one.group)
    found = model.learn([one], step=0)
    assert "loss" not in found and 0 <= found["agreement"] <= 1
    assert (model.score(one.group) == before).all()
