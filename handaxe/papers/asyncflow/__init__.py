"""AsyncFlow: groups flow from stage to stage as they finish, and rollouts run one step ahead of the weights."""

from handaxe.methods.method import Method, replace

__all__ = ["asyncflow"]


def asyncflow(base: Method, *, staleness: int = 1) -> Method:
    """Train with the staleness that the paper allows; reward and features of a group are ready when it is.

    Args:
        staleness: steps that a trained token may be old; 1 in the paper.
    """
    return replace(base, pace=replace(base.pace, staleness=staleness))
