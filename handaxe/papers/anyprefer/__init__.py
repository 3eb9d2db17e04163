"""Anyprefer (arXiv:2504.19276): DPO on pairs that a judge with tools ranks, a check accepts, and feedback improves."""

from handaxe.losses.dpo import dpo
from handaxe.methods.method import Method, replace
from handaxe.papers.anyprefer.judged_pairs import judged_pairs
from handaxe.papers.anyprefer.knowledge_judge import KnowledgeJudge
from handaxe.papers.anyprefer.role_prompts import RolePrompts, name_next_tool, tool_names
from handaxe.selection.pairs.ordered import ordered
from handaxe.training.stages.prefer import prefer

__all__ = ["anyprefer"]

FIRST = "Use calculator."


def anyprefer(
    base: Method,
    *,
    judge_tools: bool = True,
    rounds: int = 3,
    sampled: int = 96,
    answers: int = 5,
    threshold: float = 0.5,
    epochs: int = 2,
    beta: float = 0.1,
) -> Method:
    """Sample answers, let the judge rank them, refine the prompts after rejected pairs, and run DPO.

    Args:
        judge_tools: give the judge the world's tools; without them the judge is the policy's own likelihood.
        rounds: of sampling; 1 for no refined prompts.
        sampled: tasks.
        answers: of a task and round.
        threshold: least reward of an accepted pair.
        epochs: of DPO. Unconfirmed.
        beta: of DPO. Unconfirmed.
    """
    names = tool_names(base.world.need("tools"))
    stage = judged_pairs(
        judge=KnowledgeJudge(max_turns=base.settings.max_turns),
        tasks=lambda seed: base.world.tasks("train", sampled, seed),
        tune=lambda source: prefer(
            source=source, pairs=ordered(most=1), loss=dpo(beta=beta), epochs=epochs, optional=True
        ),
        reflect=name_next_tool(tools=names),
        tools=names,
        judge_tools={True: names, False: []}[judge_tools],
        prompts=RolePrompts(FIRST, FIRST),
        rounds=rounds,
        answers=answers,
        threshold=threshold,
    )
    return replace(
        base,
        annotate=(*base.annotate, "ref_logp"),
        closing=(*base.closing, stage),
    )
