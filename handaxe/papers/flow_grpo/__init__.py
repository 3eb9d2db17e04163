"""Flow-GRPO (AgentFlow, arXiv:2510.05592): train the planner of an agent, with the outcome credited to every turn."""

from handaxe import credit
from handaxe.losses import reductions, surrogates, terms
from handaxe.methods.method import Method, replace

__all__ = ["flow_grpo"]


def flow_grpo(
    base: Method,
    *,
    test_turns: int = 8,
    eps_high: float = 0.3,
    kl_coefficient: float = 0.001,
    executor: str = "rule",
    verifier: str = "rule",
    generator: str = "rule",
) -> Method:
    """Give every turn the group-normalised outcome; each turn is a sample with its own prompt.

    Args:
        test_turns: turns of a rollout in evaluations; 10 in the paper, where training has 3.
        eps_high: upper clip of the ratio; 0.3 in the paper.
        kl_coefficient: beta of the k3 penalty; 0.001 in the paper.
        executor: who writes commands: rule, self, self@start, trained, a model, or http://HOST/v1#NAME; frozen in the
            paper.
        verifier: who decides that the memory is enough, likewise.
        generator: who writes the answer, likewise.
    """
    penalty = terms.kl(coefficient=kl_coefficient, reduction=reductions.turn_mean())
    return replace(
        base,
        aux_policies={"executor": executor, "verifier": verifier, "generator": generator},
        credit=credit.group_norm(),
        surrogate=surrogates.clip(eps_high=eps_high),
        reduction=reductions.turn_mean(),
        terms=(*base.terms, penalty),
        annotate=(*base.annotate, "ref_logp"),
        evaluate_rollout=base.world.make_rollout(test_turns),
    )
