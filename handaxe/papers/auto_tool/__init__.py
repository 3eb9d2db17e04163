"""AutoTool (arXiv:2511.14650): a graph of tool inertia makes calls without the policy."""

from __future__ import annotations

from dataclasses import replace

from handaxe.evaluation.frozen_policy import started_policy
from handaxe.methods.method import StudyFunction
from handaxe.papers.auto_tool.graph_stream import graph_stream
from handaxe.papers.auto_tool.inertia_arms import make_arms
from handaxe.papers.auto_tool.saving_figures import saving_figures
from handaxe.tools.index.dense import embed
from handaxe.worlds.tau2.world import tau2
from handaxe.worlds.world import Start, World

__all__ = ["auto_tool"]

COLD_START = Start(skill=150, steps=0, batch_size=8, learning_rate=2e-3)
TEMPERATURE = 0.3


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
        policy = started_policy(
            taught, _orders((requests,)), max_turns=max_turns, max_tokens=160, temperature=TEMPERATURE
        )
        runs = []
        for number in range(seed, seed + seeds):
            stream = policy.world.tasks("test", tasks, number)
            arms = make_arms(embed)
            runs.append({name: graph_stream(policy, stream, arms[name], chunk=chunk, seed=number) for name in arms})
        return saving_figures(runs)

    return measure


def _orders(requests: tuple[int, ...]) -> World:
    return tau2(
        domain="retail", user="requests", brief=True, atoms=requests, personas=("static",), test_personas=("static",)
    )
