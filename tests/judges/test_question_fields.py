"""Fields of questions: what a question about a turn shows, and that it shows nothing after the turn."""

from dataclasses import replace

import pytest

from handaxe.asking.prompt import find_prompt, parse_prompt
from handaxe.core.errors import InputError
from handaxe.core.records import Criterion, Message, ToolCall
from handaxe.judges.question_fields import FIELDS, question_fields
from handaxe.testing.make_records import make_task, make_trajectory

ALL = parse_prompt(
    '+++\nid = "all"\nversion = 1\ntrusted = ["task", "criterion"]\n'
    'quoted = ["conversation", "before", "did", "then"]\n+++\n{{user}}\n'
    "{{task}} {{criterion}} {{conversation}} {{before}} {{did}} {{then}}\n",
    source="all.md",
)
GOAL = Criterion("sum", "It has the sum.", points=2.0)


def rollout():
    """Two searches and an answer."""
    one = make_trajectory(
        texts=["look", "look again", "done"],
        calls=[["find"], ["find"], []],
        replies=[["first"], ["second"], []],
        task=make_task(question="2*7=?", answer="14", metadata={"gold": "14"}),
    )
    messages = [Message("user", "2*7=?")]
    for n, turn in enumerate(one.turns):
        messages.append(Message("assistant", f"turn {n}", calls=(ToolCall("find", {"q": n}),) if n < 2 else ()))
        messages += [Message("tool", reply.content, call_id=reply.call_id) for reply in turn.replies]
    return replace(one, messages=tuple(messages))


def test_fields_of_a_turn_by_hand():
    one = rollout()
    assert question_fields(ALL, one, 1, GOAL) == {
        "task": "2*7=?",
        "criterion": "It has the sum.",
        "conversation": 'assistant: turn 0 find({"q": 0})\ntool: first\nassistant: turn 1 find({"q": 1})\ntool: second',
        "before": "first",
        "did": one.turns[1].parsed.raw,
        "then": "second",
    }
    assert question_fields(ALL, one, 0, GOAL)["before"] == "" and question_fields(ALL, one, 2, GOAL)["then"] == ""


def test_later_turns_answer_and_metadata_change_nothing():
    one = rollout()
    bare = replace(one, task=make_task(question="2*7=?"))
    cut = replace(one, turns=one.turns[:2], messages=one.messages[:5])
    for turn in range(2):
        assert question_fields(ALL, bare, turn, GOAL) == question_fields(ALL, one, turn, GOAL)
        assert question_fields(ALL, cut, turn, GOAL) == question_fields(ALL, one, turn, GOAL)


def test_a_question_about_the_answer_may_see_the_reference():
    prompt, one = find_prompt("grade"), rollout()
    assert question_fields(prompt, one, 2, None) == {"task": "2*7=?", "reference": "14", "answer": one.final_text}
    listed = replace(one, task=make_task(question="2*7=?", answer=["14", "fourteen"]))
    assert question_fields(prompt, listed, 2, None)["reference"] == '["14", "fourteen"]'


def test_a_record_without_messages_shows_its_turns():
    one = replace(rollout(), messages=())
    assert question_fields(ALL, one, 0, GOAL)["conversation"] == f"assistant: {one.turns[0].parsed.raw}\ntool: first"


def test_a_prompt_with_other_fields_is_one_sentence():
    with pytest.raises(InputError, match="prompt check@1 has the fields criterion, which this question lacks"):
        question_fields(find_prompt("check"), rollout(), 0, None)
    strange = parse_prompt('+++\nid = "x"\nversion = 1\nquoted = ["mood"]\n+++\n{{user}}\n{{mood}}\n', source="x.md")
    with pytest.raises(InputError, match=f"prompt x@1 has the fields mood, .* it has {', '.join(FIELDS)}"):
        question_fields(strange, rollout(), 0, GOAL)
