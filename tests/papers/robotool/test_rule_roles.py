import pytest

from handaxe.asking.read import Unreadable
from handaxe.papers.robotool.rule_roles import analyze, calculate, meets, plan_steps, write_code
from handaxe.papers.robotool.skill_program import program_calls, run_skills
from handaxe.papers.robotool.tool_tasks import CATEGORIES, ToolTask, draw_task
from handaxe.papers.robotool.workbench import BenchThing

MILK = ToolTask(
    "milk", (BenchThing("milk", 95), BenchThing("stick", 20, 50), BenchThing("hammer", 30, 40, hook=True))
).text
PLAN = "grasp hammer\npull milk ?\nrelease\ngrasp milk"


def test_the_roles_match_their_examples():
    assert analyze(MILK) == "need hook rigid length>=35"
    assert plan_steps(MILK, concepts="need hook rigid length>=35") == PLAN
    assert calculate(MILK, plan=PLAN) == PLAN.replace("?", "55")
    assert write_code(MILK, plan="grasp hammer\npull milk 55") == "grasp('hammer')\npull('milk', 55)\n"
    assert meets(BenchThing("x", 0, 40, hook=True), "hook length>=35") and not meets(
        BenchThing("x", 0, 34), "length>=35"
    )


def test_without_key_concepts_the_first_things_are_chosen():
    assert plan_steps(MILK).startswith("grasp stick")
    assert write_code(MILK, plan=PLAN).splitlines()[1] == "pull('milk', get_position('milk'))"
    assert write_code(MILK) == "grasp('milk')\n"


@pytest.mark.parametrize("target", CATEGORIES)
def test_all_roles_solve_a_task_and_each_absence_has_its_error(target):
    errors = {"analyzer": set(), "calculator": set(), "coder": set()}
    for seed in range(8):
        task = draw_task(target, seed)

        def error(code, task=task):
            calls, wrong = program_calls(code, task)
            assert not wrong
            return run_skills(calls, task).error

        steps = plan_steps(task.text, concepts=analyze(task.text))
        assert error(write_code(task.text, plan=calculate(task.text, plan=steps))) == ""
        errors["calculator"].add(error(write_code(task.text, plan=steps)))
        blind = calculate(task.text, plan=plan_steps(task.text))
        errors["analyzer"].add(error(write_code(task.text, plan=blind)))
        errors["coder"].add(error(write_code(task.text)))
    assert errors["calculator"] == ({""} if target == "button" else {"numerical"})
    assert "tool" in errors["analyzer"] and "numerical" not in errors["analyzer"]
    assert errors["coder"] == {"logical"}


@pytest.mark.parametrize("steps", ["take hammer", "grasp", "grasp a b", "First, grasp hammer"])
def test_a_line_that_is_no_step_is_unreadable(steps):
    for role in (calculate, write_code):
        with pytest.raises(Unreadable, match="is no step of a plan"):
            role(MILK, plan=steps)


def test_unknown_features_and_things_are_unreadable():
    for word in ("sharp", "length>=1.2.3", "length>=."):
        with pytest.raises(Unreadable, match=f"'{word}' is no feature"):
            plan_steps(MILK, concepts=f"need {word}")
    with pytest.raises(Unreadable, match="there is no 'cup'"):
        calculate(MILK, plan="grasp cup")
    with pytest.raises(Unreadable, match="no line of the key concepts begins with need"):
        plan_steps(MILK, concepts="The milk is far.")
