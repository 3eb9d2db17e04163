"""The world of built environments."""

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Message, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.ftrl.built_chains import built_chains
from handaxe.papers.ftrl.toolchains import SCENARIOS
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.mark.parametrize("options", [{}, {"merged": 1.0, "scaled": 1.0, "distractors": 0}])
def test_built_chains_keeps_the_world_contract(options):
    check_world(built_chains(size=60, **options), count=12)


def test_each_expert_call_solves_a_sub_question_and_spurious_calls_are_of_distractors():
    world, noisy = built_chains(size=60, spurious_rate=0.0), built_chains(size=60, spurious_rate=1.0)
    for task in world.tasks("test", 20, 0):
        one = demonstrate(world.env(()), task, world.expert, format=Compact(), context=512)
        width, depth = SCENARIOS[task.metadata["scenario"]]
        assert len(one.calls) == width * depth and one.final_text == task.answer
        assert {reply.status for reply in one.replies} == {"ok"}
        more = demonstrate(noisy.env(()), task, noisy.expert, format=Compact())
        extra = [call.name for call in more.calls if call.name not in task.metadata["unsolved"]]
        assert len(extra) == depth and set(extra) <= set(task.tools) and more.final_text == task.answer


def test_wrong_input(tmp_path):
    with pytest.raises(InputError, match="merged, scaled and spurious_rate"):
        built_chains(merged=2.0)
    world = built_chains(size=60)
    with pytest.raises(TaskError, match="has no tools"):
        world.env(())(Task("t", (Message("user", "?"),), "1"))
    other = Task("t", (Message("user", "?"),), "1", metadata={"environment": {"head": {"name": "head"}}})
    with pytest.raises(TaskError, match="a tool with other fields"):
        world.env(())(other)
    rows = [f'{{"question": "{k}?", "answer": "{k}"}}\n' for k in range(20)]
    (tmp_path / "x.jsonl").write_text("".join(rows))
    with pytest.raises(TaskError, match="tasks without tools"):
        built_chains(file=str(tmp_path / "x.jsonl"))
