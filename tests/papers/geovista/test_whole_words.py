import pytest

from handaxe.papers.geovista.whole_words import holds, words_of


def test_example():
    assert words_of("Is it the Lyon/Paris line?") == "is it lyon paris line"
    assert holds("is it lyon paris line", "lyon paris") and not holds("the nicest", "nice")


@pytest.mark.parametrize(("text", "phrase"), [("", ""), ("a b", ""), ("", "a"), ("ab c", "b c"), ("a bc", "a b")])
def test_what_is_not_held(text, phrase):
    assert not holds(text, phrase)
