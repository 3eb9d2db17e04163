import pytest

from handaxe.papers.gta.listed_answer import listed_answer

LISTS = [["8"], ["km", "kilometres"]]


@pytest.mark.parametrize(
    "text, right",
    [("8 kilometres", 1), ("It is 8 KM.", 1), ("18 km", 0), ("8", 0), ("8 kmh", 0), ("", 0), ("8.5 km", 1)],
)
def test_every_group_needs_a_whole_word(text, right):
    assert listed_answer(text, LISTS) == right


def test_a_word_of_the_blacklist_and_special_characters():
    assert listed_answer("8 km or 9 km", LISTS, ["9"]) == 0
    assert listed_answer("the total is $8.50", [["$8.50"]]) == 1 and listed_answer("anything", []) == 1
