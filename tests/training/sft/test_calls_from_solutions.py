from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.core.errors import InputError, Retry
from handaxe.core.records import Message, Task
from handaxe.core.validation import check
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.decorator import tool
from handaxe.training.sft.calls_from_solutions import calls_from_solutions, computations
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.gym import gym
from handaxe.worlds.world import World

SITE = SimpleNamespace(engine=SimpleNamespace(max_length=100_000), format=Compact())


@tool
def calculator(expression: str) -> str:
    """Add two numbers, or say something else."""
    if expression == "13+1":
        raise Retry("not thirteen")
    if expression == "14+1":
        return "many"
    a, b = expression.split("+")
    return str(float(a) + float(b))


def world(*solutions):
    """A world of these worked solutions, and the tool above."""
    from handaxe.envs.tool_chat import tool_chat

    made = [Task(f"t{i}", (Message("user", "?"),), "the answer", None, {"of": one}) for i, one in enumerate(solutions)]
    return World(
        name="mine",
        tasks=lambda split, count, seed: made[:count],
        env=tool_chat,
        correct=None,
        tools=(calculator,),
        solution=lambda task: task.metadata["of"],
    )


def said(*solutions, site=SITE, **options):
    """What is said in each conversation, a call as its expression."""
    rated = calls_from_solutions(world=world(*solutions), **{"count": 9} | options)(site)
    found = []
    for (one,) in (made.group for made in rated):
        check(one)
        words = [
            (message.content, *(call.arguments["expression"] for call in message.calls)) for message in one.messages
        ]
        found.append(words)
    return found


def test_by_hand():
    assert said("He has 70+12 = 82 kernels, and 1+2=3 more.\nSo 82 + 30=$112.0 in all. #### 112") == [
        [
            ("?",),
            ("He has", "70+12"),
            ("82.0",),
            ("82 kernels, and 1+2=3 more.\nSo", "82+30"),
            ("112.0",),
            ("the answer",),
        ]
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12 x 30 = $360.", [("", "12*30", "360")]),
        ("so 12 \u00d7 30\u00f74 = \u20ac90", [("so", "12*30/4", "90")]),
        ("1,200 - 200 = 1,000 left", [("", "1200-200", "1000")]),
        ("0.5*30=15.0, then 15 +1= 16", [("", "0.5*30", "15.0"), ("15.0, then", "15+1", "16")]),
        ("48=48", []),
        ("3*4=12", []),
        ("160*30=48%", []),
        ("x12+1=13, 2(47+30) = 154", []),
        ("1-2-30=-31", [("", "1-2-30", "-31")]),
        ("", []),
    ],
)
def test_what_is_found(text, found):
    assert [tuple(one) for one in computations(text)] == found


def test_what_is_easy_stays_words():
    assert [one.expression for one in computations("3*4=12 and 12*30=360", easy=0)] == ["3*4", "12*30"]
    assert [one.expression for one in computations("3*4=12 and 12*30=360", easy=31)] == []


@pytest.mark.parametrize(
    ("solution", "why"),
    [
        ("70+12=83", "1 are contradicted by the tool"),
        ("then 70.26+12=82.2 or so", "1 are contradicted by the tool"),
        ("13+1=14", "1 compute what the tool cannot"),
        ("14+1=15", "1 are answered by something that is no number"),
        ("nothing", "1 compute nothing worth a call"),
    ],
)
def test_what_is_left_out_says_why(solution, why):
    assert len(said(solution, "70+12=82")) == 1
    with pytest.raises(InputError, match=f"no solution of world 'mine' can be made into calls of calculator: {why}"):
        said(solution)


def test_a_reply_may_have_more_decimals_than_the_solution_shows():
    assert said("70.26+12=82.3")[0][2] == ("82.26",)


def test_as_many_as_asked_for():
    assert len(said("70+12=82", "nothing", "70+13=83", "70+14=84", count=2)) == 2


def test_what_does_not_fit_is_left_out():
    small = SimpleNamespace(engine=SimpleNamespace(max_length=60), format=Compact())
    assert len(said("70+12=82", f"{'very ' * 30} 70+13=83", site=small)) == 1


def test_the_solutions_of_a_real_generator():
    """gsm_symbolic's own work: one answer in 50 of it is contradicted by its own figures, and is not shown."""
    rated = calls_from_solutions(world=gym(names=("gsm_symbolic",)), count=20)(SITE)
    assert len(rated) == 20
    for (one,) in (made.group for made in rated):
        check(one)
        assert one.replies and {reply.status for reply in one.replies} == {"ok"}
        assert one.final_text == one.task.answer and one.ending.kind == "completed"


def test_calls_from_solutions_refuses_no_tasks_and_a_world_without_solutions():
    with pytest.raises(InputError, match="give 1 or more"):
        calls_from_solutions(world=arithmetic(), count=0)
    with pytest.raises(InputError, match="solution"):
        calls_from_solutions(world=replace(arithmetic(), solution=None), count=1)(SITE)
