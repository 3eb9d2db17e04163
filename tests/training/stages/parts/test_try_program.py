import pytest

from handaxe.training.stages.parts.program_search import FAILED
from handaxe.training.stages.parts.try_program import try_program

HEAD = "def compute_reward(before, after):\n    "


def tried(world, text, *, steps=2, tasks=4):
    return try_program(
        text,
        world.site(),
        tasks=[world.task(f"t{k}") for k in range(tasks)],
        task=world.small_bytes,
        arguments={**world.TRAIN, "steps": steps},
    )


def test_try_program_follows_the_program_and_reports_curves(world):
    found = tried(world, HEAD + "x = after['tokens'] - before['tokens']\n    return 2 * x, {'long': x}", steps=12)
    assert found.runs and found.score == pytest.approx(max(found.curves["task"]), abs=0.5)
    assert set(found.curves) == {"task", "turns", "total", "component/long"}
    assert {len(curve) for curve in found.curves.values()} == {10}
    assert found.curves["total"] == tuple(2 * value for value in found.curves["component/long"])


def test_try_program_returns_the_error_of_a_program_that_fails_on_a_rollout(world):
    found = tried(world, HEAD + "return 1 / (after['tokens'] - after['tokens']), {}")
    assert not found.runs and found.score == FAILED and found.curves == {}
    assert "ZeroDivisionError" in found.error and "\n" not in found.error


def test_try_program_fails_an_empty_text(world):
    found = tried(world, " ")
    assert found.score == FAILED and "is empty" in found.error
