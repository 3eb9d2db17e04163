"""The world of synthesized environments."""

import pytest

from handaxe.core.errors import InputError, TaskError
from handaxe.core.records import Group, Message, Task
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.astra.arena import arena
from handaxe.papers.astra.trajectory_f1 import trajectory_f1
from handaxe.testing.worlds import check_world
from handaxe.worlds.parts.demonstrate import demonstrate


@pytest.mark.parametrize("options", [{}, {"outages": 0.2, "distractors": (0, 0, 0)}])
def test_arena_keeps_the_world_contract(options):
    check_world(arena(size=60, **options), count=24)


def play(world, tasks, **options):
    return [demonstrate(world.env(()), task, world.expert, format=Compact(), **options) for task in tasks]


def test_the_exact_expert_has_f1_1_and_the_spurious_one_less():
    exact, noisy = arena(spurious_rate=0.0), arena(spurious_rate=1.0)
    tasks = exact.tasks("test", 24, 0)
    for one in play(exact, tasks):
        assert trajectory_f1()(Group(one.task, (one,))).outcome[0] == pytest.approx(1.0, abs=1e-5)
        gauges = {name: (gauge.top(one, 1.0), gauge.bottom(one, 1.0)) for name, gauge in exact.gauges.items()}
        n = one.task.metadata["sub_count"]
        assert gauges == {"calls_per_solved": (n, n), "sub_recall": (n, n), "distractor_calls": (0, n)}
    for one in play(noisy, tasks):
        assert trajectory_f1()(Group(one.task, (one,))).outcome[0] < 0.9
        assert noisy.gauges["distractor_calls"].top(one, 1.0) >= 1
        assert noisy.correct(Group(one.task, (one,))).outcome[0] == 1


def test_the_expert_calls_again_after_an_outage():
    world = arena(spurious_rate=0.0, outages=0.5)
    played = play(world, world.tasks("test", 24, 0), max_turns=40, context=4096)
    failed = [reply for one in played for reply in one.replies if reply.status != "ok"]
    assert failed and all("timeout" in reply.content for reply in failed)
    assert all(world.correct(Group(one.task, (one,))).outcome[0] == 1 for one in played)


def test_tools_and_answers_of_distractors_differ_from_needed_ones():
    for task in arena().tasks("train", 40, 0):
        needed = set(task.metadata["needed"])
        assert needed == set(task.metadata["unsolved"]) and needed < set(task.tools) == set(
            task.metadata["environment"]
        )
        assert len(set(task.tools) - needed) == 3
        answers = {one[2] for one in task.metadata["sub_questions"]}
        for name in set(task.tools) - needed:
            assert not any(f'"{answer}"]' in task.metadata["environment"][name][0] for answer in answers)


def test_wrong_input(tmp_path):
    for options in ({"outages": 1.0}, {"spurious_rate": 2.0}, {"distractors": (-1, 0, 0)}):
        with pytest.raises(InputError, match="outages 0 to below 1"):
            arena(**options)
    with pytest.raises(TaskError, match="astra_environments"):
        arena().env(())(Task("t", (Message("user", "q"),), "a"))
    rows = "".join(f'{{"question": "{k}?", "answer": "{k}"}}\n' for k in range(30))
    (tmp_path / "other.jsonl").write_text(rows)
    with pytest.raises(TaskError, match="has tasks without tools"):
        arena(file=str(tmp_path / "other.jsonl"))
