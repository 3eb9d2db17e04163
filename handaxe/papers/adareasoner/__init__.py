"""AdaReasoner: good calls count only where the answer is wrong, and tools are called otherwise in every task."""

from handaxe.methods.method import Method, replace
from handaxe.papers.adareasoner.call_schema import call_schema
from handaxe.rewards.gate import gate
from handaxe.rewards.weighted import weighted
from handaxe.rewards.well_formed import well_formed

__all__ = ["adareasoner"]


def adareasoner(base: Method, *, best: float = 8.0) -> Method:
    """Train on answers, and on calls that fit their tools where the answer is wrong; a malformed attempt earns nothing.

    Args:
        best: reward of a right answer; 8 in the released code, where calls earn 4 at most.
    """
    right = weighted({"right": (best, base.reward)})
    answer = gate(on=base.reward, then=right, otherwise=call_schema())
    return replace(base, reward=gate(on=well_formed(), then=answer))
