from handaxe.core.usage import Usage
from handaxe.rollouts.play.usage_account import UsageAccount
from handaxe.testing.make_records import make_trajectory

(TURN,) = make_trajectory(layouts=["Uppp"]).turns


def test_account_counts_turns_and_usage_outside_of_turns():
    account = UsageAccount(counts=True)
    account.add_turn(TURN)
    account.add_outside(Usage(9, 1))
    assert account.outside == Usage(9, 1) and account.spent == Usage(12, 1)


def test_turn_that_leaves_the_trajectory_stays_spent():
    account = UsageAccount(counts=True, spent=Usage(tokens=10), outside=Usage(tokens=-2))
    account.add_turn(TURN)
    assert account.spent.tokens == 13 and account.outside.tokens == -2
    account.add_outside(Usage.of([TURN]), spent=False)
    assert account.spent.tokens == 13 and account.outside.tokens == 1


def test_account_without_budget_counts_no_turn():
    account = UsageAccount(counts=False)
    account.add_turn(TURN)
    account.add_outside(Usage(cost=2.0))
    assert account.spent == account.outside == Usage(cost=2.0)
