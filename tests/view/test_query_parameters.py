import pytest

from handaxe.core.errors import InputError
from handaxe.view.query_parameters import parse_query, whole_number
from handaxe.view.record_search import Where


def test_parse_query_converts_parameters():
    assert parse_query({"first": "2", "trained": "0"}) == Where(step=(2.0, None), trained=False)
    assert parse_query({"last": "", "low": "-0.5", "text": "a b"}) == Where(score=(-0.5, None), text="a b")


@pytest.mark.parametrize(
    "query", [{"first": "x"}, {"low": "nan"}, {"high": "1e400"}, {"fate": "x"}, {"text": "a " * 51}]
)
def test_parse_query_raises_for_invalid_parameters(query):
    with pytest.raises(InputError):
        parse_query(query)


def test_whole_number_has_a_range_and_a_default():
    assert whole_number({"id": "-3"}, "id") == -3 and whole_number({}, "id", 7) == 7
    for value in ("", "1.5", str(2**53), "one"):
        with pytest.raises(InputError, match="id is"):
            whole_number({"id": value}, "id")
