"""MatchTIR: turns are rewarded by the reference calls that theirs are matched with, and judged on two levels."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.rewards.assigned_calls import Assign, assigned_calls
from handaxe.worlds.hops import hops

__all__ = ["matchtir"]

TITLE = "MatchTIR: Fine-Grained Supervision for Tool-Integrated Reasoning via Bipartite Matching"
WASTE = "A smaller share of calls that no reference call equals."
RECIPE = Recipe(
    paper=Paper(TITLE, "MatchTIR", "2601.10712", 7),
    claims=(
        Claim(WASTE, "wasted_calls", "down", same="pass@1", vice=0.1),
        Claim("More answers are right.", "pass@1", "up"),
        Claim("More answers are right where 4 hops are needed.", "pass@1", "up", where=("hops", 4)),
    ),
    world=hops,
    setting=Setting(model="start", max_turns=6),
)


def matchtir(base: Method, *, assign: Assign = "hard", gamma: float = 0.9, turn_share: float = 0.5) -> Method:
    """Train on the worth of each turn's calls, half by trajectory and half by turn.

    Differs: no KL, entropy bonus or reference model, which the base may have (`--base grpo`).

    Args:
        assign: hard (one to one) or soft (optimal transport, extra [transport]).
        gamma: discount by turn; 0.9 in the paper.
        turn_share: weight of the turn's advantage beside 0.5 of the trajectory's; 0.5 in the paper.
    """
    matched = assigned_calls(assign=assign, gold=base.world.need("reference"), answered=base.world.need("answered"))
    turn = turn_norm(norm="index", order="sum_first", gamma=gamma, lone="reward")
    credit = total({"trajectory": (0.5, group_norm()), "turn": (turn_share, turn)})
    return replace(base, reward=matched, credit=credit)
