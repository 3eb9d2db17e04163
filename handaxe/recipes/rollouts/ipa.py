"""ROME's IPA: credit, ratio and mask by turn, and groups that begin ever earlier in a success of their task."""

from handaxe.credit import bounded, own_part, return_to_go, shaped
from handaxe.losses.corrections.mis import mis
from handaxe.losses.parts.disagreement import Unit
from handaxe.losses.ratios.by_unit import by_unit
from handaxe.losses.surrogates.tapered import tapered
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.revisiting import revisiting
from handaxe.records import Sampling
from handaxe.rollouts.restarting import restarting
from handaxe.selection.pipe import pipe
from handaxe.selection.rollback_starts import rollback_starts
from handaxe.selection.turn_replay import turn_replay
from handaxe.worlds.hops import hops

__all__ = ["ipa"]

TITLE = (
    "Let It Flow: Agentic Crafting on Rock and Roll, Building the ROME Model within an Open Agentic Learning Ecosystem"
)
AGAIN = "Calls that are made again to get to a start come on top."
MORE = "More right answers where it is hard."
RECIPE = Recipe(
    paper=Paper(TITLE, "ROME", "2512.24873", 154),
    claims=(
        Claim(MORE, "pass@1", "up", baseline="ipa --restarts 0", where=("hops", 4), note=AGAIN),
        Claim("Gradients have lower peaks.", "training/grad_norm", "down", baseline="ipa --unit token", over="worst"),
    ),
    base=revisiting,
    world=hops,
    setting=Setting(model="start", max_turns=6, steps=25),
)


def ipa(base: Method, *, restarts: float = 0.5, imitate: bool = True, unit: Unit = "turn", cut: float = 0.7) -> Method:
    """Train on discounted returns of turns, from states that successes went through.

    Unconfirmed: when a start moves back, share, what is imitated, discount, baseline. Differs: own successes, no
    expert's; no shell; the sampler is cut to differ from the trainer, as the paper's engines do anyway.

    Args:
        restarts: share of the groups that begin in a success.
        imitate: where all of such a group fail, learn the turn with which the success went on, with weight 1.
        unit: of the ratio and of the mask between sampler and trainer; "turn" in the paper.
        cut: top_p of the sampler; below 0.8 the mask has tokens to drop.
    """
    starts = rollback_starts()
    return replace(
        base,
        rollout=restarting(starts=starts, share=restarts, max_turns=base.setting.max_turns),
        learners=(*base.learners, starts),
        sampling=Sampling(top_p=cut, max_tokens=base.setting.max_tokens),
        credit=shaped(return_to_go(gamma=0.9, baseline=0.5), bounded(limit=0.2), own_part()),
        ratio=by_unit(unit=unit, mean=True),
        surrogate=tapered(),
        correction=mis(cap=1.2, floor=0.8, unit=unit, weigh=False),
        select=pipe(turn_replay(starts=starts, weight=float(imitate)), base.select),
        minibatches=2,
    )
