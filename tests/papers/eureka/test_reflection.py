from handaxe.papers.eureka.reflection import reflection
from handaxe.training.stages.parts.program_search import FAILED, TASK, ProgramTrial

FIRST = ProgramTrial("first", 0.3, {TASK: (0.1, 0.3), "component/ok": (1.0, 1.0)})
SECOND = ProgramTrial("second", 0.7, {TASK: (0.7, 0.2), "turns": (3.0, 4.0), "component/ok": (-1.0, 2.5)})
BROKEN = ProgramTrial("broken", FAILED, {}, "ZeroDivisionError: division by zero")


def test_reflection_names_the_best_program_with_its_curves():
    found = reflection()([BROKEN, FIRST, SECOND], (), 0)
    assert found.good == SECOND and found.bad is None
    lines = found.text.splitlines()
    assert lines[0] == "second"
    assert "task: 0.70, 0.20, max 0.70, mean 0.45, min 0.20" in lines
    assert "turns: 3.00, 4.00, max 4.00, mean 3.50, min 3.00" in lines
    assert "component/ok: -1.00, 2.50, max 2.50, mean 0.75, min -1.00" in lines
    assert "near 0" in found.text and "constant" in found.text and "much larger" in found.text


def test_reflection_matches_its_example():
    lines = reflection()([FIRST], (), 0).text.splitlines()
    assert "task: 0.10, 0.30, max 0.30, mean 0.20, min 0.10" in lines
    assert "component/ok: 1.00, 1.00, max 1.00, mean 1.00, min 1.00" in lines


def test_reflection_without_component_curves_keeps_the_tasks_alone():
    found = reflection(component_curves=False)([FIRST, SECOND], (), 0)
    assert found.good == SECOND._replace(curves={TASK: (0.7, 0.2)})
    assert "component/" not in found.text and "turns" not in found.text


def test_reflection_is_none_if_every_program_failed():
    assert reflection()([BROKEN, BROKEN], (), 0) is None
