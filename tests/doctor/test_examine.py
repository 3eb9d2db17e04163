import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.doctor.examine import examine
from handaxe.doctor.finding import Finding
from handaxe.doctor.shown import findings_table, summary

CHECKS = ["prefix", "stop", "control text", "step", "mask", "log-probs", "reward twice", "zero gradient", "expert"]
CHECKS += ["empty answer", "room", "tool time", "tool failures", "tool output", "cut off", "memory", "time"]


LONG = 1e6
"""So many seconds that what is played does not depend on how fast the machine is."""


def levels(found):
    return {one.check: one.level for one in found}


def weights(engine):
    return torch.cat([value.flatten() for value in engine.model.module.state_dict().values()]).clone()


def test_a_sound_run_is_left_as_it_was(made):
    before, said = weights(made["engine"]), list[str]()
    found = examine(made, seconds=LONG, tell=said.append)
    assert [one.check for one in found] == CHECKS
    assert not [one for one in found if one.level == "wrong"], found
    assert all(one.remedy for one in found if one.level == "look") and not any(
        o.remedy for o in found if o.level == "ok"
    )
    assert torch.equal(weights(made["engine"]), before) and made["engine"].version == 0
    assert any("playing" in line for line in said)
    time = next(one for one in found if one.check == "time")
    assert time.figures["forecast"] > 3 * time.figures["step"] and "2 evaluations" in time.found


def test_a_random_reward_and_an_expert_that_fails_are_found_together(made):
    rng = np.random.default_rng(0)
    home = made["evaluate"].world
    world = replace(home, expert=lambda task, facts: 1 / 0)
    dice = {**made, "reward": lambda group: Scores(rng.random(len(group)))}
    found = examine(dice, world=world, stages=2, seconds=1)
    assert levels(found)["reward twice"] == levels(found)["expert"] == "wrong"
    assert found[0].check == "stages" and found[0].level == "look"
    assert "division by zero" in next(one.found for one in found if one.check == "expert")
    assert summary(found).startswith("2 wrong, ")


def test_nothing_is_played_where_the_reward_raises_and_the_rest_is_still_told(made):
    def broken(group):
        raise RuntimeError("the judge is away")

    found = levels(examine({**made, "reward": broken, "evaluate": None}, seconds=LONG))
    assert found["step"] == "wrong" and found["prefix"] == "ok"
    assert found["mask"] == found["log-probs"] == found["time"] == found["expert"] == "look"


def test_arguments_that_cannot_be(made):
    with pytest.raises(InputError, match="seconds is 0"):
        examine(made, seconds=0)
    with pytest.raises(InputError, match="groups is 0: too few"):
        examine({**made, "groups": 0})
    with pytest.raises(InputError, match="not the arguments of train: .*'stepz'"):
        examine({**made, "stepz": 3})
    with pytest.raises(InputError, match="missing a required argument: 'engine'"):
        examine({name: value for name, value in made.items() if name != "engine"})


def test_an_evaluation_that_raises_is_a_finding(made):
    def broken(group):
        raise KeyError("gold")

    home = made["evaluate"].world
    held_out = replace(made["evaluate"], world=replace(home, correct=broken))
    found = examine({**made, "evaluate": held_out, "groups": 1}, world=home, seconds=1)
    (time,) = [one for one in found if one.level == "wrong" and one.check == "time"]
    assert "KeyError" in time.found and levels(found)["memory"] == "ok"


def test_an_evaluation_that_is_never_made_is_not_timed(made):
    def unasked(group):
        raise AssertionError

    home = made["evaluate"].world
    held_out = replace(made["evaluate"], world=replace(home, correct=unasked))
    found = examine({**made, "evaluate": held_out, "eval_every": 0, "groups": 1}, world=home, seconds=1)
    assert levels(found)["time"] == "ok"


def test_findings_are_shown_escaped():
    from rich.console import Console

    console = Console(record=True, width=80, file=io.StringIO())
    console.print(findings_table([Finding("mask", "wrong", "it said \x1b[2J [bold]", "mend it")], title="x"))
    shown = console.export_text()
    assert "\\x1b[2J [bold]" in shown and "-> mend it" in shown
    assert summary([Finding("a", "ok", ""), Finding("b", "look", "")]) == "1 to look at, 1 ok"
