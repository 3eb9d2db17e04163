"""Roy's thesis (arXiv:2412.07177): bound shares of behaviours by thresholds, with learned multipliers."""

from handaxe import rewards
from handaxe.methods.method import Method, replace
from handaxe.papers.behaviour_specification.behaviour import behaviour
from handaxe.papers.behaviour_specification.multipliers import Constraint, multipliers

__all__ = ["behaviour_specification"]


def behaviour_specification(
    base: Method,
    *,
    calls: float = 0.55,
    errors: float = 0.05,
    success: float = 0.7,
    rate: float = 0.03,
    learn: bool = True,
    weight: float = 0.0,
) -> Method:
    """Bound the shares of rollouts with a call and with a failed call, and the share of correct rollouts from below.

    Args:
        calls: largest share of rollouts with a call.
        errors: largest share of rollouts with a failed call.
        success: least share of correct rollouts, the bootstrap constraint. The base's reward is 0 or 1.
        rate: of the multipliers.
        learn: the multipliers; False is a reward with fixed weights, the base's reward - weight (call + failed call).
        weight: of both behaviours with `--no-learn`; 0 measures behaviours alone.
    """
    bounds = {
        "answer": Constraint(success, at_least=True),
        "calls": Constraint(calls),
        "errors": Constraint(errors),
    }
    learner = multipliers(bounds, task="answer", rate=rate, learns=learn, fixed=weight)
    parts = {
        "answer": (learner.weight("answer"), base.reward),
        "calls": (learner.weight("calls"), behaviour(kind="call")),
        "errors": (learner.weight("errors"), behaviour(kind="failed_call")),
    }
    return replace(base, reward=rewards.weighted(parts), learners=(*base.learners, learner))
