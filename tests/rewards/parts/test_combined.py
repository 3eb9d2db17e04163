import numpy as np
import pytest

from handaxe import rewards
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Scores
from handaxe.rewards.parts.combined import Combined
from handaxe.testing.make_records import make_group, make_scores, make_trajectory
from handaxe.testing.rewards import check_reward


def fixed(outcome, *, turns=None, channels=None, eligible=None):
    return lambda group: make_scores(outcome, turns=turns, channels=channels, eligible=eligible)


ANSWER, FORMAT = fixed([1, 0]), fixed([1, 1])
PAIR = make_group(trajectories=[make_trajectory(texts=["a", "b"]), make_trajectory(texts=["c"])])


class Counter:
    """A reward with a count of its calls."""

    def __init__(self):
        self.count = 0

    def __call__(self, group):
        self.count += 1
        return Scores(np.full(len(group), float(self.count)))

    def state_dict(self):
        return {"count": self.count}

    def load_state_dict(self, state):
        self.count = state["count"]


def test_inner_channels_keep_their_names_under_the_component():
    inner = rewards.weighted({"x": (2.0, ANSWER)})
    scores = rewards.weighted({"outer": (3.0, inner), "other": (1.0, fixed([0, 0], channels={"c": [7, 8]}))})(PAIR)
    assert scores.outcome.tolist() == [6, 0]
    assert {name: value.tolist() for name, value in scores.channels.items()} == {
        "outer": [2, 0],
        "outer/x": [1, 0],
        "other": [0, 0],
        "other/c": [7, 8],
    }


def test_eligible_siblings_are_eligible_in_all_components():
    reward = rewards.product(
        {"a": fixed([1, 1], eligible=[True, False]), "b": fixed([1, 1], eligible=[True, True]), "c": ANSWER}
    )
    assert reward(PAIR).eligible.tolist() == [True, False]


def test_a_value_that_is_not_finite_names_component_and_trajectory():
    reward = rewards.weighted({"answer": (1.0, ANSWER), "broken": (1.0, lambda g: Scores(np.array([0.0, np.nan])))})
    with pytest.raises(VerifierError, match="'broken'.*task-0/0/1"):
        reward(PAIR)


def test_empty_components_and_infinite_weights_are_errors():
    with pytest.raises(InputError, match="'answer'"):
        rewards.weighted({"answer": (float("nan"), ANSWER)})
    with pytest.raises(InputError, match="at least one"):
        rewards.product({})
    with pytest.raises(InputError, match="rewards.turns_to_outcome"):
        rewards.product({"a": fixed([0, 0], turns=[[1, 2], [3]])})(PAIR)


def test_state_of_nested_components_is_kept():
    def build(counter):
        return rewards.turns_to_outcome(
            rewards.gate(on=FORMAT, then=rewards.weighted({"count": (1.0, counter), "a": (0, ANSWER)}))
        )

    first, second = Counter(), Counter()
    reward, twin = build(first), build(second)
    reward(PAIR), reward(PAIR)
    assert reward.state_dict() == {"reward": {"then": {"count": {"count": 2}}}}
    twin.load_state_dict(reward.state_dict())
    assert second.count == 2
    assert twin(PAIR).outcome.tolist() == reward(PAIR).outcome.tolist() == [3, 3]


def test_permuted_moves_outcomes_to_other_siblings():
    group = make_group(trajectories=[make_trajectory(texts=[text]) for text in "abcdefgh"])
    plain = rewards.weighted({"letter": (1.0, rewards.outcome(lambda one: sum(map(ord, one.final_text))))})
    scores, dealt = plain(group), rewards.permuted(plain, seed=1)(group)
    assert sorted(dealt.outcome) == sorted(scores.outcome) and list(dealt.outcome) != list(scores.outcome)
    assert list(dealt.channels["letter"]) == list(dealt.outcome)
    assert list(rewards.permuted(plain, seed=2)(group).outcome) != list(dealt.outcome)
    check_reward(rewards.permuted(plain), group)


def test_channels_of_the_merge_join_those_of_components():
    def merge(group, parts):
        return Scores(parts["a"].outcome, channels={"own": 3 * parts["a"].outcome})

    scores = Combined({"a": ANSWER}, merge)(PAIR)
    assert {name: value.tolist() for name, value in scores.channels.items()} == {"own": [3, 0], "a": [1, 0]}
