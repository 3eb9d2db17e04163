"""REX-RAG: wrong answers are taken back and begun anew with a doubt, and the ratio knows what drew each token."""

from handaxe.credit.group_norm import group_norm
from handaxe.methods.method import Method, replace
from handaxe.papers.rex_rag.behaviour_mixture import behaviour_mixture
from handaxe.papers.rex_rag.dedup_resampled import dedup_resampled
from handaxe.papers.rex_rag.doubts import with_doubts
from handaxe.papers.rex_rag.mask_where import mask_where
from handaxe.papers.rex_rag.resample_with_prefix import resample_with_prefix
from handaxe.selection.pipe import pipe
from handaxe.training.stages.teach_expert import teach_expert

__all__ = ["rex_rag"]

DOUBTS = ("no, ", "not it, ", "wait, ", "was it? ")


def rex_rag(base: Method, *, chance: float = 0.5, weight: float = 1.0, rate: float = 0.1, taught: int = 40) -> Method:
    """Give wrong answers a second chance that begins with a doubt, and correct the ratio for it.

    Evaluations are not probed.

    Args:
        chance: p, that a wrong answer is begun anew; 0.2 in the paper, more here, as runs are short.
        weight: of the correction, 0 for none.
        rate: of the mean by which clones are thinned; 0.1 in the paper.
        taught: steps of the expert's doubting conversations beforehand; 0 for a model that knows how to doubt.
    """
    world = base.world
    doubting = replace(world, expert=with_doubts(world.need("expert"), doubts=DOUBTS))
    habit = world.need("start").habit
    return replace(
        base,
        stages=(*base.stages, teach_expert(world=doubting, steps=taught, habit=habit)),
        rollout=resample_with_prefix(
            correct=world.correct, probes=DOUBTS, chance=chance, max_turns=base.settings.max_turns
        ),
        reward=dedup_resampled(base=base.reward, rate=rate),
        credit=group_norm(stats_over="eligible"),
        select=pipe(base.select, mask_where(), behaviour_mixture(weight=weight)),
        annotate=(*base.annotate, "old_logp"),
    )
