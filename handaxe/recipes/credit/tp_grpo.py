"""TP-GRPO: runs of steps judged alike are one thought, whose reward shifts with how often the policy is right."""

from handaxe.credit.group_norm import group_norm
from handaxe.credit.total import total
from handaxe.credit.turn_norm import turn_norm
from handaxe.judges.exact_steps import exact_steps
from handaxe.judges.noisy import noisy
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, replace
from handaxe.recipes.base.grpo import grpo
from handaxe.rewards.step_labels import step_labels
from handaxe.worlds.worked_steps import worked_steps

__all__ = ["tp_grpo"]

TITLE = "Good Learners Think Their Thinking: Generative PRM Makes Large Reasoning Model More Efficient Math Learner"
SOONER = "Fewer sampled tokens until 7 of 10 answers are right."
RECIPE = Recipe(
    paper=Paper(TITLE, "TP-GRPO", "2507.23317", 78),
    claims=(
        Claim(SOONER, "pass@1", "down", over="first", level=0.7, axis="tokens", by_turn=True),
        Claim("Fewer steps than without merging.", "calls", "down", baseline="tp_grpo --no-merge", same="pass@1"),
    ),
    base=grpo,
    world=worked_steps,
    setting=Setting(model="start", max_turns=8, max_tokens=24, eval_every=4),
)


def tp_grpo(base: Method, *, weight: float = 0.5, merge: bool = True, wrong: float = 0.1) -> Method:
    """Add to the outcome's advantage what the thoughts still to come earn, against the group.

    Unconfirmed: the whole formula. Differs: labels come by rule and some are turned around, where the paper asks a
    generative process reward model; attempts are played now, where the paper reuses a pool of them.

    Args:
        weight: w of the thoughts' advantage.
        merge: runs of equal labels into one thought.
        wrong: chance that a label is turned around.
    """
    judge = noisy(judge=exact_steps(verdicts=base.world.need("verdicts")), spread=0.0, flip=wrong)
    thoughts = turn_norm(channel="labels", order="sum_first", std=None)
    return replace(
        base,
        reward=step_labels(base=base.reward, judge=judge, scale=1.0, merge=merge, adaptive=True),
        credit=total({"outcome": (1.0, group_norm(channel="base")), "thoughts": (weight, thoughts)}),
    )
