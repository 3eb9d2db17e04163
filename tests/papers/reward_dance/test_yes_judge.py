import numpy as np
import pytest

from handaxe.core.records import Group
from handaxe.judges.viewed import last_image
from handaxe.models.load import load
from handaxe.papers.reward_dance.comparisons import comparisons
from handaxe.papers.reward_dance.yes_judge import compared, fit_yes_judge, two_way
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.canvas.canvas import SHOWN, canvas
from handaxe.worlds.canvas.drawing import paint_items
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("PIL")
WORLD = canvas(changes=0.0)
GIVEN = comparisons(WORLD.tasks("train", 8, 0))
CONTRACT = [{"fit": lambda: fit_yes_judge(GIVEN), "references": lambda task: ()}]
LAB = "a judge of drawings of the world canvas alone"


def question(n):
    one = GIVEN[n]
    return one.task, paint_items(one.candidate, SHOWN), paint_items(one.reference, SHOWN)


def test_probabilities_by_hand_and_by_a_loop():
    assert two_way(np.array([[2.0, 1.0]])) == pytest.approx([0.731059], abs=1e-6)
    logit_Q2 = np.random.default_rng(0).normal(size=(5, 2))
    slow = [np.exp(yes) / (np.exp(yes) + np.exp(no)) for yes, no in logit_Q2]
    np.testing.assert_allclose(two_way(logit_Q2), slow, atol=1e-9)


@pytest.mark.parametrize("context", ["none", "reference", "chain"])
def test_the_reference_counts_where_the_context_has_it(context):
    policy = load("tiny_vision")
    before = policy.model.module.state_dict()
    before = {name: value.clone() for name, value in before.items()}
    judge = fit_yes_judge(GIVEN, context=context, policy=policy)
    assert all((before[name] == value).all() for name, value in policy.model.module.state_dict().items())
    task, candidate, reference = question(0)
    first, other, again = judge.yes(
        [(task, candidate, reference), (task, candidate, candidate), (task, candidate, reference)]
    )
    assert 0 < first < 1 and first == pytest.approx(again, abs=1e-5)
    assert (abs(np.log(first / other)) > 1e-3) == (context != "none")
    assert judge.yes([]).shape == (0,)


class Known:
    """P(yes) by the digest of the reference."""

    def __init__(self, chances):
        self.chances, self.asked = chances, []

    def yes(self, questions):
        self.asked += questions
        return np.array([self.chances[reference] for _, _, reference in questions])


def test_a_score_is_the_mean_over_references_and_the_fit_happens_once():
    task = WORLD.tasks("test", 1, 0)[0]
    one = demonstrate(WORLD.env(()), task, WORLD.expert, format=load("tiny_vision").format)
    images, fits = [*question(0)[1:]], []
    known = Known({images[0]: 0.9, images[1]: 0.5, None: 0.25})
    judge = compared(fit=lambda: fits.append(1) or known, references=lambda task: images)
    assert judge.score(Group(task, (one, one))).tolist() == pytest.approx([0.7, 0.7], abs=1e-9)
    assert judge.score(Group(task, (one,))).tolist() == pytest.approx([0.7], abs=1e-9) and fits == [1]
    assert known.asked[0][1] == last_image(one)
    alone = compared(fit=lambda: known, references=lambda task: ())
    assert alone.score(Group(task, (one,))).tolist() == [0.25]


def test_a_rollout_without_an_image_scores_0():
    blank = make_trajectory(id="blank")
    judge = compared(fit=lambda: Known({}), references=lambda task: ())
    assert judge.score(Group(blank.task, (blank, blank))).tolist() == [0.0, 0.0]
