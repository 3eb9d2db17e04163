import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.doctor.examine import examine
from handaxe.doctor.finding import Finding
from handaxe.doctor.findings_table import findings_table, summary
from handaxe.training.loop.config import PeriodicEvaluation

CHECKS = ["prefix", "stop", "control text", "step", "mask", "log-probs", "reward determinism", "zero gradient"]
CHECKS += ["expert", "empty answer", "limits", "tool time", "tool failures", "tool output", "truncation", "memory"]
CHECKS += ["time"]


LONG = 1e6
"""A time limit in seconds that no machine reaches, so that the number of steps is fixed."""


def levels(found):
    return {one.check: one.level for one in found}


def weights(engine):
    return torch.cat([value.flatten() for value in engine.model.module.state_dict().values()]).clone()


def held_out_of(made):
    return made["run"].evaluation.evaluate


def evaluated_by(made, evaluate, every=1):
    """Run settings with another evaluation; with none for None."""
    evaluation = None if evaluate is None else PeriodicEvaluation(evaluate=evaluate, every=every)
    return replace(made["run"], evaluation=evaluation)


def test_sound_run_passes_and_keeps_its_state(made):
    before, activities = weights(made["engine"]), list[str]()
    found = examine(made, seconds=LONG, report=activities.append)
    assert [one.check for one in found] == CHECKS
    assert not [one for one in found if one.level == "error"], found
    assert all(one.remedy for one in found if one.level == "warning") and not any(
        o.remedy for o in found if o.level == "ok"
    )
    assert torch.equal(weights(made["engine"]), before) and made["engine"].version == 0
    assert any("playing" in line for line in activities)
    time = next(one for one in found if one.check == "time")
    assert time.figures["forecast"] > 3 * time.figures["step"] and "2 evaluations" in time.found


@pytest.mark.slow
def test_random_reward_and_failing_expert_are_both_errors(made):
    rng = np.random.default_rng(0)
    home = held_out_of(made).world
    world = replace(home, expert=lambda task, facts: 1 / 0)
    dice = {**made, "reward": lambda group: Scores(rng.random(len(group)))}
    found = examine(dice, world=world, stages=2, seconds=1)
    assert levels(found)["reward determinism"] == levels(found)["expert"] == "error"
    assert found[0].check == "stages" and found[0].level == "warning"
    assert "division by zero" in next(one.found for one in found if one.check == "expert")
    assert summary(found).startswith("2 errors, ")


def test_reward_that_raises_is_an_error_and_other_checks_still_run(made):
    def broken(group):
        raise RuntimeError("the judge is offline")

    found = levels(examine({**made, "reward": broken, "run": evaluated_by(made, None)}, seconds=LONG))
    assert found["step"] == "error" and found["prefix"] == "ok"
    assert found["mask"] == found["log-probs"] == found["time"] == found["expert"] == "warning"


def test_wrong_arguments_raise(made):
    with pytest.raises(InputError, match="seconds is 0"):
        examine(made, seconds=0)
    with pytest.raises(InputError, match="groups is 0: too few"):
        examine({**made, "groups": 0})
    with pytest.raises(InputError, match="not the arguments of train: .*'stepz'"):
        examine({**made, "stepz": 3})
    with pytest.raises(InputError, match="missing a required argument: 'engine'"):
        examine({name: value for name, value in made.items() if name != "engine"})


def test_evaluation_that_raises_is_an_error(made):
    def broken(group):
        raise KeyError("gold")

    home = held_out_of(made).world
    held_out = replace(held_out_of(made), world=replace(home, correct=broken))
    found = examine({**made, "run": evaluated_by(made, held_out), "groups": 1}, world=home, seconds=1)
    (time,) = [one for one in found if one.level == "error" and one.check == "time"]
    assert "KeyError" in time.found and levels(found)["memory"] == "ok"


def test_run_without_evaluations_times_none(made):
    def never_called(group):
        raise AssertionError

    home = held_out_of(made).world
    held_out = replace(held_out_of(made), world=replace(home, correct=never_called))
    found = examine({**made, "run": evaluated_by(made, held_out, every=0), "groups": 1}, world=home, seconds=1)
    assert levels(found)["time"] == "ok"


def test_findings_are_shown_escaped():
    from rich.console import Console

    console = Console(record=True, width=80, file=io.StringIO())
    console.print(findings_table([Finding("mask", "error", "a reply \x1b[2J [bold]", "fix it")], title="x"))
    shown = console.export_text()
    assert "\\x1b[2J [bold]" in shown and "-> fix it" in shown
    assert summary([Finding("a", "ok", ""), Finding("b", "warning", "")]) == "1 warning, 1 ok"
