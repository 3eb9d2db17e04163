import numpy as np
import pytest

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.core.errors import InputError
from handaxe.core.records import Message, Task
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.master_rm.fit_judge import desk_chances, fit_judge
from handaxe.papers.master_rm.openers import solution_question


def ask(response, number=0):
    return solution_question(Task("t", (Message("user", f"{number}+1=?"),), "1"), response)


@pytest.mark.slow
def test_a_fitted_judge_separates_its_lessons():
    pytest.importorskip("sklearn")
    engine = LocalEngine(TinyModel.new(TinyConfig(width=32, layers=1, heads=2, max_length=160), seed=1))
    lessons = [(ask("ok!" if k % 2 else "bad", k), "yes" if k % 2 else "no") for k in range(20)]
    chance_Q = fit_judge(engine, Compact(), lessons)([one for one, _ in lessons])
    assert ((chance_Q > 0.5) == [label == "yes" for _, label in lessons]).all() and chance_Q.shape == (20,)


class Refuses:
    terse = True

    def fingerprint(self):
        return "refuses"

    def answer(self, asks):
        known = {"yes": -0.5, "no": -1.5}
        return [
            AskAnswer(label_logp=known) if one.fields["response"] else AskAnswer(failure="too_long") for one in asks
        ]


def test_chances_are_shares_of_yes():
    """log P(yes) -0.5, log P(no) -1.5: 1 / (1 + e^-1) = 0.7310586."""
    assert desk_chances(AskDesk(Refuses()))([ask("x")]) == pytest.approx(np.array([0.7310586]), abs=1e-6)


def test_a_question_without_an_answer_raises():
    with pytest.raises(InputError, match=r"1 of 2 questions have no answer \(too_long\): give shorter solutions"):
        desk_chances(AskDesk(Refuses()))([ask("x"), ask("")])
