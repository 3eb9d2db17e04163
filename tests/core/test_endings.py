import pytest

from handaxe.core.endings import DEFAULT, treatments
from handaxe.core.errors import InputError


def test_what_is_not_said_is_as_always():
    assert treatments({}) == DEFAULT
    assert treatments({"truncated": "mask"}) == {**DEFAULT, "truncated": "mask"}


@pytest.mark.parametrize(
    "wrong", [{"infra_error": "score"}, {"verifier_error": "score"}, {"died": "mask"}, {"truncated": "ignore"}]
)
def test_what_cannot_be(wrong):
    with pytest.raises(InputError, match="on_ending"):
        treatments(wrong)
