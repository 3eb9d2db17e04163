import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tool_light.pair_criteria import pair_criteria
from handaxe.testing.make_records import make_rated


def test_each_name_makes_pairs_of_both_stages():
    group = make_rated(outcome=[1, 0])
    assert [len(pairs([group])) for pairs in pair_criteria("random")] == [1, 1]
    assert [len(pairs([group])) for pairs in pair_criteria("paper")] == [0, 0], "equal calls and lengths"
    with pytest.raises(InputError, match="paper or random"):
        pair_criteria("all")
