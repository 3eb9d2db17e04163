import pytest

from handaxe.worlds.parts.whole_numbers import whole_numbers


def test_numbers_of_up_to_three_digits_are_parsed():
    assert whole_numbers("96 160", 2) == (96, 160) and whole_numbers(" 0  1 2\n999 ", 4) == (0, 1, 2, 999)


@pytest.mark.parametrize("text", ["", "96", "96 160 1", "96 -1", "9.6 1", "1000 1", "\u0661 1", "a b", "96,160"])
def test_other_text_is_none(text):
    assert whole_numbers(text, 2) is None
