import pytest
from helpers.image_records import noise

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, ParsedTurn, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.limited_images import limited_images
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.testing.tools import check_env
from handaxe.tools.crop import crop

TASK = Task("t", (Message.of("user", noise(0, 8, 8), "?"),))
CROP = ToolCall("crop", {"box": [0, 0, 4, 8]}, "c0")
CUT = ParsedTurn("", (CROP,))


def factory(most):
    return limited_images(tool_chat([crop()]), most=most)


@pytest.mark.parametrize(("most", "turns"), [(0, 1), (2, 3), (9, 5)])
def test_a_rollout_ends_at_the_first_image_beyond_the_limit(most, turns):
    format = Compact(TinyImageProcessor(4))
    env = factory(most)
    engine = ScriptedEngine(format, [CROP] * 4 + ["done"], tools=[crop().schema])
    attempt = Attempt(TASK, env, format, Sampling(max_tokens=100), "t/0", 0, 0, 2000)
    ((one,),) = driver.run([attempt], linear(max_turns=6), engine)
    assert len(one.turns) == turns
    assert one.ending == (Ending("completed") if most == 9 else Ending("truncated", "budget"))
    assert one.usage.image_tokens == 2 * min(most, 4), "the policy reads no image beyond the limit"


def test_a_fork_continues_with_the_images_of_its_trunk():
    check_env(factory(5), TASK, turn=CUT)
    env = factory(1)(TASK)
    env.start()
    assert not env.step(CUT, seed=0).done
    state = env.snapshot()
    other = factory(1)(TASK)
    other.start()
    other.restore(state)
    assert env.step(CUT, seed=0).done and other.step(CUT, seed=0).ending == Ending("truncated", "budget")


def test_a_negative_limit_is_an_error():
    with pytest.raises(InputError, match="most=-1; give 0 or more"):
        factory(-1)
