import json

import pytest

from handaxe.asking.ask import AskAnswer, Spent
from handaxe.papers.latm import latm
from handaxe.papers.latm.make_tool import read_numbers, read_quoted, read_words

pytest.importorskip("reasoning_gym")


class Copyist:
    """User that copies arguments without error, and knows no answer."""

    terse = False

    def fingerprint(self):
        return "copyist"

    def answer(self, asks):
        return [AskAnswer(text=self._text(ask.prompt.id, ask.fields["question"]), spent=Spent(10, 2)) for ask in asks]

    def _text(self, prompt, question):
        if prompt == "latm/answer":
            return "?"
        if prompt == "latm/use":
            return json.dumps(read_numbers(question))[1:]
        return json.dumps(read_quoted(question) or read_words(question))[2:]


class Mute(Copyist):
    def _text(self, prompt, question):
        return "?"


def test_a_user_that_copies_arguments_is_as_accurate_as_exact_calls():
    found = latm(questions=2, most=8000, user=Copyist)(3)
    assert found["latm/accuracy"] == found["exact/accuracy"] > 0.5 and found["alone/accuracy"] == 0
    assert found["gain/alone"] == pytest.approx(found["latm/accuracy"]) and found["calls/accuracy"] == 1
    assert found["prime_factorization/latm"] == 0 < found["gcd/latm"]
    assert found["dispatch/accuracy"] == 1 and found["latm/tokens"] == found["alone/tokens"] == 12
    assert found["amortised/programs"] < found["each/programs"]


def test_a_user_without_calls_gains_nothing():
    found = latm(questions=1, most=2000, user=Mute)(3)
    assert found["latm/accuracy"] == found["calls/accuracy"] == 0 < found["exact/accuracy"]
    assert found["gap/exact"] == found["exact/accuracy"]
