import pytest

pytest.importorskip("bfcl_eval")
pytest.importorskip("bm25s")

from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.qta.tool_index import rank_score, tool_index

TOOLS = 9
place_lists = st.lists(st.integers(1, TOOLS), min_size=1, max_size=4)


@pytest.mark.parametrize("places, score", [((1, 3), -3.2), ((3, 3), -3.3), ((1, 4), -4.25), ((9,), -9.9)])
def test_rank_score_by_hand(places, score):
    """9 tools: places 1 and 3 have the worst place 3 and the mean 2, so -(3 + 2 / 10)."""
    assert rank_score(places, TOOLS) == pytest.approx(score, abs=1e-12)


@given(place_lists, place_lists)
def test_the_worst_place_decides_before_the_mean(one, other):
    if max(one) < max(other):
        assert rank_score(one, TOOLS) > rank_score(other, TOOLS)
    elif max(one) == max(other):
        larger = sum(one) * len(other) < sum(other) * len(one)
        assert (rank_score(one, TOOLS) > rank_score(other, TOOLS) + 1e-12) == larger


@pytest.mark.parametrize("places", [(), (0,), (10,)])
def test_rank_score_rejects_places_outside_the_tools(places):
    with pytest.raises(InputError, match="from 1 to 9"):
        rank_score(places, TOOLS)


def test_index_ranks_by_words_and_puts_tools_without_a_word_last():
    known = tool_index()
    assert len(known.groups) == len(set(known.numbers.values())) == 128
    assert known.rank("press the brake pedal")[0] == "pressBrakePedal"
    assert known.places("press the brake pedal", ["pressBrakePedal", "post_tweet"]) == [1, 128]
    assert known.rank("zzz") == ()


def test_numbers_name_tools_and_unknown_numbers_name_none():
    known = tool_index()
    numbers = [known.numbers["pressBrakePedal"], "999", known.numbers["cd"]]
    assert known.named(numbers) == "press brake pedal, cd"
    assert {known.numbers[name][0] for name in known.mates("cd")} == {known.numbers["cd"][0]}
