"""A run that dies between two updates and is resumed ends like one that did not, whatever its recipe remembers: to the
bit in lockstep, where attempts are sampled in one order."""

import json
import re
from dataclasses import replace

import pytest

pytest.importorskip("reasoning_gym")

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods import run as of_run
from handaxe.methods.build import make_method
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig

SMALL = ["--steps", "3", "--groups", "2", "--group-size", "4", "--held-out", "2", "--seed", "1", "--wait", "0"]
REMEMBERING = {
    "agent_evolver": "tasks of its own making, and tips from earlier attempts",
    "agentmath": "how far its limits have grown",
    "archer": "turns to learn from, their critic, and states of earlier attempts",
    "calm_judged": "a judge that was taught before",
    "deeptravel": "failed tasks, which come again",
    "dgrpo": "how hard families and tasks are",
    "effective_rank": "ranks of earlier steps",
    "fathom": "what was solved",
    "ipa": "starts in the middle of earlier attempts",
    "rex_rag": "which tasks were failed",
    "thor": "what it judges apart",
}
"""Recipes by what they remember from one step to the next."""
WHOLE = ("--segment-tokens", "None", "--segment-calls", "None")
GROWING = ("--groups", "16", "--tokens", "4", "8", "12", "--truncated", "0")
FEWER = {
    "agentmath": (*WHOLE, *GROWING),
    "agent_evolver": ("--tips", "2", "--explored", "16"),
    "calm_judged": ("--taught", "2", "--epochs", "1", "--max-turns", "3"),
    "rex_rag": ("--taught", "0"),
}


class Died(Exception):
    """As if the machine had stopped."""


def trained(name, folder, resume=False):
    words = [*SMALL, *FEWER.get(name, ()), "--model", "tiny"]
    made = parse_train(name, words, prog="handaxe train", also={"run": RunOptions})[0]
    recipe = {"name": name, "arguments": made.arguments()}
    return run(made, RunConfig(out=folder, resume=resume, progress=False, recipe=recipe, checkpoint_every=1))


def last(folder):
    """All that the last checkpoint holds: digests of weights, moments and arrays, and the state of every part, without
    the seconds that a clock has measured."""
    checkpoint = max((folder / "checkpoints").glob("step-*"))
    assert checkpoint.name == "step-000003"
    held = json.loads((checkpoint / "manifest.json").read_text())
    held["state.json"] = re.sub(r'(seconds\\*": )[-+.e\d]+', r"\1", (checkpoint / "state.json").read_text())
    return held


@pytest.fixture(autouse=True)
def in_lockstep(monkeypatch):
    def made(chosen, world):
        method = make_method(chosen, world)
        return replace(method, pace=replace(method.pace, lockstep=True))

    monkeypatch.setattr(of_run, "make_method", made)


@pytest.mark.parametrize("name", REMEMBERING)
def test_a_run_that_dies_in_its_last_update_ends_like_one_that_does_not(name, tmp_path, monkeypatch):
    updates = []
    step = LocalEngine.optim_step

    def counted(self, **options):
        updates.append(self)
        if len(updates) == dies:
            raise Died
        return step(self, **options)

    monkeypatch.setattr(LocalEngine, "optim_step", counted)
    dies = None
    trained(name, tmp_path / "whole")
    dies, updates = len(updates), []
    assert dies > 1
    with pytest.raises(Died):
        trained(name, tmp_path / "dies")
    assert sorted(one.name for one in (tmp_path / "dies" / "checkpoints").glob("step-*"))[-1] < "step-000003"
    dies = None
    trained(name, tmp_path / "dies", resume=True)
    assert last(tmp_path / "dies") == last(tmp_path / "whole")
