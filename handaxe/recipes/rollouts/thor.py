"""THOR: where a call failed, several others are tried in its place, and the policy learns which of them run."""

from handaxe.credit.among import trunks_and_forks
from handaxe.credit.fork_norm import fork_norm
from handaxe.credit.group_norm import group_norm
from handaxe.losses.surrogates.dual_clip import dual_clip
from handaxe.losses.terms.positive_nll import positive_nll
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.recipes.base.dapo import dapo
from handaxe.rewards import tool_success, weighted
from handaxe.rollouts.failed_calls import failed_calls
from handaxe.rollouts.forking import forking
from handaxe.rollouts.redrawing import redrawing
from handaxe.selection.drop_small_advantages import drop_small_advantages
from handaxe.training.stages.teach_solutions import teach_solutions
from handaxe.worlds.slips import slips

__all__ = ["thor"]

TITLE = "THOR: Tool-Integrated Hierarchical Optimization via RL for Mathematical Reasoning"
LESS = "First calls fail less often, and as many answers are right."
FLAT = "thor --copies 0"
TOP = "Both sides take as many steps; what forks sample comes on top."
RECIPE = Recipe(
    paper=Paper(TITLE, "THOR", "2509.13761", 31),
    claims=(Claim(LESS, "first_call_failed", "down", baseline=FLAT, over="area", same="pass@1", vice=0.2, note=TOP),),
    base=partial(dapo, rounds=1),
    world=slips,
    setting=Setting(model="start", eval_every=5),
)


def thor(
    base: Method, *, copies: int = 8, back: int = 20, alpha: float = 0.01, imitated: int = 0, redrawn: int = 0
) -> Method:
    """Fork attempts before their first failed call, and judge the forks by whether their call runs.

    Unconfirmed: how groups without variance are left out, redrawn turns. Differs: a start that errs in half of its
    calls stands for the cold start, unless `imitated`; forks before first turns of one question are judged together;
    attempts go on after a failed call, and forks need not call, where the script drops both.

    Args:
        copies: forks of an attempt; 16 in the script, as many as attempts, 0 for none.
        back: tokens of the thought before the call that are drawn anew; 100 in the script.
        alpha: of the likelihood of tokens with advantage above 0; 0.01 in the script.
        imitated: solutions, rewritten with calls that ran, learnt from first; needs a world that shows its work.
        redrawn: times that evaluations draw a turn anew whose call failed; 0 for none.
    """
    most, channel = base.setting.max_turns, tool_success(per="turn")
    return replace(
        base,
        rollout=forking(at=failed_calls(copies=copies, back=back), branch_turns=1, max_turns=most),
        reward=weighted({"answer": (1.0, base.reward), "executed": (0.0, channel)}),
        credit=trunks_and_forks(group_norm(channel="answer"), fork_norm(channel="executed")),
        surrogate=dual_clip(eps_high=0.28),
        terms=(*base.terms, positive_nll(coefficient=alpha)),
        select=drop_small_advantages(),
        stages=(*base.stages, teach_solutions(world=base.world, count=imitated)),
        evaluate_rollout=redrawing(retries=redrawn, back=back, max_turns=most),
    )
