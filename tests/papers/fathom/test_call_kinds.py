import random

import pytest
from helpers.answerers import Says

from handaxe.asking.ask import AskAnswer
from handaxe.asking.desk import AskDesk
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import ToolCall, ToolReply
from handaxe.papers.fathom.call_kinds import asked_kinds, call_kinds, likeliest, rule_kinds
from handaxe.papers.fathom.paged_hops import page_claim
from handaxe.testing.make_records import make_trajectory

LETTERS = {"u": "unique", "e": "exploration", "v": "verification", "r": "redundant"}


def rollout(*pairs):
    """A rollout of (word, result): "?x" searches for x, another word opens a page."""
    calls, replies = [], []
    for word, result in pairs:
        call = ("search", {"query": word[1:]}) if word[0] == "?" else ("open", {"id": word})
        calls.append([ToolCall(*call)])
        replies.append([result])
    return make_trajectory(calls=calls or [[]], replies=replies or [[]])


def letters(kinds):
    return "".join(kind[0] for kind in kinds)


def by_rule(one, verifications=1):
    return letters(rule_kinds(claim=page_claim, verifications=verifications)(one))


def test_rule_kinds_matches_its_example():
    listed = "[x]\n[x b]"
    one = rollout(("?a", listed), ("?b", listed), ("x", "x 1"), ("x b", "x b 1"), ("x", "x 1"))
    assert by_rule(one) == "urevr"
    assert by_rule(one, verifications=0) == "urerr"


def test_a_search_is_redundant_by_its_results_and_not_by_its_words():
    assert by_rule(rollout(("?a b", "[1]"), ("?b a", "[1]"), ("?b a", "[1]\n[2]"))) == "uru"
    assert by_rule(rollout(("?a", ""), ("?b", "[1]"))) == "ru"


def test_a_page_under_another_spelling_of_its_id_is_redundant():
    assert by_rule(rollout(("x", "[x] 1"), ("[x]", "[x] 1"), (" x", "[x] 1"), ("x b", "[x b] 1"))) == "errv"


def test_a_call_that_fails_is_redundant():
    call = ToolCall("open", {"id": "x"}, "c0")
    failed = [[ToolReply("c0", "open", "no document x", "retry")], ["x 1"]]
    assert by_rule(make_trajectory(calls=[[call], [ToolCall("open", {"id": "x"})]], replies=failed)) == "re"
    assert by_rule(make_trajectory(calls=[[ToolCall("search", {"query": "a"})]], replies=[[]])) == "r"


def test_a_budget_below_zero_is_refused():
    with pytest.raises(InputError, match="verifications is -1"):
        rule_kinds(claim=page_claim, verifications=-1)


def test_a_budget_counts_pages_of_a_claim():
    one = rollout(("x", "x 1"), ("x b", "x b 1"), ("y", "y 2"), ("y b", "y b 2"), ("x", "x 1"))
    assert by_rule(one) == "evevr" and by_rule(one, verifications=0) == "ererr"


def test_rule_kinds_equals_a_slow_loop():
    rng = random.Random(0)
    for _ in range(40):
        pairs = []
        for _ in range(rng.randrange(1, 10)):
            word = rng.choice(["?a", "?b", "x", "x b", "y"])
            pairs.append((word, rng.choice(["[1]", "[2]", "[1]\n[2]"]) if word[0] == "?" else word))
        budget, wanted = rng.randrange(3), ""
        for k, (word, result) in enumerate(pairs):
            before = pairs[:k]
            if word[0] == "?":
                known = {line for w, r in before if w[0] == "?" for line in r.split("\n")}
                wanted += "u" if set(result.split("\n")) - known else "r"
            else:
                pages = list(dict.fromkeys(w for w, _ in before if w[0] == word[0]))
                useful = min(len(pages), budget + 1)
                again = (word, result) in before or useful > budget
                wanted += "r" if again else "v" if useful else "e"
        assert by_rule(rollout(*pairs), verifications=budget) == wanted


class Labels(Says):
    """Gives each call the label that its result names."""

    def _of(self, ask):
        if ask.fields["result"] == "away":
            return AskAnswer(by=self.by, failure="unavailable")
        logp = {label: -1.0 if label == LETTERS.get(ask.fields["result"]) else -2.0 for label in ask.prompt.labels}
        return AskAnswer(label_logp=logp, by=self.by)


def test_asked_kinds_are_the_labels_of_the_model_within_the_budget():
    answerer = Labels({})
    kinds = asked_kinds(desk=AskDesk(answerer, min_coverage=0.0), claim=page_claim)
    assert letters(kinds(rollout(("?a", "u"), ("?a", "r"), ("x", "e"), ("x b", "v"), ("x b", "v")))) == "urevr"
    assert [ask.prompt.id.removesuffix(".terse") for ask in answerer.asked] == ["fathom/search"] * 2 + [
        "fathom/page"
    ] * 3
    last = answerer.asked[-1].fields
    assert last["earlier"].count("\n") == 7 and last["call"] == 'open {"id": "x b"}' and last["result"] == "v"
    assert kinds(rollout()) == []


def test_a_question_without_an_answer_leaves_the_rollout_unscored():
    kinds = asked_kinds(desk=AskDesk(Labels({}), min_coverage=0.0), claim=page_claim)
    one = rollout(("?a", "u"), ("?b", "away"))
    with pytest.raises(VerifierError, match="label of call 2: unavailable") as caught:
        kinds(one)
    assert caught.value.trajectory == one.id


def test_likeliest_reads_likelihoods_and_texts():
    assert likeliest(AskAnswer(label_logp={"unique": -2.0, "redundant": -1.0})) == "redundant"
    assert likeliest(AskAnswer("It is redundant.")) == "redundant"
    for wrong in (AskAnswer("unique or redundant"), AskAnswer(label_logp={"unique": float("nan")})):
        with pytest.raises(Unreadable):
            likeliest(wrong)


def test_the_rule_labels_without_a_desk():
    one = rollout(("?a", "[1]"), ("?b", "[1]"))
    assert letters(call_kinds(None, claim=page_claim, verifications=1)(one)) == "ur"
    asked = call_kinds(AskDesk(Labels({}), min_coverage=0.0), claim=page_claim, verifications=1)
    assert letters(asked(rollout(("?a", "u"), ("?b", "u")))) == "uu"
