"""ASearcher (arXiv:2508.07976) for long trails: asynchronous training without a tight limit of turns."""

from handaxe.methods.method import Method, replace
from handaxe.papers.asearcher import asearcher

__all__ = ["asearcher_long"]


def asearcher_long(base: Method, *, train_turns: int = 24, staleness: int = 4) -> Method:
    """Train with ASearcher on rollouts of up to `train_turns` turns; evaluations have the limit of the settings.

    Args:
        train_turns: turn limit in training; 128 in the paper, and 10 or fewer in the work that it compares with.
        staleness: eta, largest age of a trained token in training steps; 4 in the paper.
    """
    world, settings = base.world, base.settings
    return replace(
        asearcher(base, staleness=staleness),
        rollout=world.make_rollout(train_turns),
        evaluate_rollout=world.make_rollout(settings.max_turns),
    )
