"""Places of errors in the user's code, and parts with functions of the user."""

from functools import partial

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.user_code import check_call, error_place, is_user_file, user_function
from handaxe.credit.group_norm import group_norm
from handaxe.rewards.exact_match import exact_match
from handaxe.rewards.outcome import outcome
from handaxe.rewards.weighted import weighted


def own(trajectory):
    return 1 / 0


class Own:
    def __call__(self, group):
        return None


def test_error_place_is_the_innermost_line_of_the_user():
    with pytest.raises(ZeroDivisionError) as caught:
        own(None)
    assert error_place(caught.value).endswith(", in own") and __file__ in error_place(caught.value)


def test_error_place_skips_frames_of_packages():
    with pytest.raises(Exception) as caught:
        np.linalg.inv(np.zeros((2, 3)))
    assert f"{__file__}, line " in error_place(caught.value)
    assert error_place(ValueError("never raised")) == ""


@pytest.mark.parametrize("file", [None, "", "<string>", np.__file__, partial.__module__])
def test_is_user_file_excludes_packages(file):
    assert not is_user_file(file)


def test_is_user_file_includes_a_file_of_the_user():
    assert is_user_file(__file__)


@pytest.mark.parametrize(
    "part, name",
    [
        (own, "own"),
        (partial(own, 1), "own"),
        (outcome(own), "own"),
        (weighted({"a": (1.0, exact_match()), "b": (1.0, outcome(own))}), "own"),
        (Own(), "Own"),
        (weighted({"a": (1.0, exact_match())}), ""),
        (group_norm(), ""),
    ],
)
def test_user_function_names_the_function_of_the_user(part, name):
    assert user_function(part) == name


def test_a_function_with_other_arguments_is_one_sentence():
    check_call(own, ("trajectory",), name="the reward own")
    check_call(Own(), ("group",), name="the reward Own")
    check_call(lambda *given, **more: None, ("task", "facts"), name="any")
    check_call(min, ("a", "b"), name="a function in C")
    with pytest.raises(
        InputError, match=r"^the expert shop:own takes \(trajectory\), and is called with \(task, facts\)$"
    ):
        check_call(own, ("task", "facts"), name="the expert shop:own")
