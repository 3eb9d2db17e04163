import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply
from handaxe.core.usage import Usage
from handaxe.rollouts.budget import Budget, Remaining, budgets, describe_remaining, remaining_budget
from handaxe.testing.make_records import make_trajectory


def turns():
    made = make_trajectory(
        layouts=["Ut ppp tTt pp"],
        calls=[["a", "b"], []],
        replies=[[ToolReply("0-0", "a", "1", seconds=0.5, cost=2.0), ToolReply("0-1", "b", "2", seconds=1.0)], []],
    )
    return made.turns


def test_usage_sums_turns_and_replies():
    first, second = turns()
    assert Usage().plus_turn(first) == Usage(3, 2, 1.5, 2.0)
    assert Usage.of(turns()) == Usage().plus_turn(first).plus_turn(second) == Usage(5, 2, 1.5, 2.0)
    assert Usage.of([]) == Usage()


def test_remaining_budget_is_never_negative():
    assert remaining_budget(Budget(), Usage(9, 9, 9, 9), turns=2) == Remaining(2)
    assert remaining_budget(Budget(10, 3, 2.0, 5.0), Usage(4, 1, 0.5, 5.5), turns=1) == Remaining(1, 6, 2, 1.5, 0.0)
    budget = Budget(images=3, image_tokens=64)
    assert remaining_budget(budget, Usage(images=1, image_tokens=80), turns=1) == Remaining(1, images=2, image_tokens=0)


@pytest.mark.parametrize(
    ("budget", "overdrawn"),
    [
        (Budget(), False),
        (Budget(images=2, image_tokens=32), False),
        (Budget(images=1), True),
        (Budget(image_tokens=31), True),
        (Budget(images=0), True),
    ],
)
def test_images_beyond_the_limit_overdraw_the_budget(budget, overdrawn):
    assert budget.overdrawn_by_images(Usage(images=2, image_tokens=32)) is overdrawn
    assert not budget.overdrawn_by_images(Usage())


@pytest.mark.parametrize(
    ("left", "nothing"),
    [
        (Remaining(1), False),
        (Remaining(1, tokens=1, seconds=0.1, cost=0.1), False),
        (Remaining(1, calls=0), False),
        (Remaining(1, images=0, image_tokens=0), False),
        (Remaining(1, tokens=0), True),
        (Remaining(1, seconds=0.0), True),
        (Remaining(1, cost=0.0), True),
    ],
)
def test_without_calls_left_a_turn_remains(left, nothing):
    assert left.nothing is nothing


def test_describe_remaining_names_every_bound():
    assert (
        describe_remaining(Remaining(turns=1, tokens=40, seconds=2.5))
        == "You have left: 1 turn, 40 tokens, 2.5 seconds."
    )
    assert (
        describe_remaining(Remaining(2, 1, 0, None, 0.125))
        == "You have left: 2 turns, 1 token, 0 calls, a cost of 0.125."
    )
    left = Remaining(2, images=1, image_tokens=40)
    assert describe_remaining(left) == "You have left: 2 turns, 1 image, 40 image tokens."


@pytest.mark.parametrize(
    "bounds",
    [
        {"tokens": 0},
        {"calls": -1},
        {"images": -1},
        {"image_tokens": -1},
        {"seconds": 0.0},
        {"cost": -1.0},
        {"cost": float("nan")},
    ],
)
def test_budget_bounds_out_of_range_are_errors(bounds):
    with pytest.raises(InputError, match="give tokens 1 or more, calls, images and image_tokens 0 or more"):
        Budget(**bounds)
    Budget(calls=0)


def test_budgets_pairs_token_and_call_limits():
    assert budgets(tokens=(48, 96), calls=(4, 8)) == (Budget(tokens=48, calls=4), Budget(tokens=96, calls=8))
    assert budgets(calls=(1, 2)) == (Budget(calls=1), Budget(calls=2)) and budgets(tokens=[3]) == (Budget(tokens=3),)
    assert budgets() == (Budget(),)
    with pytest.raises(InputError, match="2 limits of tokens and 1 of calls"):
        budgets(tokens=(1, 2), calls=(1,))
