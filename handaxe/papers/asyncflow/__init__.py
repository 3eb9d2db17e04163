"""AsyncFlow (arXiv:2507.01663): stream finished groups into training, with rollouts one step ahead of the weights."""

from handaxe.methods.method import Method, replace

__all__ = ["asyncflow"]


def asyncflow(base: Method, *, staleness: int = 1) -> Method:
    """Let rollouts run ahead of the weights by a bounded number of training steps.

    Args:
        staleness: largest age of a trained token in training steps; 1 in the paper.
    """
    return replace(base, async_config=replace(base.async_config, staleness=staleness))
