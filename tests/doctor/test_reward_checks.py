import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.core.errors import TaskError
from handaxe.core.records import Scores
from handaxe.credit.group_norm import group_norm
from handaxe.doctor.reward_checks import check_determinism, check_zero_gradient, expected_equal
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group


def groups(*outcomes, trained=True, fate="trained"):
    """Groups of rollouts with these outcomes and the advantages of GRPO."""
    found = []
    for values in outcomes:
        group, scores = make_group(size=len(values)), Scores(np.array(values, float))
        everyone = np.ones(len(values), bool)
        advantages = group_norm()(group, scores)
        found.append(recorded_group(group, scores, advantages, trained=everyone & trained, fate=fate))
    return found


def test_expected_equal_is_the_sum_of_powers():
    assert expected_equal([1, 0, 0, 0], 8) == pytest.approx(0.25**8 + 0.75**8)
    assert expected_equal([1, 1, 0.5, 0], 2) == pytest.approx(0.25 + 2 * 0.0625)
    assert expected_equal([0.1 + 0.2, 0.3], 8) == 1


def test_half_of_the_groups_without_gradient_is_ok():
    found = check_zero_gradient(groups([1, 0, 0, 1], [0, 0, 0, 0]), group_size=4)
    assert (found.level, found.figures["none"], found.figures["equal"]) == ("ok", 0.5, 0.5)
    assert found.figures["expected"] == pytest.approx(0.25**4 + 0.75**4) and found.figures["spread"] == 0.25
    assert "1 of 2 groups of 4 have no gradient (50%)" in found.found


def test_constant_reward_is_an_error():
    found = check_zero_gradient(groups(*[[1, 1, 1, 1]] * 4), group_size=4)
    assert found.level == "error" and found.figures["none"] == found.figures["expected"] == 1
    assert found.remedy.startswith("All 16 rollouts scored 1: take harder tasks")
    assert (
        check_zero_gradient(groups([0, 0]), group_size=2).level == "warning"
    )  # two rollouts may score equally by chance


def test_most_groups_without_gradient_is_a_warning():
    assert check_zero_gradient(groups([1, 0], [0, 0], [0, 0]), group_size=2).level == "warning"


def test_groups_dropped_by_selection_have_no_gradient():
    left_out = groups([1, 0] * 4, [0, 1] * 4, trained=False, fate="unselected")
    found = check_zero_gradient(left_out, group_size=8)
    assert found.level == "error" and found.figures["equal"] == 0 and found.figures["none"] == 1
    surplus = groups([1, 0] * 4, trained=False, fate="surplus")
    assert check_zero_gradient([*groups([1, 0] * 4), *surplus], group_size=8).figures["groups"] == 1


def test_run_without_training_is_ok():
    assert check_zero_gradient(groups(*[[1] * 8] * 2), group_size=8, trains=False).level == "ok"
    assert check_zero_gradient([], group_size=8).found.startswith("cannot be checked")


def test_deterministic_reward_is_ok():
    assert check_determinism(outcome(lambda one: len(one.turns)), groups([1, 0], [0, 0])).level == "ok"


def test_random_reward_is_an_error():
    rng = np.random.default_rng(0)
    found = check_determinism(outcome(lambda one: float(rng.random())), groups([1, 0], [0, 0]))
    assert found.level == "error" and "differ by up to" in found.found and "seed" in found.remedy


class Remembers:
    """Stateful reward that grows with each call; its state round-trips."""

    def __init__(self):
        self.seen = 0

    def __call__(self, group):
        self.seen += 1
        return Scores(np.full(len(group), float(self.seen)))

    def state_dict(self):
        return {"seen": self.seen}

    def load_state_dict(self, state):
        self.seen = state["seen"]


def test_stateful_reward_is_called_from_the_same_state():
    reward = Remembers()
    assert check_determinism(reward, groups([1, 0], [0, 0])).level == "ok" and reward.seen == 0


def test_reward_that_depends_on_sibling_order_is_a_warning():
    def first(group):
        return Scores(np.arange(len(group), dtype=float))

    found = check_determinism(first, groups([1, 0]))
    assert found.level == "warning" and found.figures["reordered"] == found.figures["largest"] == 1


def test_reward_that_fails_is_a_warning():
    def broken(group):
        raise TaskError("the answer is None")

    found = check_determinism(broken, groups([1, 0]))
    assert found.level == "warning" and "the answer is None" in found.found
    assert check_determinism(broken, []).level == "warning"
