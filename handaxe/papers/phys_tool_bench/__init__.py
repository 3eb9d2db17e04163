"""PhysToolBench (arXiv:2510.09507): accuracy of a policy by level of tool understanding."""

from typing import TYPE_CHECKING

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Sampling
from handaxe.evaluation.evaluate import evaluate
from handaxe.methods.method import StudyFunction
from handaxe.papers.phys_tool_bench.level_accuracy import level_accuracy
from handaxe.papers.phys_tool_bench.tool_scenes import tool_scenes
from handaxe.training.sft.cold_start import start_policy

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["phys_tool_bench"]


def phys_tool_bench(*, tasks: int = 400) -> StudyFunction:
    """Measure the world's cold-start checkpoint on held-out scenes; nothing else is trained.

    Args:
        tasks: held-out tasks over all levels.
    """
    world = tool_scenes()

    def measure(seed: int) -> dict[str, float]:
        policy = start_policy(world)
        found = evaluate(
            engine=local.LocalEngine(policy.model),
            format=policy.format,
            env=world.env(world.tools),
            rollout=world.make_rollout(1),
            tasks=world.tasks("test", tasks, seed),
            reward=world.correct,
            sampling=Sampling(max_tokens=16),
            seed=seed,
            breakdown=world.breakdown,
            gauges=world.gauges,
        )
        return level_accuracy(found)

    return measure
