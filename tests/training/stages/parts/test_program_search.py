import pytest
from hypothesis import given
from hypothesis import strategies as st

from handaxe.core.errors import InputError
from handaxe.training.stages.parts.program_search import (
    FAILED,
    TASK,
    Feedback,
    ProgramTrial,
    best_trial,
    search_programs,
)

NAMES = ("ok", "turn")


def trial_of(score, text="p"):
    failed = score is None
    return ProgramTrial(text, FAILED if failed else score, {} if failed else {TASK: (score,)}, "no" if failed else "")


def round_best(trials, past, seed):
    best = best_trial(trials)
    return None if best is None else Feedback(best)


def run(scores, *, programs, feedback=round_best, briefs=None):
    left = iter(scores)

    def author(brief, count, seed):
        if briefs is not None:
            briefs.append((brief, seed))
        return [f"program {k}" for k in range(count)]

    rounds = len(scores) // programs
    return search_programs(
        author=author,
        trial=lambda text: trial_of(next(left), text),
        feedback=feedback,
        names=NAMES,
        programs=programs,
        rounds=rounds,
        seed=3,
    )


def test_search_programs_matches_its_example():
    briefs = []
    found = run([None, 0.3, 0.7, 0.6, 0.5, None, 0.1, 0.1, 0.1], programs=3, briefs=briefs)
    assert [one.best.score for one in found] == [0.7, 0.7, 0.7]
    good = [brief.feedback.good for brief, _ in briefs]
    assert good[0] is None and [one.score for one in good[1:]] == [0.7, 0.6]
    assert all(brief.names == NAMES for brief, _ in briefs)
    assert len({seed for _, seed in briefs}) == 3


def test_feedback_reads_the_feedback_of_all_rounds_before():
    seen = []

    def feedback(trials, past, seed):
        seen.append([one.good.score for one in past])
        return round_best(trials, past, seed)

    run([0.3, 0.7, None, None, 0.6, 0.5, 0.1, 0.2], programs=2, feedback=feedback)
    assert seen == [[], [0.7], [0.7], [0.7, 0.6]]


def test_search_programs_repeats_the_request_after_a_round_of_failures():
    briefs = []
    found = run([0.4, 0.2, None, None, 0.1, 0.5], programs=2, briefs=briefs)
    assert briefs[1][0] == briefs[2][0]
    assert [one.best.score for one in found] == [0.4, 0.4, 0.5]
    assert run([None, None], programs=2)[0].best is None


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), min_size=1, max_size=12), st.integers(1, 4))
def test_best_program_never_gets_worse_and_failures_rank_last(scores, programs):
    scores = scores[: len(scores) // programs * programs]
    if not scores:
        return
    found = run(scores, programs=programs)
    best = [None if one.best is None else one.best.score for one in found]
    known = [score for score in best if score is not None]
    assert known == sorted(known)
    assert best == [None] * (len(best) - len(known)) + known
    ran = [score for score in scores if score is not None]
    assert best[-1] == (max(ran) if ran else None)
    assert all(one.best.runs for one in found if one.best)


@pytest.mark.parametrize("sizes", [{"programs": 0}, {"rounds": 0}])
def test_search_programs_refuses_empty_searches(sizes):
    arguments = {"author": None, "trial": None, "feedback": None, "names": NAMES, "programs": 1, "rounds": 1, "seed": 0}
    with pytest.raises(InputError, match="give 1 or more of each"):
        search_programs(**{**arguments, **sizes})


def test_search_programs_refuses_another_number_of_programs():
    with pytest.raises(InputError, match="wrote 1 programs and not 2"):
        search_programs(
            author=lambda brief, count, seed: ["p"],
            trial=trial_of,
            feedback=round_best,
            names=NAMES,
            programs=2,
            rounds=1,
            seed=0,
        )
