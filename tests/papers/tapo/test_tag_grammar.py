import itertools
import re
import sys

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.tapo.tag_grammar import tag_grammar
from handaxe.testing.records import make_group, make_trajectory


def score(reward, text, **more):
    return reward(make_group(trajectories=[make_trajectory(texts=[text], **more)])).outcome[0]


def written(*names):
    return "".join(f"<{name}>x</{name}>" for name in names)


def test_example():
    reward = tag_grammar()
    said = ["<think>a</think>", "<think>c</think><answer>d</answer>"]
    called = make_trajectory(texts=said, calls=[["f"], []], replies=[["1"], []])
    assert reward(make_group(trajectories=[called])).outcome.tolist() == [1]
    assert score(reward, written("think", "think", "answer")) == 0
    assert score(reward, "so " + written("think", "answer")) == 0


@pytest.mark.parametrize(
    "grammar", ["a (b a)* c", "(a | b)+ c?", "a? (b | c a)* b", "((a*)*)*", "a | b c | (a b)+", "c"]
)
def test_it_allows_what_a_regular_expression_over_letters_does(grammar):
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
def test_the_whole_text_is_blocks(text, right):
    assert score(tag_grammar(), text) == right


def test_calls_are_blocks_and_malformed_ones_are_open():
    texts, calls = ["<think>a</think>", "<think>b</think><answer>c</answer>"], [["f"], []]
    one = make_trajectory(texts=texts, calls=calls, replies=[["1"], []])
    broken = make_trajectory(texts=texts, errors=[["not JSON"], []])
    assert tag_grammar()(make_group(trajectories=[one, broken])).outcome.tolist() == [1, 0]


def test_what_the_policy_writes_later_does_not_close_a_malformed_call():
    texts = ["<think>a</think>", "</tool_call><think>b</think><answer>c</answer>"]
    broken = make_trajectory(texts=texts, errors=[["not JSON"], []])
    late = make_trajectory(texts=["<think>a</think><answer>b</answer>", ""], errors=[[], ["not JSON"]])
    for reward in (tag_grammar(), tag_grammar(grammar="think* answer")):
        assert reward(make_group(trajectories=[broken, late])).outcome.tolist() == [0, 0]


def test_a_call_in_plain_text_is_no_call():
    assert score(tag_grammar(), written("think", "tool_call", "think", "answer")) == 0
    assert score(tag_grammar(), "<think>a <tool_call> b</think><answer>c</answer>") == 0
    assert score(tag_grammar(grammar="think answer"), "<think>a <tool_call> b</think><answer>c</answer>") == 1


def test_no_turn_and_no_text_are_the_empty_word():
    none = make_group(trajectories=[make_trajectory(layouts=["UUt"])])
    assert tag_grammar()(none).outcome.tolist() == [0] and tag_grammar(grammar="think*")(none).outcome.tolist() == [1]


def test_a_name_that_begins_another_is_not_taken_for_it():
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
def test_ten_times_the_text_takes_at_most_ten_times_the_steps(name):
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
def test_a_grammar_that_cannot_be_read(grammar, why):
    with pytest.raises(InputError, match=why):
        tag_grammar(grammar=grammar)
