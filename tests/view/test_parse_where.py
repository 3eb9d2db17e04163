import pytest

from handaxe.core.errors import InputError
from handaxe.view.parse_where import parse_where
from handaxe.view.record_search import Where


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        (
            'tool:search step:3.. http://x "no results"',
            {"tool": "search", "step": (3, None), "text": 'http://x "no results"'},
        ),
        ("step:4 score:>=0.5", {"step": (4, 4), "score": (0.5, None)}),
        ("score:-1..0.25 outcome:incorrect", {"score": (-1, 0.25), "outcome": "incorrect"}),
        ('task:"a b" trained:no fate:unselected', {"task": "a b", "trained": False, "fate": "unselected"}),
        ("score:<=2e-3 group:7", {"score": (None, 0.002), "group": 7}),
    ],
)
def test_parse_where_reads_fields_and_words(text, expected):
    assert parse_where(text) == Where(**expected)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("outcome:great", "no outcome 'great'; give one of correct"),
        ("fate:x", "no fate 'x'"),
        ("step:two", "step:two is not a range"),
        ("trained:maybe", "give trained:yes"),
        ("group:3..5", "group:3..5 is not the row"),
        ("tool:a word tool:b", "tool: appears twice"),
        ("x" * 2000, "more than 1000 characters"),
    ],
)
def test_parse_where_raises_for_wrong_values(text, match):
    with pytest.raises(InputError, match=match):
        parse_where(text)
