import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Ending, Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.envs.wrapper import AsyncEnvWrapper
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.deepagent.structured_folding import FOLDED, structured_folding
from handaxe.rollouts import driver
from handaxe.rollouts.folding import SPEAKER
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator

TASK = Task("t", (Message("user", "12*34+5?"),), "413")


class Folds(AsyncEnvWrapper):
    """Folds the memory after each result of 408."""

    def transform_reply(self, reply):
        found = any(one.content == "408" for one in reply.replies)
        return reply._replace(facts={FOLDED: "episodic 408"} if found else {})


def played(rollout, *, folds=True):
    def env(task):
        made = tool_chat([calculator])(task)
        return Folds(made) if folds else made

    calls = [ToolCall("calculator", {"expression": one}) for one in ("12*34", "408+5")]
    engine = ScriptedEngine(Compact(), [*calls, "413"], tools=[calculator.schema])
    attempt = Attempt(TASK, env, Compact(), Sampling(max_tokens=48), "t/0", 0, 5, 400)
    ((one,),) = driver.run([attempt], rollout, engine)
    return one


def test_a_fold_begins_a_sequence_with_task_and_memory():
    one = played(structured_folding(max_turns=4))
    assert one.ending == Ending("completed") and [turn.sequence for turn in one.turns] == [0, 1, 1]
    text = Compact().decode(one.sequences[1].ids)
    assert "12*34+5?" in text and "Your memory: episodic 408" in text and "<TOOL>408" not in text
    assert [message.content for message in one.messages if message.name == SPEAKER] == ["Your memory: episodic 408"]
    memory = Compact().encode_turn(Message("assistant", "episodic 408"), ())[:-1]
    trained = [token for token, use in zip(one.sequences[1].ids, one.sequences[1].mask, strict=True) if use]
    assert not any(trained[k : k + len(memory)] == memory for k in range(len(trained)))


def test_without_a_fold_the_rollout_is_linear():
    one, plain = played(structured_folding(max_turns=4), folds=False), played(linear(max_turns=4), folds=False)
    assert [list(own.ids) for own in one.sequences] == [list(own.ids) for own in plain.sequences]
    assert one.ending == plain.ending and len(one.sequences) == 1


def test_turns_count_over_all_sequences():
    assert played(structured_folding(max_turns=2)).ending == Ending("truncated", "turns")
    with pytest.raises(InputError):
        structured_folding(max_turns=0)
