"""THOR: where a call failed, several others are tried in its place, and the policy learns which of them run."""

from handaxe.credit.fork_norm import fork_norm
from handaxe.credit.group_norm import group_norm
from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.methods.method import Method, replace
from handaxe.papers.thor.failed_calls import failed_calls
from handaxe.papers.thor.positive_nll import positive_nll
from handaxe.papers.thor.resample_failed_turn import resample_failed_turn
from handaxe.papers.thor.sibling_subset import trunks_and_forks
from handaxe.rewards import tool_success, weighted
from handaxe.rollouts.forking import forking
from handaxe.selection.drop_small_advantages import drop_small_advantages
from handaxe.training.stages.teach_solutions import teach_solutions

__all__ = ["thor"]


def thor(
    base: Method, *, copies: int = 8, back: int = 20, alpha: float = 0.01, imitated: int = 0, redrawn: int = 0
) -> Method:
    """Fork attempts before their first failed call, and judge the forks by whether their call runs.

    Args:
        copies: forks of an attempt; 16 in the script, as many as attempts, 0 for none.
        back: tokens of the thought before the call that are drawn anew; 100 in the script.
        alpha: of the likelihood of tokens with advantage above 0; 0.01 in the script.
        imitated: solutions, rewritten with calls that ran, learnt from first; needs a world that shows its work.
        redrawn: times that evaluations draw a turn anew whose call failed; 0 for none.
    """
    most, channel = base.settings.max_turns, tool_success(per="turn")
    return replace(
        base,
        rollout=forking(at=failed_calls(copies=copies, back=back), branch_turns=1, max_turns=most),
        reward=weighted({"answer": (1.0, base.reward), "executed": (0.0, channel)}),
        credit=trunks_and_forks(group_norm(channel="answer"), fork_norm(channel="executed")),
        surrogate=dual_clip(eps_high=0.28),
        terms=(*base.terms, positive_nll(coefficient=alpha)),
        select=drop_small_advantages(),
        stages=(*base.stages, teach_solutions(world=base.world, count=imitated)),
        evaluate_rollout=resample_failed_turn(retries=redrawn, back=back, max_turns=most),
    )
