import pytest

from handaxe.ops.stats import column_figures
from handaxe.papers.one_reward.one_judge import GAINS, JUDGES, _opposed, one_judge
from handaxe.papers.one_reward.questions import PairQuestion, draw_questions

pytest.importorskip("PIL")


def test_a_question_is_opposed_if_another_criterion_prefers_the_other_picture():
    base = draw_questions(1, seed=0)[0].first
    good = base._replace(followed=1.0, kept=1.0, clean=1.0)
    for other, opposed in ((good._replace(clean=0.5), False), (good._replace(clean=0.5, kept=1.0), False)):
        assert _opposed(PairQuestion("clean", good, other, True)) == opposed
    lost = good._replace(kept=0.5)
    assert _opposed(PairQuestion("clean", lost, good._replace(clean=0.5), True))


def test_gains_are_differences_of_equal_seeds():
    columns = {f"right/{name}": [0.5, 0.7] for name in JUDGES} | {"right/tagged": [0.6, 0.9]}
    found = column_figures(columns, GAINS)
    assert found["gain/tagged/untagged"] == pytest.approx(0.15) == found["gain/tagged/separate"]


def test_every_figure_of_a_short_study():
    found = one_judge(seeds=1, questions=27, held_out=18, steps=3)(5)
    assert found["size/tagged"] < found["size/separate"]
    assert all(0 <= found[f"{name}/{judge}"] <= 1 for name in ("right", "opposed") for judge in JUDGES)
