import asyncio

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import AuxChat, AuxRequest, EnvReply
from handaxe.envs.aux_work import AuxWorkEnv
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.ask_aux import ask_aux
from handaxe.testing.tools import check_env
from handaxe.tools.calculator import calculator

TASK = Task("a", (Message("user", "?"),))
TURN = ParsedTurn("", (ToolCall("calculator", {"expression": "2+3"}, "c0"),))
CHAT = AuxChat(Compact(), Sampling(max_tokens=8), 400)


class Doubted(AuxWorkEnv):
    """Asks a critic about each reply of the tool."""

    def work(self, turn):
        reply = yield turn
        if "critic" not in self.models:
            return reply
        said = yield from ask_aux(AuxRequest("critic", reply.messages))
        return reply._replace(facts={"doubt": said.text})


class InThreads:
    async def run(self, work, *, seconds=None, limit=None):
        return work()


def made(*, model=True):
    env = Doubted(tool_chat([calculator])(TASK), TASK)
    env.start()
    env.on_open(aux_policies={"critic": CHAT} if model else {}, max_turns=3)
    return env


def test_the_wrapper_keeps_the_environment_contract():
    check_env(lambda task: Doubted(tool_chat([calculator])(task), task), TASK)


def test_work_without_a_model_is_the_inner_step():
    env, inner = made(model=False), tool_chat([calculator])(TASK)
    inner.start()
    assert env.step(TURN, seed=0).messages == inner.step(TURN, seed=0).messages and env.asked == {}


@pytest.mark.parametrize("way", ["step", "astep"])
def test_a_request_pauses_the_work_and_its_reply_continues_it(way):
    """step and astep follow the same slow path by hand: tool, request, reply."""
    env = made()
    if way == "step":
        asked = env.step(TURN, seed=7)
    else:
        asked = asyncio.run(env.astep(TURN, seed=7, threads=InThreads()))
    assert asked == EnvReply(aux_request=AuxRequest("critic", (Message("tool", "5", call_id="c0", name="calculator"),)))
    reply = env.on_aux_reply(ParsedTurn("sure"), seed=0)
    assert reply.facts == {"doubt": "sure"} and reply.replies[0].content == "5" and env.max_turns == 3 and env.seed == 7
    assert env.asked == {"critic": 1}


def test_an_empty_reply_is_asked_again_and_then_ends_the_rollout_unscored():
    env = made()
    first = env.step(TURN, seed=0)
    assert env.on_aux_reply(ParsedTurn(" "), seed=0) == first
    assert env.on_aux_reply(ParsedTurn("no"), seed=0).facts == {"doubt": "no"}
    env.step(TURN, seed=0)
    env.on_aux_reply(ParsedTurn(""), seed=0)
    end = env.on_aux_reply(ParsedTurn(""), seed=0)
    assert end.done and end.ending == Ending("infra_error", "'critic' gave no reply")


def test_snapshots_include_the_number_of_requests():
    env = made()
    env.step(TURN, seed=0)
    env.on_aux_reply(ParsedTurn("a"), seed=0)
    state = env.snapshot()
    env.step(TURN, seed=0)
    assert env.asked == {"critic": 2}
    env.restore(state)
    assert env.asked == {"critic": 1}


def test_an_inner_environment_with_requests_is_rejected():
    with pytest.raises(InputError, match="asks auxiliary policies itself"):
        Doubted(made(), TASK)
