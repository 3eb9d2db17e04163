"""Router-R1 (arXiv:2506.09033) among described experts; some experts occur in evaluations only."""

from handaxe.methods.method import Method, replace
from handaxe.papers.router_r1 import router_r1

__all__ = ["router_r1_unseen"]


def router_r1_unseen(
    base: Method, *, cost_share: float = 0.6, specialist: str = "rule", generalist: str = "rule"
) -> Method:
    """Train with Router-R1's reward in a world whose prompts describe the experts.

    Args:
        cost_share: a, share of the cost in the reward of a correct answer.
        specialist: who answers for experts of some topics: rule, self, self@start, trained, a model, or
            http://HOST/v1#NAME.
        generalist: who answers for the expert of all topics, likewise.
    """
    routed = router_r1(base, cost_share=cost_share)
    return replace(routed, aux_policies={"specialist": specialist, "generalist": generalist})
