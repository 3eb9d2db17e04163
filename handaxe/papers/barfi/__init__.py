"""BARFI (arXiv:2310.19007): learn the weights of auxiliary rewards by the implicit gradient of the primary reward."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.barfi.channel_weights import channel_weights

__all__ = ["barfi"]


def barfi(
    base: Method, *, learn: bool = True, weight: float = 1.0, rate: float = 1.0, temperature: float = 0.5
) -> Method:
    """Add a reward for rollouts without calls, a misleading heuristic, with a weight that is learned between steps.

    Args:
        learn: the weight; False keeps the plain sum of both rewards.
        weight: of the heuristic at first.
        rate: of the updates of the weight.
        temperature: of the inner problem.
    """
    weights = channel_weights({"thrift": weight}, primary="correct", rate=rate, temperature=temperature, learns=learn)
    thrift = rewards.call_cost(form="none")
    reward = rewards.weighted({"correct": (1.0, base.reward), "thrift": (weights.weight("thrift"), thrift)})
    return replace(base, reward=reward, learners=(*base.learners, weights))
