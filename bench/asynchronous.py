"""Synchronous against asynchronous training on a simulated clock, at equal tokens.

    python bench/asynchronous.py --out bench/results/asynchronous.json

The loop, the driver and the gate are the real ones (`train`), the engine samples texts of drawn lengths, and a
simulated clock charges what decoding, tools and training take. Two workloads, after what their papers publish:

    verltool    2048 short rollouts of 1 or 3 tool turns on fast interpreters; only sampling is measured
    agentmath   rollouts whose turns and tokens have a long tail (up to 96 calls), training included

The papers do not publish distributions: lengths and times here are lognormal, with the parameters below. One token here
stands for ten of theirs. So read the direction and the factor, not the seconds.
"""

import argparse
import json
import math
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from handaxe.core.batch import LossOut
from handaxe.core.records import Message, RatedGroup, Sampling, Task
from handaxe.core.requests import Act, Completion, EnvReply, Work
from handaxe.credit.group_norm import group_norm
from handaxe.curricula.in_order import in_order
from handaxe.losses.policy import policy
from handaxe.losses.ratios.token import token
from handaxe.losses.reductions.rollout_mean import rollout_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.models.chat_formats.compact import Compact
from handaxe.rewards.outcome import outcome
from handaxe.rollouts.linear import linear
from handaxe.testing.simulated import SimulatedClock, SimulatedEngine, SimulatedWorkers
from handaxe.training.loop.config import AsyncConfig, RunConfig, Updates
from handaxe.training.loop.train import train

FORMAT = Compact()


class Workload(NamedTuple):
    """Medians and sigmas of lognormals, each cut at a most; turns are drawn for an attempt, the others for a turn."""

    groups: int
    group_size: int
    turns: tuple[float, float, float]
    tokens: tuple[float, float, float]
    tool_seconds: tuple[float, float, float]
    decode_seconds: float
    train_seconds: float
    """Of a token."""
    steps: int


VERLTOOL = Workload(128, 16, (1, 0, 1), (25, 0.6, 150), (2, 1.3, 60), 0.25, 0.0, 1)
AGENTMATH = Workload(8, 8, (6, 0.9, 96), (30, 0.7, 300), (2, 1.2, 60), 0.25, 0.0025, 8)


def drawn(seed: int, shape: tuple[float, float, float]) -> float:
    """A lognormal number."""
    middle, sigma, most = shape
    return min(most, middle * random.Random(seed).lognormvariate(0.0, sigma))


class Lengths:
    """An engine that writes as many tokens as are drawn for the turn, and learns nothing."""

    max_length, pad_id = 1 << 20, 0

    def __init__(self, workload: Workload):
        self.workload, self.version = workload, 0
        (self.stop,) = sorted(FORMAT.stop_ids)[:1]

    def sample(self, requests: Any) -> list[Completion]:
        out = []
        for request in requests:
            n = max(1, round(drawn(request.seed, self.workload.tokens)))
            ids = [ord("a")] * (n - 1) + [self.stop]
            out.append(Completion(ids, [-0.1] * n, [-0.1] * n, [self.version] * n, "stop"))
        return out

    def forward(self, batch: Any, *, reference: bool = False, names: Any = ("logp",)) -> dict[str, torch.Tensor]:
        return {name: torch.zeros(batch.ids_BT.shape) for name in names}

    def forward_backward(self, batch: Any, loss: Any) -> LossOut:
        return LossOut(torch.zeros(()), {})

    def optim_step(self, *, learning_rate: float, critic_rate: float | None = None) -> dict[str, float]:
        self.version += 1
        return {}

    def save(self, folder: Path) -> None: ...

    def load(self, folder: Path) -> None: ...


class World:
    """Answers until the attempt has had its turns, which its first seed decides."""

    def __init__(self, task: Task, workload: Workload):
        self.task = task
        self.workload = workload
        self.left = -1

    def start(self) -> Any:
        return self.task.messages, ()

    def step(self, turn: Any, *, seed: int) -> EnvReply:
        if self.left < 0:
            self.left = max(1, round(drawn(seed + 1, self.workload.turns)))
        self.left -= 1
        return EnvReply((Message("tool", "ok"),), done=False) if self.left >= 0 else EnvReply(done=True)

    def report(self) -> Mapping[str, Any]:
        return {}

    def snapshot(self) -> Any:
        return self.left

    def restore(self, state: Any) -> None:
        self.left = state

    def close(self) -> None: ...


@outcome
def every_other(trajectory: Any) -> float:
    """Half of the siblings are right."""
    return float(trajectory.sample % 2)


def play(
    workload: Workload, *, enough: float = math.inf, steps: int = 0, async_config: AsyncConfig
) -> dict[str, float]:
    """Train on the simulated clock; return duration and trained tokens at the step that reaches `enough` tokens."""
    clock = SimulatedClock()

    def seconds(request: Act | Work) -> float:
        if isinstance(request, Work):
            return 0.0
        last = request.env.left == 0  # type: ignore[attr-defined]
        return 0.0 if last else drawn(request.seed + 2, workload.tool_seconds)

    workers = SimulatedWorkers(clock, seconds)
    engine = SimulatedEngine(Lengths(workload), clock, decode=lambda rows: workload.decode_seconds)
    trained = [0]
    done: list[float] = []

    def elsewhere(rated: list[RatedGroup]) -> Work:
        tokens = sum(trajectory.num_tokens for one in rated for trajectory in one.group)
        trained.append(trained[-1] + tokens)
        done.append(clock.now + tokens * workload.train_seconds)
        return workers.takes(tokens * workload.train_seconds)

    count = workload.groups * workload.steps
    tasks = [Task(str(i), (Message("user", "go"),)) for i in range(count)]
    begin = time.perf_counter()
    result = train(
        engine=engine,
        format=FORMAT,
        env=lambda task: World(task, workload),
        tasks=in_order(tasks, seed=0),
        rollout=linear(max_turns=128),
        reward=every_other,
        credit=group_norm(std="sample"),
        loss=policy(ratio=token(), surrogate=clip(), reduction=rollout_mean()),
        sampling=Sampling(max_tokens=4096),
        steps=steps or workload.steps,
        groups=workload.groups,
        group_size=workload.group_size,
        updates=Updates(micro_batch_rows=4096),
        async_config=replace(async_config, workers=workers, overlap=elsewhere),
        run=RunConfig(progress=False),
    )
    if trained[-1] < enough < math.inf:
        raise SystemExit(f"{async_config}: {steps} steps trained {trained[-1]} tokens, not {enough:.0f}")
    last = next((step for step, tokens in enumerate(trained[1:]) if tokens >= enough), len(done) - 1)
    ages = [row["staleness/max"] for row in result.metrics[: last + 1] if "staleness/max" in row]
    return {
        "simulated_seconds": done[last],
        "trained_tokens": trained[last + 1],
        "tokens_per_second": trained[last + 1] / done[last],
        "steps": last + 1,
        "staleness_max": max(ages, default=0.0),
        "wall_seconds": time.perf_counter() - begin,
    }


def main() -> None:
    """Play every workload in every way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rollouts")
    options = parser.parse_args()
    small = 10 if options.quick else 1
    verltool = VERLTOOL._replace(groups=max(1, VERLTOOL.groups // small))
    agentmath = AGENTMATH._replace(steps=max(2, AGENTMATH.steps // (2 if options.quick else 1)))
    ways: dict[str, dict[str, Any]] = {
        "every attempt waits for all others": {"async_config": AsyncConfig(lockstep=True)},
        "no attempt waits for another's tool": {"async_config": AsyncConfig()},
    }
    more: dict[str, dict[str, Any]] = {
        "and long rollouts go on in the next step": {
            "async_config": AsyncConfig(segment_tokens=400),
            "steps": 6 * agentmath.steps,
        },
        "and one step ahead of training": {"async_config": AsyncConfig(staleness=1)},
        "and four steps ahead of training": {"async_config": AsyncConfig(staleness=4)},
    }
    found: dict[str, Any] = {"workloads": {}}
    for name, workload, chosen in (
        ("verltool, 1 tool turn", verltool, ways),
        ("verltool, 3 tool turns", verltool._replace(turns=(3, 0, 3)), ways),
        ("agentmath", agentmath, ways | more),
    ):
        rows: dict[str, dict[str, float]] = {}
        for way, how in chosen.items():
            enough = next(iter(rows.values()))["trained_tokens"] if rows else math.inf
            rows[way] = play(workload, enough=enough, **how)
        found["workloads"][name] = {"parameters": workload._asdict(), "ways": rows}
        first = next(iter(rows.values()))["tokens_per_second"]
        for way, row in rows.items():
            print(
                f"{name}: {way}: {row['simulated_seconds']:.0f} s, {row['tokens_per_second'] / first:.2f} x", flush=True
            )
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
