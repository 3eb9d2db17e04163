import pytest

from handaxe.papers.robotool.skill_program import program_calls, run_skills
from handaxe.papers.robotool.tool_tasks import ToolTask
from handaxe.papers.robotool.workbench import BenchThing

TASK = ToolTask("milk", (BenchThing("milk", 95), BenchThing("hammer", 30, 40, hook=True)))
STEPS = [("grasp", ["hammer"]), ("pull", ["milk", 55]), ("release", []), ("grasp", ["milk"])]


def test_program_calls_matches_its_example():
    code = "grasp('hammer')\npull('milk', get_position('milk') - 40)\n"
    assert program_calls(code, TASK) == (STEPS[:2], "")


@pytest.mark.parametrize(
    "code, message",
    [
        ("grasp('hammer'", "SyntaxError"),
        ("grasp(cup)", "cup"),
        ("get_position('cup')", "KeyError"),
        ("lift('hammer')", "lift"),
        ("grasp()", "is no call of a skill"),
        ("grasp('a', 'b')", "is no call of a skill"),
        ("pull('milk', '55')", "is no call of a skill"),
        ("pull('milk', True)", "is no call of a skill"),
        ("_CALLS.append(['__init__', []])", "is no call of a skill"),
        ("_CALLS.append(5)", "is no call of a skill"),
        ("_CALLS.append([[], []])", "is no call of a skill"),
        ("pull('milk', 10**400)", "is no call of a skill"),
        ("pull('milk', -2e6)", "is no call of a skill"),
        ("_CALLS = 5", "at most 40 calls"),
        ("for k in range(41): release()", "at most 40 calls"),
        ("pull('milk', float('nan'))", ""),
    ],
)
def test_code_that_fails_or_calls_otherwise_has_an_error(code, message):
    calls, error = program_calls(code, TASK)
    assert calls == [] and error and message in error


def test_calls_run_until_the_first_failure():
    assert run_skills(STEPS, TASK) == ("", "")
    assert run_skills([("grasp", ["milk"])], TASK) == ("logical", "milk is out of reach")
    assert run_skills(STEPS[:3], TASK) == ("logical", "the program ends before the goal")
    assert run_skills([("pull", ["milk", 1]), *STEPS], TASK).error == "logical"
    assert run_skills(STEPS, TASK) == ("", "")  # a new bench each time
