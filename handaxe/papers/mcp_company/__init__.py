"""TheMCPCompany (arXiv:2510.19286): score with ground-truth tools, with tool retrieval, and without tools."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handaxe.core.deferred import DeferredModule
from handaxe.core.protocols import EnvFactory
from handaxe.core.records import Group, Sampling, Task, Trajectory
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.benchmarks.company_server import PROSE_RESULTS
from handaxe.evaluation.benchmarks.mcp_company import checkpoint_score
from handaxe.evaluation.evaluate import evaluate
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.papers.mcp_company.gold_retrieval import gold_retrieval
from handaxe.papers.mcp_company.search_agent import search_agent
from handaxe.rewards.outcome import outcome
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.world import toolbox
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["mcp_company"]

LENGTHS = (1, 2, 3)
"""Calls of a chain in prose."""
AGENTS = {"strong": (1.0, 1), "weak": (0.25, 1), "weak_again": (0.25, 3)}
"""Scripted agent -> share of the words of a question in a search, and searches of a step."""
ACCESS = ("gold", "retrieval", "none")
TURNS = 24


def mcp_company(*, tasks: int = 60) -> StudyFunction:
    """Play chains of calls with three kinds of access to tools, with scripted agents and a cold-start checkpoint.

    Figures:
        AGENT/ACCESS, AGENT/ACCESS/calls    score of `checkpoint_score` over calls and answer, and calls of a task
        AGENT/gap/retrieval                 score with ground-truth tools less that with retrieval
        AGENT/gap/none                      score with retrieval less that without tools
        gap/words, gap/searches             gap of `weak` less that of `strong`, and of `weak_again`
    Agents: strong, weak and weak_again in prose; start, the checkpoint of `toolbox`, in the brief form.

    Args:
        tasks: held-out tasks of an agent.
    """

    def measure(seed: int) -> dict[str, float]:
        prose = toolbox(lengths=LENGTHS, brief=False, results=PROSE_RESULTS)
        asked = prose.tasks("test", tasks, seed)
        found = dict[str, float]()
        for access in ACCESS:
            env = _access_env(prose, access)
            for name in AGENTS:
                found |= _figures(f"{name}/{access}", prose, _scripted(env, asked, name, seed))
        brief = toolbox()
        for access in ACCESS:
            found |= _figures(f"start/{access}", brief, _learned(brief, access, tasks, seed))
        return found | _gaps(found)

    return measure


def _access_env(world: World, access: str) -> EnvFactory:
    """Create environments with an access: gold, retrieval, or none, a conversation without tools."""
    if access == "none":
        return tool_chat(())
    env = world.env(world.tools)
    return gold_retrieval(env) if access == "gold" else env


def _scripted(env: EnvFactory, tasks: Sequence[Task], name: str, seed: int) -> list[Trajectory]:
    share, searches = AGENTS[name]
    return [
        demonstrate(
            env,
            task,
            search_agent(share=share, searches=searches, seed=derive_seed("mcp company", seed, number)),
            format=Compact(),
            id=task.id,
            seed=seed,
            max_turns=TURNS,
        )
        for number, task in enumerate(tasks)
    ]


def _learned(world: World, access: str, tasks: int, seed: int) -> list[Trajectory]:
    policy = start_policy(world)
    played: list[Trajectory] = []

    def keep(one: Trajectory) -> float:
        played.append(one)
        return 0.0

    evaluate(
        engine=local.LocalEngine(policy.model),
        format=policy.format,
        env=_access_env(world, access),
        rollout=world.make_rollout(8),
        tasks=world.tasks("test", tasks, seed),
        reward=outcome(keep),
        sampling=Sampling(temperature=0.0, max_tokens=64),
        seed=seed,
    )
    return played


def _company_score(world: World, one: Trajectory) -> float:
    """Score a rollout by its correct calls and its answer, with `checkpoint_score`.

    Searches are no checkpoints, since an agent with the ground-truth tools has no need of them.
    """
    made = one.env["box"]["made"] if "box" in one.env else [False] * len(one.task.metadata["steps"])
    answered = world.correct(Group(one.task, (one,))).outcome[0] > 0
    return checkpoint_score(sum(made) + int(answered), len(made) + 1)


def _figures(name: str, world: World, played: Sequence[Trajectory]) -> dict[str, float]:
    score = sum(_company_score(world, one) for one in played) / len(played)
    return {name: score, f"{name}/calls": sum(len(one.calls) for one in played) / len(played)}


def _gaps(found: dict[str, float]) -> dict[str, float]:
    gaps = dict[str, float]()
    for name in (*AGENTS, "start"):
        gaps[f"{name}/gap/retrieval"] = found[f"{name}/gold"] - found[f"{name}/retrieval"]
        gaps[f"{name}/gap/none"] = found[f"{name}/retrieval"] - found[f"{name}/none"]
    gaps["gap/words"] = gaps["weak/gap/retrieval"] - gaps["strong/gap/retrieval"]
    gaps["gap/searches"] = gaps["weak/gap/retrieval"] - gaps["weak_again/gap/retrieval"]
    return gaps
