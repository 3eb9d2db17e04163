"""Bitwise resume: a run killed between two updates ends as an uninterrupted run, for methods with state across steps.

Runs are in lockstep, so that rollouts are sampled in one order. The test of a method sets REMEMBERS.
"""

import json
import re
from dataclasses import replace

import pytest

pytest.importorskip("reasoning_gym")

from helpers.methods import embedded_model, methods_with, own, slow_for_papers

from handaxe.commands.configure import parse_train
from handaxe.commands.train import RunOptions
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods import run as of_run
from handaxe.methods.build import make_method
from handaxe.methods.run import run
from handaxe.training.loop.config import RunConfig

SMALL = ["--steps", "3", "--groups", "2", "--group-size", "4", "--held-out", "2", "--seed", "1", "--wait", "0"]


class Died(Exception):
    """The process stops."""


def trained(name, folder, resume=False):
    words = [*SMALL, *own(name, "RESUMED", ()), "--model", embedded_model(name)]
    made = parse_train(name, words, prog="handaxe train", also={"run": RunOptions})[0]
    recipe = {"name": name, "arguments": made.arguments()}
    return run(made, RunConfig(out=folder, resume=resume, progress=False, recipe=recipe, checkpoint_every=1))


def last(folder):
    """Content of the last checkpoint without seconds: digests of weights, moments and arrays, and all state."""
    checkpoint = max((folder / "checkpoints").glob("step-*"))
    assert checkpoint.name == "step-000003"
    held = json.loads((checkpoint / "manifest.json").read_text())
    held["state.json"] = re.sub(r'(seconds\\*": )[-+.e\d]+', r"\1", (checkpoint / "state.json").read_text())
    return held


@pytest.fixture(autouse=True)
def in_lockstep(monkeypatch):
    def made(chosen, world):
        method = make_method(chosen, world)
        return replace(method, async_config=replace(method.async_config, lockstep=True))

    monkeypatch.setattr(of_run, "make_method", made)


@pytest.mark.parametrize("name", slow_for_papers(methods_with("REMEMBERS")))
def test_a_run_killed_in_its_last_update_resumes_to_the_bit(name, tmp_path, monkeypatch):
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
