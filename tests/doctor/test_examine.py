import io
from dataclasses import replace

import numpy as np
import pytest
import torch

from handaxe.doctor.examine import examine
from handaxe.doctor.finding import Finding
from handaxe.doctor.shown import findings_table, summary
from handaxe.errors import InputError
from handaxe.records import Scores
from handaxe.training.loop import train

CHECKS = ["prefix", "stop", "control text", "step", "mask", "log-probs", "reward twice", "zero gradient", "expert"]
CHECKS += ["empty answer", "room", "tool time", "tool failures", "tool output", "cut off", "memory", "time"]


LONG = 1e6
"""So many seconds that what is played does not depend on how fast the machine is."""


def levels(found):
    return {one.check: one.level for one in found}


def weights(engine):
    return torch.cat([value.flatten() for value in engine.model.module.state_dict().values()]).clone()


def test_a_sound_run_and_train_goes_on_as_if_nobody_had_looked(made):
    before, said = weights(made["engine"]), list[str]()
    found = examine(**made, seconds=LONG, tell=said.append)
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
    found = examine(
        **{**made, "reward": lambda group: Scores(rng.random(len(group)))}, world=world, stages=2, seconds=1
    )
    assert levels(found)["reward twice"] == levels(found)["expert"] == "wrong"
    assert found[0].check == "stages" and found[0].level == "look"
    assert "division by zero" in next(one.found for one in found if one.check == "expert")
    assert summary(found).startswith("2 wrong, ")


def test_nothing_is_played_where_the_reward_raises_and_the_rest_is_still_told(made):
    def broken(group):
        raise RuntimeError("the judge is away")

    found = levels(examine(**{**made, "reward": broken, "evaluate": None}, seconds=LONG))
    assert found["step"] == "wrong" and found["prefix"] == "ok"
    assert found["mask"] == found["log-probs"] == found["time"] == found["expert"] == "look"


def test_arguments_that_cannot_be(made):
    with pytest.raises(InputError, match="seconds is 0"):
        examine(**made, seconds=0)


def test_what_train_takes_examine_takes():
    import inspect

    taken = inspect.signature(examine).parameters
    assert set(inspect.signature(train).parameters) == set(taken) - {"world", "stages", "limits", "seconds", "tell"}
    for name, one in inspect.signature(train).parameters.items():
        assert one.default is taken[name].default or type(one.default) is type(taken[name].default), name


def test_findings_are_shown_escaped():
    from rich.console import Console

    console = Console(record=True, width=80, file=io.StringIO())
    console.print(findings_table([Finding("mask", "wrong", "it said \x1b[2J [bold]", "mend it")], title="x"))
    shown = console.export_text()
    assert "\\x1b[2J [bold]" in shown and "-> mend it" in shown
    assert summary([Finding("a", "ok", ""), Finding("b", "look", "")]) == "1 to look at, 1 ok"
