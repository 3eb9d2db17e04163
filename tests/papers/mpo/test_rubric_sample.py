import pytest

from handaxe.papers.mpo.rubric_sample import add_scores, count_words, within_budget


def test_the_worked_example():
    """Item scores 4, 3 and "x", which is no number."""
    assert add_scores([4, 3, None]) == 7
    assert add_scores([]) == 0


def test_words_of_all_items():
    assert count_words(("No letter twice.", "Short.")) == 4


@pytest.mark.parametrize("budget, kept", [(10, 2), (9, 2), (8, 1), (4, 0), (12, 3)])
def test_proposals_within_the_budget(budget, kept):
    proposals = [("a b c d e",), ("a b", "c d"), ("a b c",)]
    assert within_budget(proposals, budget) == proposals[:kept]
