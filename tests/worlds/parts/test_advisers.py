from dataclasses import replace

from handaxe.asking.conversation_question import conversation_question
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.advised import Adviser, at_start
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.parts.advisers import add_adviser
from handaxe.worlds.parts.demonstrate import demonstrate

PLAIN = arithmetic(mistakes=True, easy=0.0)
RULE = Adviser(lambda task, said, seed: f"Compute {task.metadata['expression']}.")


def played(world, task):
    rollout = world.make_rollout(6)
    return demonstrate(world.env(world.tools), task, world.expert, format=Compact(), max_turns=6, rollout=rollout)


def test_add_adviser_advises_after_failed_calls_of_demonstrations():
    world, advised = add_adviser(PLAIN, RULE), []
    for task in PLAIN.tasks("train", 20, 0):
        one, plain = played(world, task), played(PLAIN, task)
        failed = [reply.status for reply in one.replies] == ["retry", "ok"]
        told = [message.content for message in one.messages if message.name == "adviser"]
        assert told == [f"Compute {task.metadata['expression']}."] * failed
        assert tuple(message for message in one.messages if message.name != "adviser") == plain.messages
        advised.append(failed)
    assert 0 < sum(advised) < 20


def test_add_adviser_changes_rollout_and_roles_alone():
    world = add_adviser(PLAIN, RULE, when=at_start)
    assert world.roles == () and replace(world, rollout=None) == PLAIN
    model = RULE._replace(ask=conversation_question("coach", "advise"), role="coach")
    assert add_adviser(PLAIN, model).roles == ("coach",)
    (task,) = PLAIN.tasks("train", 1, 0)
    assert [message.name for message in played(world, task).messages][:2] == ["", "adviser"]
