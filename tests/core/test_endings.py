import pytest

from handaxe.core.endings import DEFAULT, treatments
from handaxe.core.errors import InputError


def test_treatments_fall_back_to_defaults():
    assert treatments({}) == DEFAULT
    assert treatments({"truncated": "mask"}) == {**DEFAULT, "truncated": "mask"}


@pytest.mark.parametrize(
    "wrong", [{"infra_error": "score"}, {"verifier_error": "score"}, {"died": "mask"}, {"truncated": "ignore"}]
)
def test_unknown_endings_and_impossible_treatments_are_errors(wrong):
    with pytest.raises(InputError, match="on_ending"):
        treatments(wrong)
