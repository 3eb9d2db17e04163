"""DeepEyes (arXiv:2505.14362): reward tool use only with a correct answer, on tasks with a benefit of tools."""

from handaxe import rewards
from handaxe.curricula.task_pool import task_pool
from handaxe.methods.method import Method, replace
from handaxe.papers.deepeyes.tool_benefit import tool_benefit

__all__ = ["deepeyes"]


def deepeyes(base: Method, *, bonus: float = 1.2, unconditional_bonus: float = 0.0, probe_tasks: int = 256) -> Method:
    """Train on tasks of intermediate accuracy, with a conditional bonus for tool use.

    Without correct answers that used no tool (channel "direct"), the bonus is proportional to correctness and changes
    no normalized advantage.

    Args:
        bonus: reward of tool use with a correct answer; 1.2 in the paper.
        unconditional_bonus: reward of tool use with any answer; for the paper's comparison.
        probe_tasks: tasks that are probed with and without tools.
    """
    correct, form = rewards.within_length(reward=base.reward), rewards.within_length(reward=rewards.well_formed())
    conditional = rewards.gate(on=correct, then=rewards.used_tools())
    tools = {"bonus": (bonus, conditional), "always": (unconditional_bonus, rewards.used_tools())}
    direct = rewards.gate(on=correct, then=rewards.outcome(lambda one: float(not one.calls)))
    needed = rewards.weighted({"answer": (0.8, correct), "format": (0.2, form), **tools, "direct": (0.0, direct)})
    other = rewards.weighted({"answer": (1.2, correct), "format": (0.4, form)})
    return replace(
        base,
        reward=rewards.dispatch(key="needs_tool", rewards={"yes": needed, "no": other}),
        stages=(*base.stages, tool_benefit(reward=base.reward)),
        tasks=lambda tasks, seed: task_pool(tasks[:probe_tasks], shuffle=False),
    )
