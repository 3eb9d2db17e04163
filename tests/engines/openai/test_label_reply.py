"""Label likelihoods from the alternatives of a first token."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InfrastructureError
from handaxe.engines.openai.label_reply import one_token_separates, read_labels

YES_NO = {"yes": ("yes", "Yes"), "no": ("no",)}


def answer(top, sampled=None):
    """An answer with (token, probability) of alternatives."""
    found = [{"token": token, "logprob": math.log(p)} for token, p in top]
    return {"choices": [{"logprobs": {"content": [{"token": sampled, "logprob": 0.0, "top_logprobs": found}]}}]}


def values(top, labels=YES_NO, sampled=None):
    reply = read_labels(answer(top, sampled), labels)
    return {label: math.exp(logp) for label, logp in reply.logp.items()} or reply.failure


def test_each_form_counts_by_its_longest_token():
    found = values([("yes", 0.6), ("Yes", 0.1), ("y", 0.1), ("no", 0.05), (" yes", 0.05), ("yesterday", 0.05)])
    assert found == {"yes": pytest.approx(0.7), "no": pytest.approx(0.05)}, "white space and longer words do not count"
    assert values([("y", 0.4), ("Y", 0.2), ("n", 0.3)]) == {"yes": pytest.approx(0.6), "no": pytest.approx(0.3)}
    assert values([("yes", 0.45), ("yes", 0.25), ("no", 0.29)])["yes"] == pytest.approx(0.7), "two tokens with one text"


def test_label_outside_the_alternatives_has_the_most_that_it_can_have():
    assert values([("yes", 0.97), ("Yes", 0.02), ("maybe", 0.001)])["no"] == pytest.approx(0.001)
    assert values([("yes", 0.9799), ("Yes", 0.02)])["no"] == pytest.approx(0.0001), "not more than the rest"
    assert values([("no", 0.97), ("maybe", 0.004)])["yes"] == pytest.approx(0.008), "two forms"
    assert values([("yes", 1.0)])["no"] == pytest.approx(1e-9), "and it is finite"


def test_sampled_token_is_no_bound_for_the_others():
    """A server may report an unlikely sampled token beside the most likely ones."""
    top = [("yes", 0.9), ("maybe", 0.02), ("zebra", 1e-6)]
    assert values(top)["no"] == pytest.approx(1e-6) and values(top, sampled="zebra")["no"] == pytest.approx(0.02)


@pytest.mark.parametrize(
    "top",
    [
        [("yes", 0.5), ("maybe", 0.3)],
        [("The", 0.9), ("Well", 0.05)],
        [("yes", 0.02), ("maybe", 0.02), ("The", 0.02)],
        [("yes", 0.5), ("no", 0.1), ("maybe", 0.05)],  # Yes may have 0.05
    ],
)
def test_unknown_mass_above_five_percent_is_no_value(top):
    assert values(top) == "unclear"
    reply = read_labels(answer(top), YES_NO)
    assert reply.logp == {} and "the labels yes, no a mass of" in reply.text


def test_token_of_two_labels_counts_for_neither():
    labels = {"good": ("good",), "great": ("great",)}
    assert values([("go", 0.5), ("gre", 0.2), ("g", 0.2)], labels) == {
        "good": pytest.approx(0.5),
        "great": pytest.approx(0.2),
    }
    assert values([("go", 0.6), ("g", 0.3), ("maybe", 0.1)], labels) == "unclear"
    assert values([("g", 0.9), ("maybe", 0.01)], labels) == "unclear"


def test_value_changes_by_at_most_five_percent_for_any_unknown_mass():
    """For every split of what is unknown between two labels, P(yes) stays within 0.05 of the value."""
    valued = 0
    for yes, no, rest, least in itertools.product((0.0, 0.3, 0.6), (0.0, 0.1), (0.01, 0.1), (1e-4, 0.01, 0.1)):
        known = [(token, p) for token, p in (("yes", yes), ("no", no), ("maybe", least)) if p]
        found = values([*known, ("The", 1.0 - sum(p for _, p in known) - rest)])
        if found == "unclear":
            continue
        valued += 1
        value = found["yes"] / (found["yes"] + found["no"])
        most_yes, most_no = min(least * (1 if yes else 2), rest), min(0.0 if no else least, rest)
        for add_yes, add_no in ((0.0, 0.0), (most_yes, 0.0), (0.0, most_no), (most_yes, most_no)):
            true_yes, true_no = yes + add_yes, no + add_no
            assert abs(value - true_yes / (true_yes + true_no)) <= 0.05 + 1e-9
    assert valued > 9


@pytest.mark.parametrize(
    "labels, separate",
    [
        (YES_NO, True),
        ({"1": ("1",), "2": ("2",)}, True),
        ({"1": ("1",), "10": ("10",)}, False),
        ({"a": ("x",), "b": ("y", "x")}, False),
        ({"good": ("good",), "great": ("great",)}, True),
        ({"no": ("no", "not")}, True),
    ],
)
def test_labels_that_begin_alike_are_not_separated_by_a_token(labels, separate):
    assert one_token_separates(labels) == separate


@pytest.mark.parametrize("field", [None, {}, {"content": None}, {"content": []}, {"content": [{"top_logprobs": []}]}])
def test_answer_without_alternatives_gives_none(field):
    assert read_labels({"choices": [{"logprobs": field}]}, YES_NO) is None


KEYS = st.sampled_from(["choices", "logprobs", "content", "top_logprobs", "token", "logprob", "x"])
JSON = st.recursive(
    st.sampled_from([None, True, 0, -1, -0.5, -(10**400), 1e999, -1e999, float("nan"), "", "yes", "no"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=300)
@given(JSON, JSON, JSON)
def test_random_fields_are_values_or_infrastructure_errors(field, entries, others):
    tops = [{"token": "yes", "logprob": others}, {"token": others, "logprob": -0.1}]
    for value in (field, {"content": entries}, {"content": [entries]}, {"content": [{"top_logprobs": others}]}):
        for made in (value, {"content": [{"token": "yes", "top_logprobs": tops}]}):
            try:
                reply = read_labels({"choices": [{"logprobs": made}]}, YES_NO)
            except InfrastructureError:
                continue
            assert reply is None or reply.failure or all(map(math.isfinite, reply.logp.values()))
