import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import ToolReply, Usage
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
    assert Usage().plus_turn(first) == (3, 2, 1.5, 2.0)
    assert Usage.of(turns()) == Usage().plus_turn(first).plus_turn(second) == (5, 2, 1.5, 2.0)
    assert Usage.of([]) == (0, 0, 0.0, 0.0)


def test_remaining_budget_is_never_negative():
    assert remaining_budget(Budget(), Usage(9, 9, 9, 9), turns=2) == Remaining(2)
    assert remaining_budget(Budget(10, 3, 2.0, 5.0), Usage(4, 1, 0.5, 5.5), turns=1) == (1, 6, 2, 1.5, 0.0)


@pytest.mark.parametrize(
    ("left", "nothing"),
    [
        (Remaining(1), False),
        (Remaining(1, tokens=1, seconds=0.1, cost=0.1), False),
        (Remaining(1, calls=0), False),
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


@pytest.mark.parametrize(
    "bounds", [{"tokens": 0}, {"calls": -1}, {"seconds": 0.0}, {"cost": -1.0}, {"cost": float("nan")}]
)
def test_budget_bounds_out_of_range_are_errors(bounds):
    with pytest.raises(InputError, match="give tokens 1 or more, calls 0 or more"):
        Budget(**bounds)
    Budget(calls=0)


def test_budgets_pairs_token_and_call_limits():
    assert budgets(tokens=(48, 96), calls=(4, 8)) == (Budget(tokens=48, calls=4), Budget(tokens=96, calls=8))
    assert budgets(calls=(1, 2)) == (Budget(calls=1), Budget(calls=2)) and budgets(tokens=[3]) == (Budget(tokens=3),)
    assert budgets() == (Budget(),)
    with pytest.raises(InputError, match="2 limits of tokens and 1 of calls"):
        budgets(tokens=(1, 2), calls=(1,))
