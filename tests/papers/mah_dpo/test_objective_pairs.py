import numpy as np

from handaxe.core.records import Scores
from handaxe.papers.mah_dpo.objective_pairs import objective_pairs
from handaxe.testing.make_records import make_group, make_trajectory


def labelled(outcomes, tokens):
    sides = [make_trajectory(layouts=["Ut" + "p" * count], sample=i) for i, count in enumerate(tokens)]
    return make_group(trajectories=sides), Scores(np.array(outcomes, float))


def test_pairs_by_hand():
    """Outcomes 1, 0 and 9, 2 tokens: the objectives disagree."""
    first, second = objective_pairs([labelled([1, 0], [9, 2])])
    assert (first.head, first.pair.chosen.id, first.pair.rejected.id) == (0, "task-0/0/0", "task-0/0/1")
    assert (second.head, second.pair.chosen.id, second.pair.rejected.id) == (1, "task-0/0/1", "task-0/0/0")
    assert (first.pair.strength, second.pair.strength) == (1.0, 7.0)


def test_pairs_equal_a_loop_over_siblings():
    outcomes, tokens = [1, 0, 0, 1], [5, 3, 5, 8]
    found = objective_pairs([labelled(outcomes, tokens)], most=100)
    slow = [(0, i, j) for i in range(4) for j in range(4) if outcomes[i] > outcomes[j]]
    slow += [(1, i, j) for i in range(4) for j in range(4) if tokens[i] < tokens[j]]
    names = [(one.head, one.pair.chosen.sample, one.pair.rejected.sample) for one in found]
    assert sorted(names) == slow


def test_at_most_so_many_pairs_of_an_objective_with_the_strongest_first():
    found = objective_pairs([labelled([1, 1, 1], [5, 3, 9])], most=1)
    assert [(one.head, one.pair.strength) for one in found] == [(1, 6.0)]
