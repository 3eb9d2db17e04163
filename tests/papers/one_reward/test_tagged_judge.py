import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.papers.one_reward.questions import TAG_SIZE, draw_questions
from handaxe.papers.one_reward.tagged_judge import TaggedJudge
from handaxe.worlds.canvas.edit_features import EDIT_SIZE
from handaxe.worlds.canvas.edits import ASPECTS

pytest.importorskip("PIL")
ASKED = draw_questions(36, seed=0)


def test_the_answer_is_the_sigmoid_of_a_difference_and_antisymmetric():
    judge = TaggedJudge()
    ask = ASKED[0]
    first, second = (judge.scores([(one.image, one.request)], ask.criterion)[0] for one in (ask.first, ask.second))
    (found,) = judge.answers([ask])
    assert found == pytest.approx(1 / (1 + np.exp(second - first)), abs=1e-9)
    (turned,) = judge.answers([ask._replace(first=ask.second, second=ask.first)])
    assert found + turned == pytest.approx(1, abs=1e-9)


def test_only_a_judge_with_tags_depends_on_the_criterion():
    one = ASKED[0].first
    for tags, depends in (("tagged", True), ("untagged", False)):
        judge = TaggedJudge(tags=tags)
        scores = {float(judge.scores([(one.image, one.request)], name)[0]) for name in ASPECTS}
        assert len(scores) == (3 if depends else 1)
        assert judge.size == EDIT_SIZE * 32 + 32 + 32 * (TAG_SIZE if depends else 1)


def test_a_fit_lowers_the_cross_entropy_of_the_answers():
    judge = TaggedJudge()
    first = judge.fit(ASKED, steps=1)
    yes_Q = np.array([one.yes for one in ASKED])
    last = judge.fit(ASKED, steps=60)
    assert last < 0.5 * first
    assert ((judge.answers(ASKED) > 0.5) == yes_Q).mean() > 0.9


def test_no_question_and_an_unknown_word_are_errors():
    with pytest.raises(InputError, match="give one or more"):
        TaggedJudge().fit([])
    with pytest.raises(InputError, match="tags is 'tagged' or 'untagged'"):
        TaggedJudge(tags="secret")
    assert TaggedJudge().scores([], "clean").shape == (0,)
