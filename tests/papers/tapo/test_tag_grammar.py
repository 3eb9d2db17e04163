import itertools
import re
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.evaluation.attack_trials import LabCase
from handaxe.papers.reasoning_sql.tables import tables
from handaxe.papers.tapo.tag_grammar import tag_grammar
from handaxe.testing.make_records import make_group, make_trajectory

LAB = [
    LabCase('tag_grammar(grammar="sql")', tables, lambda world: tag_grammar(grammar="sql")),
]


def score(reward, text, **more):
    return reward(make_group(trajectories=[make_trajectory(texts=[text], **more)])).outcome[0]


def written(*names):
    return "".join(f"<{name}>x</{name}>" for name in names)


def test_tag_grammar_equals_the_worked_examples():
    reward = tag_grammar()
    said = ["<think>a</think>", "<think>c</think><answer>d</answer>"]
    called = make_trajectory(texts=said, calls=[["f"], []], replies=[["1"], []])
    assert reward(make_group(trajectories=[called])).outcome.tolist() == [1]
    assert score(reward, written("think", "think", "answer")) == 0
    assert score(reward, "so " + written("think", "answer")) == 0


@pytest.mark.parametrize(
    "grammar", ["a (b a)* c", "(a | b)+ c?", "a? (b | c a)* b", "((a*)*)*", "a | b c | (a b)+", "c"]
)
def test_tag_grammar_accepts_the_words_of_a_regular_expression(grammar):
    reward, pattern = tag_grammar(grammar=grammar), re.compile(grammar.replace(" ", ""))
    for length in range(6):
        for word in itertools.product("abc", repeat=length):
            assert score(reward, written(*word)) == bool(pattern.fullmatch("".join(word))), word


@pytest.mark.parametrize(
    "text, right",
    [
        ("<think>a</think>\n <answer>b</answer>\n", 1),
        ("<think></think><answer></answer>", 1),
        ("<think>a < b <b>c</b></think><answer>1</answer>", 1),
        ("<think>a</think> so <answer>b</answer>", 0),
        ("<think>a</think><answer>b</answer> so", 0),
        ("<think>a<answer>b</answer></think>", 0),
        ("<think>a<think>b</think></think><answer>c</answer>", 0),
        ("</think>a<think><answer>b</answer>", 0),
        ("<think>a</answer>", 0),
        ("<think>a</think><answer>b", 0),
        ("<think>a</think></think><answer>b</answer>", 0),
        ("", 0),
    ],
)
def test_text_outside_of_blocks_scores_zero(text, right):
    assert score(tag_grammar(), text) == right


def test_calls_are_blocks_and_malformed_calls_score_zero():
    texts, calls = ["<think>a</think>", "<think>b</think><answer>c</answer>"], [["f"], []]
    one = make_trajectory(texts=texts, calls=calls, replies=[["1"], []])
    broken = make_trajectory(texts=texts, errors=[["not JSON"], []])
    assert tag_grammar()(make_group(trajectories=[one, broken])).outcome.tolist() == [1, 0]


def test_later_text_does_not_close_a_malformed_call():
    texts = ["<think>a</think>", "</tool_call><think>b</think><answer>c</answer>"]
    broken = make_trajectory(texts=texts, errors=[["not JSON"], []])
    late = make_trajectory(texts=["<think>a</think><answer>b</answer>", ""], errors=[[], ["not JSON"]])
    for reward in (tag_grammar(), tag_grammar(grammar="think* answer")):
        assert reward(make_group(trajectories=[broken, late])).outcome.tolist() == [0, 0]


def test_a_call_tag_in_text_is_no_call():
    assert score(tag_grammar(), written("think", "tool_call", "think", "answer")) == 0
    assert score(tag_grammar(), "<think>a <tool_call> b</think><answer>c</answer>") == 0
    assert score(tag_grammar(grammar="think answer"), "<think>a <tool_call> b</think><answer>c</answer>") == 1


def test_empty_trajectories_are_the_empty_word():
    none = make_group(trajectories=[make_trajectory(layouts=["UUt"])])
    assert tag_grammar()(none).outcome.tolist() == [0] and tag_grammar(grammar="think*")(none).outcome.tolist() == [1]


def test_a_tag_name_is_not_matched_by_its_prefix():
    assert score(tag_grammar(grammar="code codes"), written("code", "codes")) == 1
    assert score(tag_grammar(grammar="code"), written("codes")) == 0


HOSTILE = {
    "opened again and again": lambda n: "<think>" * n,
    "all but closed": lambda n: "<think>" * n + "</think>",
    "blocks without end": lambda n: "<think>a</think>" * n + "<b>",
    "signs": lambda n: "<" * n,
    "blocks without an answer": lambda n: "<think>a</think>" * n,
    "blanks": lambda n: "<think>a</think>" + " " * n + "x",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_is_linear_in_the_text(name):
    """Lines of Python are counted, not seconds; the one pattern that finds tags has no repetition, so it reads once."""
    reward = tag_grammar(grammar="((think*)* | (think think)*)* answer")
    unit = len(HOSTILE[name](2)) - len(HOSTILE[name](1))
    short, long = (steps(reward, HOSTILE[name](size // unit)) for size in (10**5, 10**6))
    assert long <= 10 * short + 1000


def steps(reward, text):
    group = make_group(trajectories=[make_trajectory(texts=[text])])
    count = 0

    def tracer(frame, event, argument):
        nonlocal count
        count += event == "line"
        return tracer if "tag_grammar" in frame.f_code.co_filename else None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert reward(group).outcome.tolist() == [0]
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "grammar, why",
    [
        ("think (", "has no tag"),
        ("(think", "not closed"),
        ("think)", "stands alone"),
        ("", "no tag"),
        ("a & b", "else"),
    ],
)
def test_tag_grammar_refuses_malformed_grammars(grammar, why):
    with pytest.raises(InputError, match=why):
        tag_grammar(grammar=grammar)
