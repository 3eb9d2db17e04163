"""PRS (arXiv:2512.07478): reward in gated stages: format, execution, quality of the answer."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.rewards.ladder import Rung

__all__ = ["prs"]


def prs(
    base: Method, *, format_weight: float = 0.1, execution_weight: float = 0.1, quality_weight: float = 0.8
) -> Method:
    """Reward well-formed calls, then executed calls, then the quality of the answer.

    Args:
        format_weight: reward of well-formed calls; a malformed rollout earns -1. Unconfirmed.
        execution_weight: reward of at least one executed call. Unconfirmed.
        quality_weight: weight of BLEU with the gold answer, of an order limited by the answer's length. Unconfirmed.
    """
    parsed = Rung("parsed", rewards.well_formed(), format_weight, failed=-1.0)
    executed = Rung("executed", rewards.used_tools(), execution_weight)
    bleu = base.judge.grades(rule=rewards.bleu(smooth=False, limit=True))
    rungs = [
        parsed,
        executed,
        Rung("quality", bleu, quality_weight),
        Rung("partial", rewards.partial(reward=bleu), 0.0),
    ]
    return replace(base, reward=rewards.ladder(rungs))
