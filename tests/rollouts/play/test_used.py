from handaxe.core.records import Spent
from handaxe.rollouts.play.used import Used
from handaxe.testing.make_records import make_trajectory

(TURN,) = make_trajectory(layouts=["Uppp"]).turns


def test_example():
    used = Used(counts=True)
    used.take_back(Spent(9, 1))
    assert used.in_place(4) == Spent(5, 1) == used.besides


def test_a_turn_counts_for_budgets_once_wherever_it_went():
    used = Used(counts=True, spent=Spent(tokens=10), besides=Spent(tokens=-2))
    used.turn(TURN)
    assert used.spent.tokens == 13 and used.besides.tokens == -2
    used.take_back(Spent.of([TURN]))
    assert used.spent.tokens == 13 and used.besides.tokens == 1
    assert used.in_place(2).tokens == 1, "two of its three tokens stand in the next turn"
    assert used.spent.tokens == 11 and used.besides.tokens == -1
    used.turn(TURN)
    assert used.spent.tokens == 14
    assert used.in_place(0) == Spent(), "nothing was taken back since"


def test_what_a_turn_stood_for_goes_on_with_what_stands_in_its_place():
    used = Used(counts=False)
    used.take_back(Spent(8, 1))
    first = used.in_place(3)
    used.take_back(Spent(6, 1), [first])
    assert used.in_place(3) == Spent(5 + 6 - 3, 2) and used.besides == Spent(8 - 3 + 6 - 3, 2)


def test_nothing_is_counted_by_turns_where_no_budget_asks():
    used = Used(counts=False)
    used.turn(TURN)
    used.add(Spent(cost=2.0))
    assert used.spent == used.besides == Spent(cost=2.0)
