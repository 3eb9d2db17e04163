import random
from dataclasses import replace

import pytest
from helpers.explained import TASK, explained

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.judges.asked_pairs import asked_pairs
from handaxe.papers.tim.reasoning_judge import hidden_answers, line_count, step_quality


class Longer:
    """An answerer that prefers the longer text, and keeps the fields."""

    terse = False

    def __init__(self):
        self.fields = []

    def fingerprint(self):
        return "longer"

    def answer(self, asks):
        self.fields += [dict(ask.fields) for ask in asks]
        first = [len(ask.fields["first"]) > len(ask.fields["second"]) for ask in asks]
        return [
            AskAnswer(label_logp={"first": -0.1 if one else -3.0, "second": -3.0 if one else -0.1}) for one in first
        ]


def test_step_quality_by_hand():
    assert step_quality(explained("4+7=11,19+1=20:20")) == 2
    assert step_quality(explained("4+7=11,11+3=15:20")) == 0
    assert step_quality(explained("4+7=11,4+7=11:20")) == 1


def test_line_count_by_hand_and_by_a_slow_loop():
    rng = random.Random(0)
    texts = ["4+7=11:20", ":20", "4+7=11,11+3=14:20", "4+7=12:20", "5+5=10:20"]
    found = [explained(rng.choice(texts), sample=k) for k in range(24)]
    pairs = list(zip(found[::2], found[1::2], strict=True))
    slow = []
    for a, b in pairs:
        p = 0.5
        if step_quality(a) > step_quality(b):
            p = 1.0
        if step_quality(a) < step_quality(b):
            p = 0.0
        slow.append(p)
    assert line_count().compare(pairs).tolist() == slow and {0.0, 0.5, 1.0} == set(slow)
    assert line_count().compare([]).shape == (0,)


def test_no_answer_reaches_the_judge():
    """A language model behind `asked_pairs` reads the explanations alone."""
    answerer = Longer()
    judge = hidden_answers(judge=asked_pairs(desk=AskDesk(answerer), prompt="tim/reasoning"))
    pair = (explained("4+7=11,11+3=14:20"), explained(":20", calls=2, sample=1))
    (preference,) = judge.compare([pair])
    assert preference > 0.9
    assert answerer.fields[0] == {"task": TASK.messages[-1].content, "first": "4+7=11,11+3=14", "second": ""}
    assert all("20" not in one["first"] + one["second"] for one in answerer.fields)


def test_equal_explanations_tie_whatever_the_answers():
    pair = (explained("4+7=11:20"), explained("4+7=11:99", sample=1))
    assert hidden_answers(judge=line_count()).compare([pair]).tolist() == [0.5]


def test_the_judge_reads_the_texts_of_another_rule():
    """Texts of two and of no line: a rule that hides everything leaves a tie."""
    pair = (explained("4+7=11,11+3=14:20"), explained(":20", sample=1))
    assert hidden_answers(judge=line_count()).compare([pair]).tolist() == [1.0]
    assert hidden_answers(judge=line_count(), hide=lambda text: "").compare([pair]).tolist() == [0.5]


def test_a_rollout_without_turns_has_no_reasoning():
    empty = replace(explained(""), turns=())
    assert hidden_answers(judge=line_count()).compare([(empty, explained("4+7=11:20", sample=1))]) == pytest.approx([0])
