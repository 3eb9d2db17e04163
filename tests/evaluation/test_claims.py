import pytest
from helpers.claim_runs import claim

from handaxe.core.errors import InputError
from handaxe.evaluation.claims import Claim


def test_a_gain_against_the_start_is_an_error():
    with pytest.raises(InputError, match="from the start already"):
        claim("up", over="gain", baseline="start")


def test_claims_on_evaluations_need_a_control():
    assert not claim().needs_control and Claim("", "calls", "down").needs_control
    assert claim(control=True).needs_control and not Claim("", "calls", "down", control=False).needs_control


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"direction": "sideways"}, "up or down"),
        ({"keeps": "training/x"}, "give another one"),
        ({"over": "first"}, "level="),
        ({"level": 0.5}, "level="),
        ({"within": 0}, "a margin above 0"),
        ({"margin": 0.0}, "give one of them, above 0"),
        ({"margin": 0.1, "relative_margin": 0.1}, "give one of them"),
        ({"relative_margin": float("nan")}, "above 0"),
    ],
)
def test_inconsistent_arguments_are_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        claim(**arguments)


def test_measured_names_the_figure_in_words():
    assert claim().measured == "training/x" and claim(over="area").measured == "training/x (mean of the run)"
    assert claim(over="first", level=0.5, axis="tokens").measured == "tokens until training/x is 0.5"


@pytest.mark.parametrize(
    ("metric", "more", "margin"),
    [
        ("pass@1", {}, 0.03),
        ("pass^4", {"over": "area"}, 0.03),
        ("pass@1", {"over": "first", "level": 0.5, "axis": "calls"}, 15.0),
        ("calls", {}, 15.0),
        ("calls", {"margin": 0.2}, 0.2),
        ("pass@1", {"relative_margin": 0.5}, 75.0),
        ("training/x", {"relative_margin": 0.01}, 1.5),
    ],
)
def test_margin_is_a_share_or_relative_to_the_baseline(metric, more, margin):
    """The baseline's mean is 150."""
    assert Claim("", metric, "up", **more).margin_for([100.0, 200.0]) == pytest.approx(margin)


def test_a_figure_without_a_default_margin_needs_one():
    with pytest.raises(InputError, match="training/x has no default margin: add margin"):
        Claim("", "training/x", "up").margin_for([1.0])
    with pytest.raises(InputError, match="no default margin"):
        Claim("", "calls", "up", baseline="zero").margin_for([0.0])


def test_decides_as_ignores_text_note_and_margin():
    assert claim().decides_as(Claim("other", "training/x", "down", note="n", relative_margin=0.2))
    assert not claim().decides_as(claim("up")) and not claim().decides_as(claim(over="area"))


@pytest.mark.parametrize(
    ("metric", "more", "needed"),
    [
        ("pass@1", {}, True),
        ("pass@1", {"baseline": "grpo --rounds 1"}, True),
        ("pass@1", {"baseline": "start"}, False),
        ("training/step_seconds", {}, False),
        ("training/trained_tokens_per_second", {}, False),
    ],
)
def test_claims_about_time_or_the_start_need_no_other_update_than_the_bases(metric, more, needed):
    assert Claim("", metric, "up", **more).needs_other_update is needed
