from functools import partial

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.within_length import within_length
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.worlds.arithmetic import arithmetic

CONTRACT = [{"reward": exact_match()}]
LAB = [
    LabCase(
        "within_length(...)",
        partial(arithmetic, easy=0.0, mistakes=True),
        lambda world: within_length(reward=world.correct),
    ),
]
PAIR = make_group(trajectories=[make_trajectory(texts=["x" * 999]), make_trajectory(texts=["x" * 1000])])


def ones(group):
    return make_scores([1] * len(group))


def test_within_length_matches_the_docstring_example():
    scores = within_length(reward=ones)(PAIR)
    assert scores.outcome.tolist() == [1, 0] and scores.channels["reward"].tolist() == [1, 1]


def test_a_long_answer_earns_otherwise():
    short = within_length(reward=ones, characters=5, otherwise=-0.5, extract=lambda one: one.final_text[:4])
    assert short(PAIR).outcome.tolist() == [1, 1]
    assert within_length(reward=ones, characters=5, otherwise=-0.5)(PAIR).outcome.tolist() == [-0.5, -0.5]


def test_wrong_options_are_errors():
    with pytest.raises(InputError, match="characters is 0"):
        within_length(reward=ones, characters=0)
    with pytest.raises(InputError, match="per-turn values"):
        within_length(reward=lambda group: make_scores([1, 1], turns=[[1], [1]]))(PAIR)
