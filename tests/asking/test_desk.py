"""The desk: one answer a question, order and repetition, failures, budget, coverage, records, and a store."""

import math
from dataclasses import replace

import pytest

from handaxe.asking import desk as desk_module
from handaxe.asking.ask import Ask, AskAnswer, Spent
from handaxe.asking.desk import AskDesk, NoAnswer, metrics_of
from handaxe.asking.prompt import find_prompt, parse_prompt
from handaxe.asking.read import choice, probability
from handaxe.asking.store import AnswerStore
from handaxe.core.errors import InputError

STEP = find_prompt("step", terse=True)
SAID = parse_prompt(
    '+++\nid = "said"\nversion = 1\nquoted = ["turn"]\n+++\n{{user}}\n{{turn}}? yes or no\n', source="said.md"
)
YES_NO = choice(("yes", "no"))


def ask(text, prompt=STEP, **changes):
    fields = {"turn": text} if prompt is SAID else {"task": "", "before": "", "did": text, "then": ""}
    return Ask(prompt, fields, **changes)


class Counted:
    """Answers from a function of (text, sample number); counts what it is asked."""

    terse = True

    def __init__(self, says, by="counted"):
        self.says = says
        self.by = by
        self.asked = []

    def fingerprint(self):
        return self.by

    def answer(self, asks):
        self.asked += [(one.fields.get("did", one.fields.get("turn")), one.sample) for one in asks]
        return [replace(self.says(*self.asked[k - len(asks)]), by=self.by) for k in range(len(asks))]


def sure(p):
    """Likelihoods of yes and no that cover 0.9 of the mass."""

    return AskAnswer(
        label_logp={"yes": math.log(0.9 * p), "no": math.log(0.9 * (1 - p))}, spent=Spent(10, 2, 0.5, 0.25)
    )


def by_text(text, sample):
    del sample
    return sure({"good": 0.8, "bad": 0.3}[text])


def test_equal_questions_are_asked_once_in_any_order():
    answerer = Counted(by_text)
    desk = AskDesk(answerer)
    values = desk.ask([ask("good"), ask("bad"), ask("good", role="other", about=("t", 1, ""))], probability())
    assert values == [pytest.approx(0.8), pytest.approx(0.3), pytest.approx(0.8)]
    assert desk.ask([ask("bad"), ask("good")], probability()) == [pytest.approx(0.3), pytest.approx(0.8)]
    assert answerer.asked == [("good", 0), ("bad", 0)]
    calls = desk.take_calls()
    assert [one.answer.cached for one in calls] == [False, False, False, True, True] and desk.take_calls() == []
    found = metrics_of(calls)
    assert found["asks"] == 5 and found["cached"] == 2 and found["read"] == 50 and found["written"] == 10
    assert found["seconds"] == 1.5 and found["cost"] == 0.75 and found["coverage"] == pytest.approx(0.9)


def test_the_oldest_answers_leave_the_memory(monkeypatch):
    monkeypatch.setattr(desk_module, "MOST_KNOWN", 3)
    answerer = Counted(lambda text, sample: sure(0.5))
    desk = AskDesk(answerer)
    for text in "abcd":
        desk.ask([ask(text)], probability())
    desk.ask([ask("b"), ask("d")], probability())
    assert len(answerer.asked) == 4
    desk.ask([ask("a")], probability())
    assert len(answerer.asked) == 5


def test_other_samples_and_other_weights_are_other_questions():
    answerer = Counted(by_text)
    desk = AskDesk(answerer)
    desk.ask([ask("good"), ask("good", sample=1), ask("good", sample=2)], probability())
    assert len(answerer.asked) == 3
    answerer.by = "counted, a step later"
    desk.ask([ask("good")], probability())
    assert len(answerer.asked) == 4


def test_an_unreadable_text_is_asked_again_with_another_seed_and_the_same_words():
    answerer = Counted(lambda text, sample: AskAnswer("yes" if sample else "yes or no"))
    assert AskDesk(answerer, tries=2).ask([ask("x", SAID)], YES_NO) == ["yes"]
    assert answerer.asked == [("x", 0), ("x", 1)]
    once = AskDesk(Counted(lambda text, sample: AskAnswer("yes or no")), tries=3)
    assert once.ask([ask("x", SAID)], YES_NO) == [NoAnswer("unreadable", "yes or no")]
    assert len(once.answerer.asked) == 3 and metrics_of(once.take_calls())["unreadable"] == 3


@pytest.mark.parametrize("reason", ["too_long", "unavailable", "refused"])
def test_a_failure_is_no_value_and_is_not_kept(reason):
    answers = [AskAnswer(failure=reason, text="why"), sure(0.8)]
    desk = AskDesk(Counted(lambda text, sample: answers.pop(0)))
    assert desk.ask([ask("good")], probability()) == [NoAnswer(reason, "why")]
    assert desk.ask([ask("good")], probability()) == [pytest.approx(0.8)]
    assert metrics_of(desk.take_calls())[reason] == 1


def test_a_spent_budget_fails_new_questions_and_answers_known_ones():
    answerer = Counted(by_text)
    desk = AskDesk(answerer, budget=12)
    assert desk.ask([ask("good")], probability()) == [pytest.approx(0.8)]
    assert desk.ask([ask("bad"), ask("good")], probability()) == [NoAnswer("budget"), pytest.approx(0.8)]
    assert answerer.asked == [("good", 0)]


def test_labels_without_mass_are_refused_after_32_answers():
    thin = AskAnswer(label_logp={"yes": -9.0, "no": -10.0})
    with pytest.raises(InputError, match=r"a mass of 0.00017 on the answers yes, no of step.terse@1"):
        AskDesk(Counted(lambda text, sample: thin)).ask([ask(str(k)) for k in range(32)], probability())
    assert len(AskDesk(Counted(lambda text, sample: thin)).ask([ask(str(k)) for k in range(31)], probability())) == 31
    allowed = AskDesk(Counted(lambda text, sample: thin), min_coverage=0)
    assert len(allowed.ask([ask(str(k)) for k in range(40)], probability())) == 40


def test_a_store_answers_the_next_run(tmp_path):
    first = AskDesk(Counted(by_text), store=AnswerStore(tmp_path / "a.sqlite"))
    values = first.ask([ask("good"), ask("bad")], probability())
    first.store.close()
    again = AskDesk(Counted(lambda text, sample: pytest.fail("asked again")), store=AnswerStore(tmp_path / "a.sqlite"))
    assert again.ask([ask("bad"), ask("good")], probability()) == values[::-1]
    assert all(one.answer.cached for one in again.take_calls())
    other = AskDesk(Counted(by_text, by="other weights"), store=AnswerStore(tmp_path / "a.sqlite"))
    other.ask([ask("good")], probability())
    assert other.answerer.asked == [("good", 0)] and len(other.store) == 3


@pytest.mark.parametrize("wrong", [{"tries": 0}, {"budget": -1}, {"min_coverage": 1.0}])
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(InputError, match="give tries from 1"):
        AskDesk(Counted(by_text), **wrong)
