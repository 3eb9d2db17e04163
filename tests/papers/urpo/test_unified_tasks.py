from collections import Counter

import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.urpo.unified_tasks import mix_parts, unified_tasks
from handaxe.testing.worlds import check_world
from handaxe.worlds.mixture import PART
from handaxe.worlds.parts.demonstrate import demonstrate

WORLD = unified_tasks()
TASKS = WORLD.tasks("train", 12, 0)


def test_unified_tasks_keeps_the_world_contract():
    check_world(WORLD, count=12)


def test_each_gauge_is_of_one_part():
    texts = {"verifiable": "12", "ranking": "x", "open": "53"}
    for task in TASKS[:3]:
        one = demonstrate(
            WORLD.env(()),
            task,
            lambda task, facts: Message("assistant", texts[task.metadata[PART]]),
            format=Compact(),
            max_turns=1,
        )
        found = {name: (gauge.top(one, 0.0), gauge.bottom(one, 0.0)) for name, gauge in WORLD.gauges.items()}
        part = task.metadata[PART]
        assert found["tau"] == ((-1.0, 1.0) if part == "ranking" else (0.0, 0.0))
        assert found["quality"][1] == (part == "open")


def test_a_cycle_has_fixed_numbers_of_each_part():
    order = mix_parts(verifiable=1, ranking=2, open=1)(TASKS, 0)
    assert Counter(task.metadata[PART] for task in order.next(0, 8)) == {"verifiable": 2, "ranking": 4, "open": 2}
    alone = mix_parts(verifiable=0, ranking=0, open=1)(TASKS, 0)
    assert {task.metadata[PART] for task in alone.next(0, 4)} == {"open"}


@pytest.mark.parametrize("numbers", [(0, 0, 0), (1, -1, 1)])
def test_a_mixture_without_tasks_is_refused(numbers):
    with pytest.raises(InputError, match="give 0 or more, and one above 0"):
        mix_parts(**dict(zip(("verifiable", "ranking", "open"), numbers, strict=True)))
