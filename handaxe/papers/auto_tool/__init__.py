"""AutoTool (arXiv:2511.14650): a graph of tool inertia makes calls without the policy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import ChatFormat, Engine, Rollout
from handaxe.core.records import Group, Sampling, Task, ToolSchema, Trajectory
from handaxe.methods.method import StudyFunction
from handaxe.ops.stats import interval_figures
from handaxe.ops.text_store import Embed
from handaxe.papers.auto_tool.inertia_graph import InertiaGraph
from handaxe.papers.auto_tool.inertial_calls import (
    ANSWER,
    Inertia,
    inertial_calls,
    inertial_turns,
    learn_trajectory,
)
from handaxe.papers.auto_tool.parameter_edges import ParameterGraph
from handaxe.rollouts.driver.play_tasks import play_tasks
from handaxe.rollouts.linear import linear
from handaxe.tools.index.dense import embed
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.tau2.world import tau2
from handaxe.worlds.world import Start, World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["auto_tool"]

COLD_START = Start(skill=150, steps=0, batch_size=8, learning_rate=2e-3)
TEMPERATURE = 0.3
ANSWERS = "tell the customer the result in words"
"""Description of the node "answer"."""


def auto_tool(
    *, seeds: int = 5, tasks: int = 16, chunk: int = 4, requests: int = 2, max_turns: int = 12
) -> StudyFunction:
    """Compare a frozen policy with and without inertial calls, on orders of tau2's retail shop.

    The graph begins empty and learns from the conversations of each chunk of tasks.

    Figures:
        ARM                     pass@1; policy (no graph), auto_tool, frequency (without the context score), and
                                unlimited (inertial calls without the limit of 30 %, and in a row)
        ARM/calls, ARM/tokens   sampled turns and sampled tokens of a conversation
        ARM/inertial            share of the turns that the graph made
        ARM/exact               share of the graph's calls that equal a reference call of the task
        gain/ARM                pass@1 of auto_tool less that of the arm, mean over seeds; /low and /high are the ends
                                of its 95 % interval, here and below
        fewer_calls             1 - calls of auto_tool / calls of the policy; fewer_tokens likewise
        late/fewer_calls        the same in the last half of the tasks

    Args:
        seeds: of tasks and rollouts, from the study's seed on.
        tasks: held-out conversations of a seed.
        chunk: conversations between two updates of the graph.
        requests: of a conversation.
        max_turns: of a conversation.
    """

    def measure(seed: int) -> dict[str, float]:
        taught = replace(_orders((1, requests)), start=COLD_START)
        policy = start_policy(taught)
        player = _Player(_orders((requests,)), local.LocalEngine(policy.model), policy.format, max_turns)
        runs = []
        for number in range(seed, seed + seeds):
            stream = player.world.tasks("test", tasks, number)
            runs.append({name: player.stream(stream, arm, chunk, number) for name, arm in make_arms(embed).items()})
        return _figures(runs)

    return measure


def _orders(requests: tuple[int, ...]) -> World:
    return tau2(
        domain="retail", user="requests", brief=True, atoms=requests, personas=("static",), test_personas=("static",)
    )


def make_arms(embed: Embed) -> dict[str, Callable[[Sequence[ToolSchema]], Inertia] | None]:
    """Make the compared arms: offered tools -> empty graph; None without a graph."""

    def arm(*, alpha: float = 0.5, limited: bool = True) -> Callable[[Sequence[ToolSchema]], Inertia]:
        def make(schemas: Sequence[ToolSchema]) -> Inertia:
            similarity = tool_similarity(schemas, embed)
            return Inertia(
                InertiaGraph(similarity=similarity, alpha=alpha),
                ParameterGraph(),
                share=0.3 if limited else 1.0,
                in_a_row=not limited,
            )

        return make

    return {"policy": None, "auto_tool": arm(), "frequency": arm(alpha=0.0), "unlimited": arm(limited=False)}


def tool_similarity(schemas: Sequence[ToolSchema], embed: Embed) -> Callable[[str, str], float]:
    """Make Score_ctx: the cosine of a context and "name: description" of a tool; 0 for a node without description.

    Paper: arXiv:2511.14650 (AutoTool), the context part of its score.
    Differs: all-MiniLM instead of SimCSE.
    """
    described = {one.name: f"{one.name}: {one.description}" for one in schemas} | {ANSWER: f"{ANSWER}: {ANSWERS}"}

    @functools.lru_cache(maxsize=65_536)
    def vector(text: str) -> np.ndarray:
        return np.asarray(embed([text]), np.float64)[0]

    def similarity(context: str, tool: str) -> float:
        return float(vector(context) @ vector(described[tool])) if tool in described else 0.0

    return similarity


class _Run(NamedTuple):
    """Figures of each conversation of a stream, in order."""

    right_T: np.ndarray
    calls_T: np.ndarray
    tokens_T: np.ndarray
    inertial_T: np.ndarray
    exact_T: np.ndarray


class _Player(NamedTuple):
    """Frozen policy."""

    world: World
    engine: Engine
    format: ChatFormat
    max_turns: int

    def stream(
        self, tasks: Sequence[Task], arm: Callable[[Sequence[ToolSchema]], Inertia] | None, chunk: int, seed: int
    ) -> _Run:
        """Play a stream of tasks with a graph that learns after each chunk."""
        env = self.world.env(self.world.tools)
        first = env(tasks[0])
        inertia = None if arm is None else arm(first.start()[1])
        first.close()
        rollout: Rollout = linear(max_turns=self.max_turns)
        if inertia is not None:
            rollout = inertial_calls(inertia=inertia, max_turns=self.max_turns)
        played: list[Trajectory] = []
        for start in range(0, len(tasks), chunk):
            own = play_tasks(
                tasks[start : start + chunk],
                env=env,
                rollout=rollout,
                engine=self.engine,
                format=self.format,
                sampling=Sampling(max_tokens=160, temperature=TEMPERATURE),
                seed=seed,
            )
            played += own
            if inertia is not None:
                for one in own:
                    learn_trajectory(inertia, one)
        return self._run(played)

    def _run(self, played: Sequence[Trajectory]) -> _Run:
        rows = []
        for one in played:
            own = inertial_turns(one)
            sampled = [turn for number, turn in enumerate(one.turns) if number not in own]
            reference = [(call.name, call.arguments) for call in self.world.need("reference")(one.task)]
            made = [(call.name, call.arguments) for number in own for call in one.turns[number].parsed.calls]
            right = float(self.world.correct(Group(one.task, (one,))).outcome[0])
            tokens = sum(turn.stop - turn.start for turn in sampled)
            rows.append((right, len(sampled), tokens, len(own), sum(call in reference for call in made)))
        return _Run(*np.array(rows, np.float64).T)


def _figures(runs: Sequence[Mapping[str, _Run]]) -> dict[str, float]:
    """Means over seeds, and paired differences of auto_tool to the other arms."""
    figures = dict[str, float]()
    for name in runs[0]:
        own = [run[name] for run in runs]
        inertial = float(sum(run.inertial_T.sum() for run in own))
        calls = float(sum(run.calls_T.sum() for run in own))
        figures |= {
            name: float(np.mean([run.right_T.mean() for run in own])),
            f"{name}/calls": float(np.mean([run.calls_T.mean() for run in own])),
            f"{name}/tokens": float(np.mean([run.tokens_T.mean() for run in own])),
            f"{name}/inertial": inertial / (inertial + calls),
        }
        if inertial:
            figures[f"{name}/exact"] = float(sum(run.exact_T.sum() for run in own)) / inertial
    for name in runs[0].keys() - {"auto_tool"}:
        gain_S = [run["auto_tool"].right_T.mean() - run[name].right_T.mean() for run in runs]
        figures |= interval_figures(f"gain/{name}", gain_S)
    half = len(runs[0]["policy"].calls_T) // 2
    for name, part in (("fewer_calls", slice(None)), ("late/fewer_calls", slice(half, None))):
        saved = [1 - run["auto_tool"].calls_T[part].mean() / run["policy"].calls_T[part].mean() for run in runs]
        figures |= interval_figures(name, saved)
    fewer = [1 - run["auto_tool"].tokens_T.mean() / run["policy"].tokens_T.mean() for run in runs]
    return figures | interval_figures("fewer_tokens", fewer)
