"""ROME's IPA (arXiv:2512.24873): credit, ratio and mask per turn, and restarts inside successes."""

from handaxe import credit, losses, rewards, rollouts, selection
from handaxe.advantages import mask_shared_prefix
from handaxe.core.records import Sampling
from handaxe.losses.parts.mismatch import Unit
from handaxe.methods.method import Method, replace
from handaxe.papers.ipa.rollback_starts import rollback_starts
from handaxe.papers.ipa.tapered import tapered
from handaxe.papers.ipa.turn_replay import turn_replay

__all__ = ["ipa"]


def ipa(
    base: Method, *, restarts: float = 0.5, parallel: bool = False, unit: Unit = "turn", top_p: float = 0.7
) -> Method:
    """Train on discounted returns of turns, from states inside successful rollouts.

    Args:
        restarts: share of groups that start inside a success. Unconfirmed.
        parallel: siblings restart at different turns of the success, instead of all at one that moves back.
        unit: unit of the ratio and of the mask between sampler and trainer; "turn" in the paper.
        top_p: nucleus of the sampler; below 0.8 the mask drops tokens.
    """
    starts, own = rollback_starts(moves=not parallel), base.settings
    chunk_return = credit.return_to_go(gamma=0.9)
    success, failure = rewards.outcome(lambda _: 1.0), rewards.outcome(lambda _: -1.0)
    return replace(
        base,
        reward=rewards.gate(on=base.reward, then=success, otherwise=failure),
        rollout=rollouts.restarting(starts=starts, share=restarts, spread=parallel, max_turns=own.max_turns),
        learners=(*base.learners, starts),
        sampling=Sampling(top_p=top_p, max_tokens=own.max_tokens),
        credit=credit.transformed(chunk_return, mask_shared_prefix()),
        ratio=losses.ratios.unit_ratio(unit=unit, mean=True),
        surrogate=tapered(),
        correction=losses.corrections.mis(cap=1.2, floor=0.8, unit=unit, weigh=False),
        select=selection.pipe(turn_replay(starts=starts, credit=chunk_return), base.select),
        minibatches=2,
    )
