import json
import math

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.judges.feature_net import feature_net
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_group, make_rated, make_trajectory


def lengths(one):
    return float(len(one.turns)), float(one.num_tokens), 1.0


CONTRACT = [
    {"features": lengths, "size": 3, "pairs": ordered()},
    {"features": lengths, "size": 3, "pairs": ordered(), "hidden": 0, "learns": True},
]
LAB = "scores 0 to all rollouts that it was not fitted on; see reward_model"


def group(*turns):
    return make_group(trajectories=[make_trajectory(texts=["a"] * count) for count in turns])


def test_the_docstring_example():
    judge = feature_net(
        features=lambda one: {1: (0.8, 0.1), 2: (0.6, 0.4)}[len(one.turns)], size=2, pairs=ordered(), hidden=0
    )
    judge.load_state_dict({**judge.state_dict(), "weights": [torch.tensor([[1.0], [-2.0]]).double()]})
    found = judge.score(group(1, 2))
    assert found == pytest.approx([0.6, -0.2], abs=1e-9)
    assert math.log1p(math.exp(-(found[0] - found[1]))) == pytest.approx(0.3711, abs=1e-4)
    chance = judge.compare([(group(1)[0], group(2)[0])])
    assert chance == pytest.approx([1 / (1 + math.exp(-0.8))], abs=1e-9)


def test_scores_equal_a_slow_loop():
    judge = feature_net(features=lengths, size=3, pairs=ordered(), hidden=4, seed=3)
    judge.fit([(group(1, 2, 3), Scores(np.array([0.0, 1.0, 0.0])))])
    state = judge.state_dict()
    first, bias, last = (one.tolist() for one in state["weights"])
    for one, found in zip(group(1, 2, 4), judge.score(group(1, 2, 4)), strict=True):
        x = [(value - m) / s if s else 0.0 for value, m, s in zip(lengths(one), state["mean"], state["std"])]
        total = 0.0
        for h in range(4):
            total += last[h][0] * math.tanh(sum(x[f] * first[f][h] for f in range(3)) + bias[h])
        assert found == pytest.approx(total, abs=1e-9)


def test_a_preference_that_is_not_linear_is_learned():
    """Two turns are better than one and than three."""
    given = [(group(1, 2, 3), Scores(np.array([0.0, 1.0, 0.0])))]
    judge = feature_net(features=lengths, size=3, pairs=ordered(), steps=400)
    metrics = judge.fit(given)
    assert metrics["labels"] == 2 and metrics["accuracy"] == 1
    assert judge.score(group(1, 2, 3)).argmax() == 1
    linear = feature_net(features=lengths, size=3, pairs=ordered(), hidden=0, steps=400)
    assert linear.fit(given)["accuracy"] < 1


def test_a_feature_that_never_varies_does_not_count():
    given = [(group(1, 2), Scores(np.array([1.0, 0.0])))]
    last = [1.0]
    judge = feature_net(features=lambda one: (float(len(one.turns)), last[0]), size=2, pairs=ordered(), hidden=0)
    judge.fit(given)
    before = judge.score(group(1, 2)).tolist()
    last[0] = 5.0
    assert judge.score(group(1, 2)).tolist() == before


def test_a_state_with_a_constant_feature_is_strict_json_and_scores_as_before():
    judge, other = (feature_net(features=lengths, size=3, pairs=ordered(), hidden=4, seed=seed) for seed in (0, 1))
    judge.fit([(group(1, 2), Scores(np.array([1.0, 0.0])))])
    state = judge.state_dict()
    json.dumps({name: state[name] for name in ("mean", "std", "scaled")}, allow_nan=False)
    other.load_state_dict(state)
    assert other.score(group(1, 2, 4)).tolist() == judge.score(group(1, 2, 4)).tolist()


def test_only_a_learner_changes_in_a_run():
    rated = [make_rated(group=group(1, 2), outcome=[0, 1])]
    for learns in (False, True):
        judge = feature_net(features=lengths, size=3, pairs=ordered(), learns=learns)
        before = judge.score(group(1, 2))
        metrics = judge.learn(rated, step=0)
        assert ("labels" in metrics) == learns
        assert (judge.score(group(1, 2)).tolist() != before.tolist()) == learns


def test_wrong_numbers_raise():
    with pytest.raises(InputError, match="size and steps from 1"):
        feature_net(features=lengths, size=0, pairs=ordered())
    with pytest.raises(InputError, match="takes 2 numbers"):
        feature_net(features=lengths, size=2, pairs=ordered()).score(group(1))
