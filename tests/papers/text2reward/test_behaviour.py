from handaxe.papers.text2reward.behaviour import behaviour
from handaxe.training.stages.parts.program_search import FAILED, TASK, ProgramTrial

POOR = ProgramTrial("poor", 0.4, {TASK: (0.1, 0.4), "turns": (8.0, 6.0), "component/ok": (1.0, 2.0)})
GOOD = ProgramTrial("good", 0.95, {TASK: (0.5, 0.95), "turns": (8.0, 5.25)})
BROKEN = ProgramTrial("broken", FAILED, {}, "ZeroDivisionError: division by zero")


def test_behaviour_matches_its_example():
    found = behaviour()([BROKEN, POOR], (), 0)
    assert found.text.splitlines() == [
        "poor",
        "After training, the policy solves 40 % of the tasks, from 10 % before, in 6.0 turns. Change the program so "
        "that the policy solves more tasks.",
    ]
    assert found.good == POOR._replace(curves={TASK: (0.1, 0.4)})


def test_behaviour_asks_for_no_change_of_a_program_that_solves_the_tasks():
    found = behaviour()([POOR, GOOD], (), 0)
    assert found.good.text == "good" and found.text.endswith("in 5.2 turns. Keep the program.")


def test_behaviour_is_none_if_every_program_failed():
    assert behaviour()([BROKEN], (), 0) is None
