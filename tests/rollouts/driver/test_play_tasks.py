from handaxe.core.records import Message, Sampling, Task
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver.play_tasks import play_tasks
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine


def played(tasks, seed=0):
    engine = ScriptedEngine(Compact(), lambda text, turn: text.split("<USER>")[1].split("<END>")[0][::-1])
    return play_tasks(
        tasks,
        env=tool_chat([]),
        rollout=linear(max_turns=1),
        engine=engine,
        format=Compact(),
        sampling=Sampling(max_tokens=16),
        seed=seed,
    )


def test_each_task_has_its_trajectory_in_order_and_repeats_have_other_seeds():
    tasks = [Task(name, (Message("user", said),)) for name, said in (("a", "ab"), ("b", "cd"), ("a", "ab"))]
    found = played(tasks)
    assert [one.final_text for one in found] == ["ba", "dc", "ba"]
    assert len({one.seed for one in found}) == 3
    assert [one.seed for one in played(tasks)] == [one.seed for one in found]
    assert {one.seed for one in played(tasks, seed=1)}.isdisjoint(one.seed for one in found)
