"""Flow-GRPO (AgentFlow): of an agent's modules the planner alone learns, at every turn from their outcome."""

from typing import Literal

from handaxe.credit.group_norm import group_norm
from handaxe.losses.reductions.turn_mean import turn_mean
from handaxe.losses.surrogates.clip import clip
from handaxe.losses.terms.kl import kl
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.worlds.modular_hops import modular_hops

__all__ = ["flow_grpo"]

TITLE = "In-the-Flow Agentic System Optimization for Effective Planning and Tool Use"
FEW = "flow_grpo --test-turns 3"
IMITATED = "self_taught --base flow_grpo"
RECIPE = Recipe(
    paper=Paper(TITLE, "AgentFlow", "2510.05592", 140),
    claims=(
        Claim("The agent is right more often, though its planner alone learns.", "pass@1", "up", baseline="start"),
        Claim("Fewer searches are wasted.", "wasted_calls", "down", baseline="start"),
        Claim("More is right with more turns than it learned with.", "pass@1", "up", baseline=FEW, vice=0.95),
        Claim("And than after fine-tuning on its own successes.", "pass@1", "up", baseline=IMITATED, vice=0.95),
    ),
    world=modular_hops,
    setting=Setting(model="start", max_turns=3, held_out=100),
)


def flow_grpo(
    base: Method,
    *,
    unit: Literal["rollout", "turn"] = "rollout",
    test_turns: int = 8,
    eps_high: float = 0.3,
    kl_coefficient: float = 0.001,
) -> Method:
    """Train with the outcome credited to every turn, each of which is a sample of its own.

    Unconfirmed: that the paper's statistics are over rollouts. Differs: executor, verifier and generator are rules.

    Args:
        unit: what the group's mean and deviation are over; "turn" in the released trainer.
        test_turns: of attempts in evaluations; 10 in the paper, where training has 3.
        eps_high, kl_coefficient: upper clip of the ratio; beta of the k3 penalty. Both as in the paper.
    """
    asked = base.world.plays(test_turns)
    near = kl(coefficient=kl_coefficient, reduction=turn_mean())
    credited = replace(base, credit=group_norm(unit=unit), reduction=turn_mean())
    near_start = replace(credited, terms=(*base.terms, near), annotate=(*base.annotate, "ref_logp"))
    return replace(near_start, surrogate=clip(eps_high=eps_high), evaluate_rollout=asked)
