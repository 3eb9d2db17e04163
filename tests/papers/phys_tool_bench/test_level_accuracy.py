import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Sampling
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.phys_tool_bench.level_accuracy import level_accuracy
from handaxe.testing.scripted_engine import ScriptedEngine

pytest.importorskip("minigrid")
pytest.importorskip("PIL")

from handaxe.papers.phys_tool_bench.tool_scenes import LEVELS, tool_scenes  # noqa: E402

WORLD = tool_scenes()


def figures(tasks):
    """Of a policy that answers every question with its first held-out answer."""
    format = Compact(TinyImageProcessor(8))
    answer = next(task.answer for task in tasks if task.metadata["level"] == "recognition")
    engine = ScriptedEngine(format, [answer])
    return answer, evaluate(
        engine=engine,
        format=format,
        env=WORLD.env(()),
        rollout=WORLD.make_rollout(1),
        tasks=tasks,
        reward=WORLD.correct,
        sampling=Sampling(max_tokens=16),
        breakdown=WORLD.breakdown,
        gauges=WORLD.gauges,
    )


def test_level_accuracy_equals_a_loop():
    tasks = WORLD.tasks("test", 80, 0)
    answer, evaluation = figures(tasks)
    found = level_accuracy(evaluation)
    share = {}
    for level in LEVELS:
        own = [task for task in tasks if task.metadata["level"] == level]
        share[level] = sum(task.answer == answer for task in own) / len(own)
        assert found[level] == pytest.approx(share[level], abs=1e-9)
    for level in LEVELS[1:]:
        assert found[f"gap/{level}"] == pytest.approx(share["recognition"] - share[level], abs=1e-9)
    assert share["recognition"] > share["availability"] == 0 and found["misfit"] == 1


def test_a_missing_level_raises():
    tasks = [task for task in WORLD.tasks("test", 40, 0) if task.metadata["level"] != "creation"]
    with pytest.raises(InputError, match="lacks the levels creation"):
        level_accuracy(figures(tasks)[1])
