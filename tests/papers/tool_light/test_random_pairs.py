from handaxe.papers.tool_light.random_pairs import random_pairs
from handaxe.testing.make_records import make_rated


def test_each_pair_of_a_correct_and_an_incorrect_chain_is_drawn():
    group = make_rated(outcome=[1, 0, 1, 0, 1])
    found = {(pair.chosen.sample, pair.rejected.sample) for s in range(80) for pair in random_pairs(seed=s)([group])}
    assert found == {(i, j) for i in (0, 2, 4) for j in (1, 3)}
    assert random_pairs()([make_rated(outcome=[1, 1]), make_rated(outcome=[0, 0])]) == []
