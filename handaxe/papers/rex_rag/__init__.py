"""REX-RAG (arXiv:2508.08149): resample wrong answers after a probe, and correct the ratio for the mixture."""

from handaxe import credit, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.rex_rag.behaviour_mixture import behaviour_mixture
from handaxe.papers.rex_rag.dedup_resampled import dedup_resampled
from handaxe.papers.rex_rag.doubts import add_doubts
from handaxe.papers.rex_rag.mask_where import mask_where
from handaxe.papers.rex_rag.resample_with_prefix import resample_with_prefix
from handaxe.training.stages import teach_expert

__all__ = ["rex_rag"]

PROBES = ("no, ", "not it, ", "wait, ", "was it? ")


def rex_rag(base: Method, *, probe_rate: float = 0.5, correction: float = 1.0, sft_steps: int = 40) -> Method:
    """Resample a wrong answer once, from a forced probe; train on all rollouts with a corrected ratio.

    Args:
        probe_rate: p, probability that a wrong answer is resampled; 0.2 in the paper, more here for short runs.
        correction: weight of the policy correction; 1 in the paper, 0 for none.
        sft_steps: fine-tuning steps on expert conversations with probes, before training.
    """
    world, turns = base.world, base.settings.max_turns
    doubting = replace(world, expert=add_doubts(world.need("expert"), doubts=PROBES))
    sft = teach_expert(world=doubting, steps=sft_steps, noise=world.need("start").noise)
    return replace(
        base,
        stages=(*base.stages, sft),
        rollout=resample_with_prefix(correct=world.correct, probes=PROBES, chance=probe_rate, max_turns=turns),
        reward=dedup_resampled(base=base.reward),
        credit=credit.group_norm(stats_over="eligible"),
        select=selection.pipe(base.select, mask_where(), behaviour_mixture(weight=correction)),
        annotate=(*base.annotate, "old_logp"),
    )
