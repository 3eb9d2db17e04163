"""THOR (arXiv:2509.13761): fork rollouts before their first failed call, and compare the forks by execution."""

from handaxe import credit, losses, rewards, rollouts, selection
from handaxe.methods.method import Method, replace
from handaxe.papers.thor.failed_calls import failed_calls
from handaxe.papers.thor.positive_nll import positive_nll
from handaxe.papers.thor.sibling_subset import trunks_and_forks

__all__ = ["thor"]


def thor(base: Method, *, forks: int = 8, rewind_tokens: int = 20, nll: float = 0.01) -> Method:
    """Score trunks by outcome and forks by whether their tool call executes.

    Args:
        forks: forks of a rollout with a failed call; 16 in the script, as many as rollouts, 0 for none.
        rewind_tokens: tokens before the call that are resampled; 100 in the script.
        nll: weight of the negative log-likelihood of tokens with positive advantage; 0.01 in the paper.
    """
    places = failed_calls(copies=forks, back=rewind_tokens)
    executed = rewards.tool_success(per="turn")
    return replace(
        base,
        rollout=rollouts.forking(at=places, branch_turns=1, max_turns=base.settings.max_turns),
        reward=rewards.weighted({"answer": (1.0, base.reward), "executed": (0.0, executed)}),
        credit=trunks_and_forks(credit.group_norm(channel="answer"), credit.fork_norm(channel="executed")),
        surrogate=losses.surrogates.dual_clip(eps_high=0.28),
        terms=(*base.terms, positive_nll(coefficient=nll)),
        select=selection.drop_small_advantages(),
    )
