"""Tool-Star: hints for a cold start, a bonus for using both tools in a right answer, and preferences by that reward."""

from handaxe.methods.method import Method, replace
from handaxe.papers.tool_star.fact_sums import BOTH
from handaxe.papers.tool_star.hinted_play import hinted_play
from handaxe.papers.tool_star.self_critic import self_critic
from handaxe.rewards.ladder import Rung, ladder
from handaxe.rewards.token_f1 import token_f1
from handaxe.rewards.used_tools import used_tools
from handaxe.rewards.well_formed import well_formed
from handaxe.selection.keep_successes import keep_successes
from handaxe.training.stages.teach import teach

__all__ = ["tool_star"]


def tool_star(base: Method, *, bonus: float = 0.1, beta: float = 0.1, judged: int = 16) -> Method:
    """Teach what hints led to, then train with a bonus for both tools, then prefer by that reward with DPO.

    Args:
        bonus: r_M; 0.1 in the paper.
        beta: of DPO.
        judged: tasks of which DPO takes the best and the worst of 8 attempts.
    """
    both = Rung("both", used_tools(tools=BOTH, every=True), bonus)
    rungs = [Rung("format", well_formed(), 0.0, failed=-1.0), Rung("answer", token_f1()), both]
    good = keep_successes(channel="answer", most_calls=5)
    taught = teach(source=hinted_play(plays=base.world.plays), select=good, learning_rate=3e-4, optional=True)
    return replace(
        base,
        reward=ladder(rungs),
        annotate=tuple(dict.fromkeys((*base.annotate, "ref_logp"))),
        stages=(*base.stages, taught),
        closing=(*base.closing, self_critic(beta=beta, groups=judged, optional=True)),
    )
