"""AgentEvolver (arXiv:2511.10395), self-navigating: sample rollouts with tips from earlier ones, and strip the tips."""

from handaxe import rollouts
from handaxe.curricula.tip_pool import task_tips, tip_pool
from handaxe.losses import adjustments, surrogates
from handaxe.methods.method import Method, replace
from handaxe.papers.agent_evolver.hint_clip_bonus import hint_clip_bonus
from handaxe.papers.agent_evolver.text_role import TextRole
from handaxe.papers.agent_evolver.tip_writer import TipWriter
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.parts.hints import add_tips

__all__ = ["agent_evolver_tips"]


def agent_evolver_tips(
    base: Method, *, tips: int = 1, writer: str = "rule", clip_bonus: float = 0.4, sft_steps: int = 60
) -> Method:
    """Show tips to part of each group, strip them from the record, and raise the upper clip after a tip.

    Args:
        tips: most tips of a rollout; of 8 siblings with one tip the first four read it.
        writer: who writes the tips: rule, self, self@start, a model, http://HOST/v1#NAME for a model of a chat server,
            or MODULE:ATTRIBUTE of your own.
        clip_bonus: increase of the upper clip for tokens sampled with a tip. Unconfirmed.
        sft_steps: supervised steps that teach a small policy to read tips; 0 for a model that reads them.
    """
    role = TextRole(writer, name="writer")
    tip_writer = TipWriter(role)
    clip = adjustments.widened_clip(widening=clip_bonus)
    return replace(
        base,
        stages=(*base.stages, *role.stages, teach_expert(world=add_tips(base.world), steps=sft_steps)),
        tasks=tip_pool(top=tips, tell=tip_writer.tell).curriculum,
        rollout=rollouts.hinted(rollout=base.rollout, criteria=task_tips, strip=True),
        credit=hint_clip_bonus(credit=base.credit),
        surrogate=surrogates.unclipped(),
        adjustments=(clip, *base.adjustments),
        annotate=(*base.annotate, "old_logp"),
        learners=(*base.learners, tip_writer),
    )
