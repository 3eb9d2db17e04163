from itertools import permutations

import pytest

from handaxe.core.errors import InputError
from handaxe.papers.robotool.rule_roles import SLOTS, _steps, analyze, calculate, write_code
from handaxe.papers.robotool.skill_program import program_calls, run_skills
from handaxe.papers.robotool.tool_tasks import CATEGORIES, draw_task, read_scene, scene_text
from handaxe.papers.robotool.workbench import BenchThing


@pytest.mark.parametrize("target", CATEGORIES)
def test_a_text_says_the_whole_task(target):
    for seed in range(5):
        task = draw_task(target, seed)
        scene = read_scene(task.text)
        assert (scene.target, tuple(scene.things.values())) == task and task == draw_task(target, seed)
        assert task.things[0].name == target and scene.tools == list(task.things[1:])
    assert len({draw_task(target, seed).text for seed in range(5)}) == 5


def test_a_line_has_numbers_and_properties():
    text = scene_text("milk", [BenchThing("hammer", 30, 40, hook=True)])
    assert "- hammer: at 30, length 40, height 5, mass 1, carries 5, rigid, hook" in text.splitlines()


@pytest.mark.parametrize("target", [name for name in CATEGORIES if name != "button"])
def test_one_choice_of_tools_solves_a_task(target):
    """Slow twin of the Analyzer: every ordered choice of tools, with computed numbers, on the bench."""
    for seed in range(2):
        task = draw_task(target, seed)
        names = [one.name for one in task.things[1:]]
        solved = []
        for chosen in permutations(names, SLOTS[target]):
            steps = calculate(task.text, plan="\n".join(_steps(target, chosen)))
            calls, error = program_calls(write_code(task.text, plan=steps), task)
            assert not error
            solved += [chosen] if not run_skills(calls, task).error else []
        assert len(solved) == 1
        assert len(analyze(task.text).splitlines()) == SLOTS[target]


@pytest.mark.parametrize("text", ["", "Hold the milk.", "Hold the cup.\n- cup: at 1"])
def test_another_text_is_rejected(text):
    with pytest.raises(InputError, match="describes no task"):
        read_scene(text)


def test_an_unknown_target_is_rejected():
    with pytest.raises(InputError, match="'cup' is no target: milk"):
        draw_task("cup", 0)
