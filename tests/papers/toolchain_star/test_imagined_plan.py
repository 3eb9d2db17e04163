import pytest
from helpers.written_pad import Pad

from handaxe.core.records import Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt, Completion
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.toolchain_star.imagined_plan import imagined_plan
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.play import Play, Rules
from handaxe.testing.scripted_engine import ScriptedEngine

SCHEMA = Pad().write.schema


def write(text):
    return ToolCall("write", {"text": text})


def imagine(script, first, *, max_turns=6, context=500, **knobs):
    """An imagined plan after the turn `first`, with the requests."""
    asked = []
    engine = ScriptedEngine(Compact(), lambda text, turn: script[turn - 1], tools=[SCHEMA])

    def sample(name, request):
        asked.append(request)
        return engine.sample([request])[0]

    task = Task("t", (Message("user", "go north"),))
    attempt = Attempt(task, tool_chat([Pad]), Compact(), Sampling(max_tokens=40), "t/0", 0, 0, context)
    play, found = Play(attempt, Rules()), []
    ids = Compact().encode_turn(first if isinstance(first, Message) else Message("assistant", "", (first,)), [SCHEMA])
    said = Completion(ids, [0.0] * len(ids), [0.0] * len(ids), [0] * len(ids), "stop")

    def turns():
        before = list(play.sequences[-1].ids)
        found.append((yield from imagined_plan(play, said, ("first",), max_turns=max_turns, **knobs)))
        assert play.sequences[-1].ids == before and not play.turns
        return (yield from play.turn())

    run_plan(play.run(turns()), sample=sample)
    return found[0], [request for request in asked if request.sampling.temperature == 0]


def test_the_policy_goes_on_after_empty_replies_up_to_an_answer():
    plan, asked = imagine([write("north"), write("west"), "go", "never"], write("go"))
    assert plan == ("first", "> write(text=q1)", "> write(text=?)", "q0")
    shown = [Compact().decode(request.ids) for request in asked]
    assert shown[1].endswith(
        "<CALL_END><END><TOOL><END><ASSISTANT><CALL>write north<CALL_END><END><TOOL><END><ASSISTANT>"
    )
    assert len(asked) == 3


def test_a_given_reply_stands_for_each_result():
    _, asked = imagine(["go"], write("go"), reply="fine")
    assert Compact().decode(asked[0].ids).endswith("<TOOL>fine<END><ASSISTANT>")


def test_nothing_is_imagined_after_an_answer():
    assert imagine(["go"], Message("assistant", "go")) == (("first",), [])


@pytest.mark.parametrize("knobs", [{"max_turns": 1}, {"context": 46}])
def test_a_plan_ends_at_the_limits(knobs):
    plan, _ = imagine([write("north")] * 9, write("go"), **knobs)
    assert plan == ("first",)


def test_a_turn_that_is_cut_off_is_no_step():
    plan, asked = imagine([write("north"), "x" * 90], write("go"))
    assert plan == ("first", "> write(text=q1)") and len(asked) == 2
