"""Readers: hand-worked values, and what cannot be read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable, choice, coverage, expected, json_object, number, probability
from handaxe.core.errors import InputError


def labelled(yes, no):
    return AskAnswer(label_logp={"yes": yes, "no": no})


def test_probability_is_a_sigmoid_of_the_difference():
    read = probability()
    assert read(labelled(-0.5, -1.5)) == pytest.approx(1 / (1 + math.exp(-1)))
    assert read(labelled(-800.0, -1.0)) == pytest.approx(0.0) and read(labelled(-1.0, -800.0)) == 1.0
    assert read(AskAnswer("Yes.")) == 1.0 and read(AskAnswer("no")) == 0.0
    for bad in (math.nan, -math.inf):
        with pytest.raises(Unreadable):
            read(labelled(bad, -1.0))


def test_expected_weights_by_hand():
    read = expected({"0": 0.0, "1": 0.5, "2": 1.0})
    said = AskAnswer(label_logp={"0": math.log(0.1), "1": math.log(0.2), "2": math.log(0.1)})
    assert read(said) == pytest.approx(0.5) and read(AskAnswer("grade 2")) == 1.0
    assert expected({"yes": 1.0, "no": 0.0})(labelled(-0.5, -1.5)) == pytest.approx(probability()(labelled(-0.5, -1.5)))
    far = AskAnswer(label_logp={"0": -900.0, "1": -900.0, "2": -math.inf})
    assert read(far) == pytest.approx(0.25)
    for bad in ({"0": math.nan, "1": 0.0, "2": 0.0}, dict.fromkeys("012", -math.inf)):
        with pytest.raises(Unreadable):
            read(AskAnswer(label_logp=bad))


def test_coverage_is_the_mass_on_the_labels():
    assert coverage(labelled(math.log(0.1), math.log(0.04))) == pytest.approx(0.14)
    assert math.isnan(coverage(AskAnswer("yes")))


@pytest.mark.parametrize("text", ["Yes.", "well, yes", "YES", "yes! yes"])
def test_one_label_is_read(text):
    assert choice(("yes", "no"))(AskAnswer(text)) == "yes"


@pytest.mark.parametrize("text", ["", "yes or no", "eyes", "yesterday", "nothing", "no, yes"])
def test_two_labels_and_none_are_unreadable(text):
    with pytest.raises(Unreadable):
        choice(("yes", "no"))(AskAnswer(text))


def test_a_choice_has_two_labels():
    with pytest.raises(InputError, match="two or more labels"):
        choice(("yes", "yes"))


@pytest.mark.parametrize(
    "text, value", [("7", 7), ("7 of 10, so 7", 7), ("score: 3.5", 3.5), ("-0", 0), ("9 then 10", 10), ("10.", 10)]
)
def test_the_last_number_is_read(text, value):
    assert number(0, 10)(AskAnswer(text)) == value


@pytest.mark.parametrize("text", ["", "seven", "11", "-1", "7 or 11", "1e9", "nan", "inf"])
def test_numbers_off_the_scale_are_unreadable(text):
    with pytest.raises(Unreadable):
        number(0, 10)(AskAnswer(text))


@pytest.mark.slow
def test_the_last_json_object_is_read():
    read = json_object({"steps": list, "sure": bool})
    text = 'First {"steps": [0], "sure": true}, no: {"steps": [1, 0], "sure": false, "more": 1} I think'
    assert read(AskAnswer(text)) == {"steps": [1, 0], "sure": False}
    for bad in (
        '{"steps": [1], "sure": 1}',
        '{"steps": [1, "sure": true}',
        "[1]",
        '{"steps": {}, "sure": true}',
        "{" * 70_000,
    ):
        with pytest.raises(Unreadable):
            read(AskAnswer(bad))


def test_a_truth_value_is_no_number():
    with pytest.raises(Unreadable):
        json_object({"n": int})(AskAnswer('{"n": true}'))


@given(st.text(max_size=200))
def test_readers_never_raise_another_error(text):
    for read in (probability(), choice(("a", "b")), number(0, 1), json_object({"a": str})):
        try:
            read(AskAnswer(text))
        except Unreadable:
            continue
