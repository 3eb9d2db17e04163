import pytest

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.android_world.phone_agent import phone_agent
from handaxe.papers.android_world.phone_tasks import phone_task, phone_tasks
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = phone_tasks()


def success(task, agent):
    one = demonstrate(WORLD.env(()), task, agent, format=Compact(), max_turns=16)
    assert one.final_text == "done"
    return one.env["success"]


def place(task):
    (part,) = task.metadata["params"]["parts"]
    return [row[0] for row in part["rows"]].index(part["key"])


def test_an_agent_without_errors_finds_the_first_two_screens():
    tasks = [phone_task(name, seed) for name in ("set", "delete") for seed in range(12)]
    found = [success(task, phone_agent(overlook=0.0, mistype=0.0)) for task in tasks]
    assert found == [float(place(task) < 6) for task in tasks] and 0 < sum(found) < len(found)
    assert all(success(task, phone_agent(overlook=0.0, mistype=0.0, screens=3)) == 1.0 for task in tasks)


def test_errors_are_drawn_by_the_seed():
    task = next(phone_task("set", seed) for seed in range(20) if place(phone_task("set", seed)) == 0)
    assert success(task, phone_agent(overlook=1.0)) == 0.0 == success(task, phone_agent(mistype=1.0, overlook=0.0))
    drawn = [success(task, phone_agent(overlook=0.5, seed=seed)) for seed in range(12)]
    assert set(drawn) == {0.0, 1.0}
    assert drawn == [success(task, phone_agent(overlook=0.5, seed=seed)) for seed in range(12)]


@pytest.mark.parametrize("options", [{"overlook": 1.1}, {"mistype": -0.1}, {"screens": 0}])
def test_arguments_out_of_range_raise(options):
    with pytest.raises(InputError, match="1 screen or more"):
        phone_agent(**options)
