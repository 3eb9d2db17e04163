from hypothesis import given
from hypothesis import strategies as st

from handaxe.papers.icpl.preference import preference
from handaxe.training.stages.parts.program_search import FAILED, TASK, Feedback, ProgramTrial


def trials_of(scores):
    return [
        ProgramTrial(f"program {k}", FAILED, {}, "fails")
        if score is None
        else ProgramTrial(f"program {k}", score, {TASK: (score,), "component/ok": (score, 2.0)})
        for k, score in enumerate(scores)
    ]


def test_preference_matches_its_example():
    found = preference()(trials_of([0.1, 0.9, 0.4]), (), 0)
    assert (found.good.text, found.bad.text) == ("program 1", "program 0")
    assert found.text.splitlines() == [
        "Preferred program:",
        "program 1",
        "component/ok: 0.90, 2.00",
        "Rejected program:",
        "program 0",
    ]


def test_preference_shows_what_changed_between_good_programs():
    past = [
        Feedback(ProgramTrial("a = 1\nx = 1", FAILED, {})),
        Feedback(None),
        Feedback(ProgramTrial("x = 1", FAILED, {})),
    ]
    found = preference()([ProgramTrial("x = 2", 0.1, {TASK: (0.1,)})], past, 0)
    assert found.text.splitlines() == [
        "Preferred program:",
        "x = 2",
        "Change from preferred program 0 to 1:",
        "- a = 1",
        "Change from preferred program 1 to 2:",
        "- x = 1",
        "+ x = 2",
    ]
    again = preference()([ProgramTrial("x = 1", 0.1, {TASK: (0.1,)})], past[2:], 0)
    assert again.text.splitlines()[2:] == ["Change from preferred program 0 to 1:", "none"]


def test_preference_needs_two_programs_that_ran_for_a_bad_one():
    assert preference()(trials_of([None, 0.5, None]), (), 0).bad is None
    assert preference()(trials_of([None, None]), (), 0) is None


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=1, max_size=6), st.integers(0, 99), st.booleans())
def test_preference_shows_no_measure_and_no_failed_program(scores, seed, informed):
    found = preference(informed=informed)(trials_of(scores), (), seed)
    ran = [score for score in scores if score is not None]
    if found is None:
        assert not ran
        return
    own = [int(one.text.split()[1]) for one in (found.good, found.bad) if one is not None]
    assert len(set(own)) == len(own) == min(2, len(ran)) or (informed and len(set(ran)) == 1)
    assert all(scores[k] is not None for k in own)
    assert all(one.score == FAILED and TASK not in one.curves for one in (found.good, found.bad) if one is not None)
    assert TASK not in found.text
    if informed:
        assert scores[own[0]] == max(ran) and (len(own) == 1 or scores[own[1]] == min(ran))


def test_preference_by_chance_varies_with_the_seed():
    drawn = {preference(informed=False)(trials_of([0.1, 0.9, 0.4]), (), seed).good.text for seed in range(30)}
    assert len(drawn) == 3
