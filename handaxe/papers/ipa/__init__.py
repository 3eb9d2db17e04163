"""ROME's IPA: credit, ratio and mask by turn, and groups that begin ever earlier in a success of their task."""

from handaxe.advantages.mask_shared_prefix import mask_shared_prefix
from handaxe.core.records import Sampling
from handaxe.credit import return_to_go
from handaxe.credit.transformed import transformed
from handaxe.losses.corrections.mis import mis
from handaxe.losses.parts.disagreement import Unit
from handaxe.losses.ratios.by_unit import by_unit
from handaxe.methods.method import Method, replace
from handaxe.papers.ipa.clip_advantages import clip_advantages
from handaxe.papers.ipa.rollback_starts import rollback_starts
from handaxe.papers.ipa.tapered import tapered
from handaxe.papers.ipa.turn_replay import turn_replay
from handaxe.rollouts.restarting import restarting
from handaxe.selection.pipe import pipe

__all__ = ["ipa"]


def ipa(base: Method, *, restarts: float = 0.5, imitate: bool = True, unit: Unit = "turn", cut: float = 0.7) -> Method:
    """Train on discounted returns of turns, from states that successes went through.

    Args:
        restarts: share of the groups that begin in a success.
        imitate: where all of such a group fail, learn the turn with which the success went on, with weight 1.
        unit: of the ratio and of the mask between sampler and trainer; "turn" in the paper.
        cut: top_p of the sampler; below 0.8 the mask has tokens to drop.
    """
    starts = rollback_starts()
    return replace(
        base,
        rollout=restarting(starts=starts, share=restarts, max_turns=base.settings.max_turns),
        learners=(*base.learners, starts),
        sampling=Sampling(top_p=cut, max_tokens=base.settings.max_tokens),
        credit=transformed(return_to_go(gamma=0.9, baseline=0.5), clip_advantages(limit=0.2), mask_shared_prefix()),
        ratio=by_unit(unit=unit, mean=True),
        surrogate=tapered(),
        correction=mis(cap=1.2, floor=0.8, unit=unit, weigh=False),
        select=pipe(turn_replay(starts=starts, weight=float(imitate)), base.select),
        minibatches=2,
    )
