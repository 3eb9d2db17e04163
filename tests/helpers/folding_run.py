"""A small run whose every attempt folds its memory, for a child process that is killed."""

from pathlib import Path

import numpy as np
import torch

from handaxe.core.records import ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.rollouts.folding import folding
from handaxe.testing.crash import kill_self_at
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools import tool
from handaxe.tools.calculator import calculator
from handaxe.training.loop.train import train
from helpers import training_world as world


def fold_tool(at=0):
    """fold_memory, in whose `at`-th call the process kills itself, 0: in none."""
    die = kill_self_at(at)

    @tool(timeout=None)
    def fold_memory(summary: str) -> str:
        """Fold."""
        die()
        return "folded"

    return fold_memory


def script(request):
    """A call, a fold, and an answer whose length depends on the seed."""
    if request.turn == 0:
        return ToolCall("calculator", {"expression": "1+1"})
    if request.turn == 1:
        return ToolCall("fold_memory", {"summary": "2" * (1 + request.seed % 3)})
    return "3" * (1 + request.seed % 3) + "zz"


class Folding(world.Talking):
    """Says the script, under log-probs of zero; trains a model all the same."""

    def __init__(self):
        super().__init__(script)
        self.inner = world.LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=192), seed=0))

    def sample(self, requests):
        tools = [calculator.schema, fold_tool().schema]
        said = [
            ScriptedEngine(world.FORMAT, lambda text, turn, one=one: script(one), tools=tools).sample([one])[0]
            for one in requests
        ]
        return [one._replace(version=[self.version] * len(one.ids)) for one in said]


def small(group):
    """Reward: the share of sampled ids below 100."""
    return world.Scores(np.array([np.mean(np.concatenate([s.ids[s.mask] < 100 for s in t.sequences])) for t in group]))


def go(steps, at=0, **keep):
    """Train, two minibatches a step; the engine and what came of it."""
    torch.set_num_threads(1)
    engine = Folding()
    roles = {"engine": engine, "env": tool_chat([calculator, fold_tool(at)]), "rollout": folding(max_turns=4)}
    sampling = world.Sampling(max_tokens=32)
    return engine, train(
        **world.arguments(**roles, sampling=sampling, steps=steps, credit=world.centred, reward=small, **keep)
    )


def resume(folder, steps, at=0):
    """What a child process runs: go on with the run in `folder` and leave the final weights there."""
    engine, result = go(steps, at, out=Path(folder), resume=True, checkpoint_every=2)
    if not result.stopped:
        torch.save(world.weights(engine), Path(folder) / "final.pt")
