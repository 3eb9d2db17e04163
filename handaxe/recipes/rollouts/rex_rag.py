"""REX-RAG: wrong answers are taken back and begun anew with a doubt, and the ratio knows what drew each token."""

from handaxe.credit.group_norm import group_norm
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.thin_clones import thin_clones
from handaxe.rollouts.probing import probing
from handaxe.selection.behaviour_mixture import behaviour_mixture
from handaxe.selection.pipe import pipe
from handaxe.selection.where import where
from handaxe.training.stages.teach_expert import teach_expert
from handaxe.worlds.doubts import with_doubts
from handaxe.worlds.slips import slips

__all__ = ["rex_rag"]

TITLE = "REX-RAG: Reasoning Exploration with Policy Correction in Retrieval-Augmented Generation"
RESCUED = "Fewer groups without a right answer."
TOP = "Both sides take as many steps; what probes sample comes on top."
NO_PROBES = "rex_rag --chance 0"
UNCORRECTED = "rex_rag --weight 0"
DOUBTS = ("no, ", "not it, ", "wait, ", "was it? ")
RECIPE = Recipe(
    paper=Paper(TITLE, "REX-RAG", "2508.08149", 206),
    claims=(
        Claim(RESCUED, "training/groups/zero_low", "down", baseline=NO_PROBES, over="area", vice=1.0, note=TOP),
        Claim("More right answers.", "pass@1", "up", baseline=NO_PROBES, note=TOP),
        Claim("Uncorrected, a gradient explodes.", "training/grad_norm", "down", baseline=UNCORRECTED, over="worst"),
    ),
    base=partial(grpo, kl_coefficient=0.001),
    world=slips,
    setting=Setting(model="start", group_size=4, groups=24, max_turns=4),
)


def rex_rag(base: Method, *, chance: float = 0.5, weight: float = 1.0, rate: float = 0.1, taught: int = 40) -> Method:
    """Give wrong answers a second chance that begins with a doubt, and correct the ratio for it.

    Evaluations are not probed. Unconfirmed: how clones are thinned. Differs: four short doubts in the place of thirty
    sentences, sums and a calculator in that of questions and a search, and a small policy is first shown that a call
    comes after a doubt, before whatever it is compared with as well.

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
        rollout=probing(correct=world.correct, probes=DOUBTS, chance=chance, max_turns=base.setting.max_turns),
        reward=thin_clones(base=base.reward, rate=rate),
        credit=group_norm(stats_over="eligible"),
        select=pipe(base.select, where(), behaviour_mixture(weight=weight)),
        annotate=(*base.annotate, "old_logp"),
    )
