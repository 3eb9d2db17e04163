"""One side of the comparison: `handaxe.training.loop.train.train`, a step at a time; see bench/sides.py for the
conversation.

Reads one JSON line with the setting, then takes one training step for every further line and answers each with the
seconds it took and what was sampled in it.
"""

import itertools
import json
import sys
import time
from typing import Any

import torch

from handaxe.core.records import Message, Sampling, Task
from handaxe.credit.group_norm import group_norm
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.load import load
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.linear import linear
from handaxe.tools.decorator import tool
from handaxe.training.loop.config import AsyncConfig, RunConfig, Updates
from handaxe.training.loop.train import train


class Paced:
    """Curriculum with the same tasks on request, and logger of the duration of each step."""

    def __init__(self, questions: list[str]):
        self.tasks = [Task(str(i), (Message("user", text),)) for i, text in enumerate(questions)]
        self.calls = 0
        self.start = 0.0

    def next(self, step: int, count: int) -> list[Task]:
        if not sys.stdin.readline():
            raise SystemExit
        self.calls = 0
        self.start = time.perf_counter()
        return self.tasks

    def observe(self, groups: Any) -> None:
        """Nothing is learnt of them."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """There is no state."""

    def __call__(self, step: int, metrics: dict[str, float]) -> None:
        tokens = metrics["tokens"] * metrics["trajectories"]
        phases = {name: value for name, value in metrics.items() if name.startswith("seconds/")}
        seconds = time.perf_counter() - self.start
        print(json.dumps({"seconds": seconds, "calls": self.calls, "tokens": tokens} | phases), flush=True)

    def close(self) -> None:
        """Nothing to close."""


class Record:
    """What is looked up: slow for as many calls as the setting has turns, each wait used once in a step."""

    def __init__(self, paced: Paced, number: int, setting: dict[str, Any]):
        self.paced = paced
        self.number = number
        self.setting = setting
        self.turn = 0

    @tool
    def lookup(self, key: str) -> str:
        """Look up a record.

        Args:
            key: which one
        """
        rollouts, waits = self.setting["rollouts"], self.setting["waits"]
        if self.turn < self.setting["turns"]:  # the last turn is not answered by the other side
            self.paced.calls += 1
            time.sleep(waits[(self.turn * rollouts + self.number) % len(waits)])
        self.turn += 1
        return self.setting["replies"][self.number]


@outcome
def every_other(trajectory: Any) -> float:
    """Half of the siblings are right."""
    return float(trajectory.sample % 2)


def main() -> None:
    """Build the parts and train."""
    setting = json.loads(sys.stdin.readline())
    torch.set_num_threads(setting["threads"])
    loaded = load(setting["model"])
    paced, number = Paced(setting["questions"]), itertools.count()

    def record() -> Record:
        return Record(paced, next(number) % setting["rollouts"], setting)

    tools = [record] if setting["turns"] else []
    drafts = {"draft_tokens": setting["draft_tokens"]} if "draft_tokens" in setting else {}
    print(json.dumps({"ready": True}), flush=True)
    train(
        engine=LocalEngine(loaded.model, max_rows=setting["rollouts"], **drafts),
        format=loaded.format,
        env=tool_chat(tools),
        tasks=paced,
        rollout=linear(max_turns=setting["turns"] + 1),
        reward=every_other,
        credit=group_norm(std="sample"),
        loss=policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        sampling=Sampling(temperature=setting["temperature"], max_tokens=setting["max_turn"]),
        steps=setting["steps"],
        groups=len(setting["questions"]),
        group_size=setting["group_size"],
        learning_rate=setting["learning_rate"],
        updates=Updates(micro_batch_rows=16),
        async_config=AsyncConfig(workers=setting["rollouts"]),
        run=RunConfig(loggers=(paced,), progress=False),
    )


if __name__ == "__main__":
    main()
