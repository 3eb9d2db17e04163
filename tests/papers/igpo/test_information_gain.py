"""The gain in the likelihood of the right answer by every turn."""

from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.credit.turn_norm import turn_norm
from handaxe.papers.igpo.information_gain import information_gain
from handaxe.rewards.exact_match import exact_match
from handaxe.testing.make_records import make_group, make_scores, make_trajectory


def played(texts, likelihoods):
    return replace(make_trajectory(texts=texts), notes={"answer_likelihood": likelihoods})


ATTEMPTS = [played(["a", "408"], [0.1, 0.3]), played(["a", "b", "7"], [0.3, 0.2, 0.1, 0.1]), played(["408"], [0.5])]
SIBLINGS = make_group(trajectories=ATTEMPTS, task=Task("sum", (Message("user", "12*34"),), "408"))
CONTRACT = [{"base": exact_match()}]
LAB = (
    "rewards likelihoods from a policy during a rollout, and no policy plays here; the outcome equals the base reward's"
)


def test_information_gain_is_the_difference_of_likelihoods():
    one = played(["a", "b", "408"], [0.13534, 0.36788, 0.47237])
    scores = information_gain(base=lambda group: make_scores([1.0]))(make_group(trajectories=[one]))
    assert scores.outcome.tolist() == [1.0]
    assert scores.turns[0] == pytest.approx([0.23254, 0.10449, 0.0], abs=1e-9)
    assert scores.turn_channels["gain"][0] is scores.turns[0]
    assert scores.channels["gained"] == pytest.approx([0.33703])


def test_information_gain_and_turn_norm_give_the_worked_example():
    """Turn rewards 0.2, 0.1, 1 and 0.05, -0.05, 0, the last of each the outcome."""
    group = make_group(
        trajectories=[played(["a", "b", "x"], [0.1, 0.3, 0.4]), played(["a", "b", "y"], [0.2, 0.25, 0.2])]
    )
    scores = information_gain(base=lambda group: make_scores([1.0, 0.0]))(group)
    advantages = turn_norm()(group, scores)
    first = [advantages.tokens[0][0][turn.start] for turn in group[0].turns]
    second = [advantages.tokens[1][0][turn.start] for turn in group[1].turns]
    assert first == pytest.approx([1.6528, 1.6952, 1.9918], abs=1e-4)
    assert second == pytest.approx([-1.6528, -1.2290, -0.5509], abs=1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_information_gain_equals_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    group = make_group(
        trajectories=[played(["x"] * n, rng.random(n + int(rng.integers(2))).tolist()) for n in rng.integers(1, 6, 4)]
    )
    scores = information_gain(base=lambda group: make_scores([0.0] * 4))(group)
    for one, own in zip(group, scores.turns, strict=True):
        p = one.notes["answer_likelihood"]
        for k in range(len(one.turns)):
            assert own[k] == (p[k + 1] - p[k] if k + 1 < len(one.turns) else 0.0)


def test_a_trajectory_without_turns_gains_nothing():
    group = make_group(trajectories=[played([], []), played(["408"], [0.4])])
    scores = information_gain(base=lambda group: make_scores([0.0, 1.0]))(group)
    assert [own.tolist() for own in scores.turns] == [[], [0.0]] and scores.channels["gained"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("notes", [{}, {"answer_likelihood": [0.1]}])
def test_a_trajectory_without_likelihoods_raises_input_error(notes):
    group = make_group(trajectories=[replace(make_trajectory(texts=["a", "b"]), notes=notes)])
    with pytest.raises(InputError, match=r"play it with papers\.igpo\.answer_likelihood"):
        information_gain(base=lambda group: make_scores([0.0]))(group)
