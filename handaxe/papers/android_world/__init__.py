"""AndroidWorld (arXiv:2405.14573): parameterised tasks with success by state, and the spread over parameters."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Group, Sampling, Scores, Task, Trajectory
from handaxe.evaluation.benchmarks.families import sums_world
from handaxe.evaluation.evaluate import evaluate
from handaxe.methods.method import StudyFunction
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.seeds import derive_seed
from handaxe.papers.android_world.parameter_spread import parameter_spread
from handaxe.papers.android_world.phone_agent import phone_agent
from handaxe.papers.android_world.phone_tasks import DONE, phone_task, phone_tasks
from handaxe.papers.android_world.phone_templates import TEMPLATES
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.toolbox.world import toolbox
from handaxe.worlds.world import World

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    from handaxe.models import load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["android_world"]

SUMS = ((2, 3), (3, 2), (4, 2))
"""Terms and digits of the templates of sums."""
CHAINS = (1, 2)
"""Calls of the templates of `toolbox`."""
MOST_TURNS = 16


def android_world(*, seeds: int = 12, learned: int = 8) -> StudyFunction:
    """Measure success over seeds of parameters and of the policy, on a phone and in two worlds.

    Figures:
        phone/TEMPLATE                          mean success of the scripted agent
        phone/partial                           success of composites less the share of composites with every part
        phone/claimed                           share of failures among rollouts that end with "done"
        KIND/params, KIND/policy, KIND/gap      see `parameter_spread`; means over the templates
    Kinds: phone, with `phone_agent`; sums, with the packaged policy; toolbox, with the cold-start checkpoint.

    Args:
        seeds: of parameters and of the scripted agent.
        learned: the same for the trained policies.
    """

    def measure(seed: int) -> dict[str, float]:
        figures = _phone_figures(seeds, seed)
        tiny = loading.load("tiny")
        sums = [_learned(sums_world(*size), tiny, learned, seed) for size in SUMS]
        figures |= _spreads("sums", sums)
        start = start_policy(toolbox())
        chains = [_learned(toolbox(lengths=(length,)), start, learned, seed) for length in CHAINS]
        return figures | _spreads("toolbox", chains)

    return measure


def _phone_figures(seeds: int, seed: int) -> dict[str, float]:
    world = phone_tasks()
    success = dict[str, np.ndarray]()
    claims: list[float] = []
    for name in TEMPLATES:
        tasks = [phone_task(name, derive_seed("android world", seed, number)) for number in range(seeds)]
        played = [[_play(world, task, number) for number in range(seeds)] for task in tasks]
        success[name] = np.array([[float(one.env["success"]) for one in row] for row in played])
        claims += [float(one.env["success"] < 1) for row in played for one in row if one.final_text == DONE]
    figures = {f"phone/{name}": float(found_PS.mean()) for name, found_PS in success.items()}
    parts = [found_PS for name, found_PS in success.items() if "_" in name]
    figures["phone/partial"] = float(np.mean([found_PS.mean() - (found_PS == 1).mean() for found_PS in parts]))
    figures["phone/claimed"] = float(np.mean(claims))
    return figures | _spreads("phone", list(success.values()))


def _play(world: World, task: Task, number: int) -> Trajectory:
    seed = derive_seed("phone agent", task.id, number)
    agent = phone_agent(seed=seed)
    return demonstrate(world.env(()), task, agent, format=Compact(), id=task.id, seed=seed, max_turns=MOST_TURNS)


def _learned(world: World, policy: "loading.Policy", seeds: int, seed: int) -> np.ndarray:
    """Success of a policy at temperature 1, [P, S]: held-out tasks are the parameters of a template."""
    found: list[np.ndarray] = []

    def keep(group: Group) -> Scores:
        scores = world.correct(group)
        found.append(np.asarray(scores.outcome, dtype=np.float64))
        return scores

    evaluate(
        engine=local.LocalEngine(policy.model),
        format=policy.format,
        env=world.env(world.tools),
        rollout=world.make_rollout(8),
        tasks=world.tasks("test", seeds, seed),
        reward=keep,
        sampling=Sampling(max_tokens=64),
        samples=seeds,
        seed=seed,
    )
    return np.stack(found)


def _spreads(name: str, success: Sequence[np.ndarray]) -> dict[str, float]:
    spreads = [parameter_spread(found_PS) for found_PS in success]
    return {f"{name}/{key}": float(np.mean([one[key] for one in spreads])) for key in spreads[0]}
