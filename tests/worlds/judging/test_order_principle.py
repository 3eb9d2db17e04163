import random

from handaxe.worlds.judging.order_principle import OrderPrinciple, draw_response


def test_scores_by_hand():
    """Of 35, 51 and 24: first digits 3, 5, 2 and second digits 5, 1, 4."""
    responses = ("35", "51", "24")
    assert [OrderPrinciple(0, True).score(one) for one in responses] == [3, 5, 2]
    assert [OrderPrinciple(0, False).score(one) for one in responses] == [3, 1, 4]
    assert [OrderPrinciple(1, True).score(one) for one in responses] == [5, 1, 4]


def test_responses_are_all_pairs_of_digits():
    rng = random.Random(0)
    assert {draw_response(rng) for _ in range(500)} == {f"{one}{two}" for one in range(1, 6) for two in range(1, 6)}
