from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.papers.agent0.question_value import question_value
from handaxe.papers.agent0.repetition import cluster_shares
from handaxe.papers.agent0.votes import NOTE, Proposal
from handaxe.testing.make_records import make_group, make_task, make_trajectory

pytest.importorskip("sacrebleu")

LAB = "rewards questions by a solver's answers; no question is correct or wrong"

TASK = make_task()


def wrote(question, **more):
    notes = {NOTE: Proposal(question=question, **more)._asdict()}
    return replace(make_trajectory(texts=[question or "nonsense"], task=TASK), notes=notes)


SIBLINGS = make_group(
    task=TASK,
    trajectories=[
        wrote("3+4", answer="7", share=0.6, calls=3.0, attempts=10),
        wrote("12*34", answer="408", share=1.0, calls=1.0, attempts=10),
        wrote("3+4", answer="7", share=0.4, calls=0.0, attempts=10, own="7"),
        wrote(""),
    ],
)
FOUR = ["3+4", "12*34", "name a river", "what is it"]


def said(found, **options):
    return question_value(**options)(make_group(task=TASK, trajectories=found))


def four(**first):
    """A question among four that are unlike each other: its share is 0.25."""
    return [wrote(FOUR[0], **first), *(wrote(text, answer="1", share=0.5) for text in FOUR[1:])]


def test_question_value_matches_its_example():
    scores = said(four(answer="7", share=0.6, calls=3.0), per_call=0.05)
    assert scores.channels["repeated"][0] == 0.25 and scores.channels["unsure"][0] == pytest.approx(0.8)
    assert scores.outcome[0] == pytest.approx(0.64)


def test_near_copies_are_the_cluster_without_verbatim_copies():
    near, copy = "what is the sum of 23 and 41", "what is the sum of 23 and 57"
    found = said([wrote(text, answer="1", share=0.5) for text in (near, near, copy, "name a river")])
    assert found.channels["repeated"].tolist() == [0.75, 0.75, 0.75, 0.25]
    assert found.channels["near_copies"].tolist() == [0.25, 0.25, 0.5, 0.0]
    worth = 1.0 - found.channels["repeated"]  # unsure 1, no calls
    assert found.outcome.tolist() == pytest.approx(worth.tolist())


def test_the_released_form_matches_its_example():
    called = "3+4 ```output ```output ```output"
    notes = {NOTE: Proposal(FOUR[0], "7", 0.6, 0.0, 10, "7")._asdict()}
    rest = four(answer="7", share=0.6)[1:]
    scores = said(
        [replace(make_trajectory(texts=[called], task=TASK), notes=notes), *rest], released=True, tools=1, per_call=0.05
    )
    assert scores.outcome[0] == pytest.approx(0.3)


def test_the_released_form_pays_only_for_the_proposers_own_answer():
    rest = {"released": True, "tools": 0.0, "repeated": 0.0}
    for own, share, paid in (("7", 0.6, 0.4), ("8", 0.6, 0.0), ("", 0.6, 0.0), ("7", 0.1, 0.0)):
        assert said(four(answer="7", share=share, own=own), **rest).outcome[0] == pytest.approx(paid)
    assert said([wrote(""), wrote("3+4")], released=True).outcome.tolist() == pytest.approx([-1.5, -0.5])


def test_unreadable_questions_earn_0_and_no_question_less():
    scores = said([wrote(""), wrote("3+4", answer="7", share=1.0), wrote("")])
    assert scores.outcome.tolist() == [0.0, 0.0, 0.0]
    assert scores.channels["readable"].tolist() == [0, 1, 0]
    assert scores.channels["repeated"].tolist() == pytest.approx([2 / 3, 1 / 3, 2 / 3])


def test_a_lone_question_has_a_cluster_share_of_1():
    assert said([wrote("3+4", answer="7", share=0.5)]).outcome.tolist() == [0.0]
    assert said([wrote("3+4", answer="7", share=0.5)], repeated=0.0).outcome.tolist() == [1.0]
    assert said([]).outcome.tolist() == []


proposals = st.builds(
    Proposal,
    question=st.sampled_from(["", "1+1", "1+2", "12*34"]),
    answer=st.just("2"),
    share=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 1.0]),
    calls=st.sampled_from([0.0, 0.5, 3.0, 9.0]),
    own=st.sampled_from(["", "2", "3"]),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(proposals, min_size=1, max_size=6), st.booleans())
def test_question_value_matches_a_slow_loop(found, released):
    group = [replace(make_trajectory(texts=[one.question], task=TASK), notes={NOTE: one._asdict()}) for one in found]
    outcome = said(group, released=released, unsure=0.5, repeated=0.7).outcome
    shares = cluster_shares([one.question for one in found])
    for one, share, value in zip(found, shares, outcome, strict=True):
        if released:
            agreed = one.share if one.own == "2" and one.share > 0.1 else 0.0
            wanted = 0.5 * min(agreed, 1 - agreed) - 0.7 * share if one.question else -1 - 0.7 * share
        elif one.question:
            tools = 0.6 * 0.25 * min(one.calls, 4)
            wanted = max(0.0, 0.5 * (1 - 2 * abs(one.share - 0.5)) + tools - 0.7 * share)
        else:
            wanted = 0.0
        assert value == pytest.approx(wanted)
    assert np.isfinite(outcome).all()


def test_question_value_rejects_invalid_arguments():
    with pytest.raises(InputError, match="most_calls is -1"):
        question_value(most_calls=-1)
