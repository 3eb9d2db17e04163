from handaxe.core.records import Message, ParsedTurn, ToolCall
from handaxe.methods.lookup import find
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.toolchain_star.plan_steps import plan_steps, turn_step
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.parts.demonstrate import demonstrate


def turn(text="", *calls, errors=()):
    return ParsedTurn(text, calls, errors, "")


ASKED = Message("user", "41 73 for 90?")


def test_turn_step_matches_the_docstring_example():
    first = turn("", ToolCall("trains", {"start": 41, "to": 73}))
    assert turn_step([ASKED], first) == "> trains(start=q0, to=q1)"
    read = [ASKED, Message("assistant", ""), Message("tool", "t4 07-09")]
    assert turn_step(read, turn("t4", ToolCall("hotels", {"town": 73}))) == "r1.0 > hotels(town=q1)"


def test_the_question_goes_before_replies_and_a_later_reply_before_an_earlier_one():
    read = [ASKED, Message("tool", "x 41"), Message("tool", "y x"), Message("assistant", "z")]
    assert turn_step(read, turn("41 x y z")) == "q0 r1.1 r1.0 ?"


def test_nested_arguments_are_in_order_of_their_names_and_a_malformed_call_is_a_question_mark():
    call = ToolCall("call", {"name": "for", "arguments": {"b": 73, "a": 5.5}})
    assert turn_step([ASKED], turn("", call, errors=("bad",))) == "> call(arguments.a=? ?, arguments.b=q1, name=q2) > ?"


def test_plans_of_tasks_of_one_length_differ_only_by_the_choice_among_results():
    world = find("worlds", "journeys")(legs=(1,))
    played = [
        demonstrate(world.env(world.tools), task, world.need("expert"), format=Compact())
        for task in world.tasks("train", 8, 0)
    ]
    assert {plan_steps(one) for one in played} == {("> trains(start=q0, to=q1)", "r1.0 > hotels(town=q1)", "r2.0 r1.0")}


def test_a_trajectory_without_turns_has_an_empty_plan():
    assert plan_steps(make_trajectory(texts=[])) == ()
