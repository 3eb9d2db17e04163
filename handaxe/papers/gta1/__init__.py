"""GTA1 (arXiv:2507.05791): reward clicks that hit the target, and let a judge choose among several proposed actions."""

from handaxe import rewards
from handaxe.judges.exact_steps import exact_labels
from handaxe.judges.marked_screenshot import marked_screenshot
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.labelled_turns import teach_turns
from handaxe.methods.method import Method, replace
from handaxe.papers.gta1.click_reward import click_reward
from handaxe.rollouts.search.best_step import best_step
from handaxe.training.stages.sources import played
from handaxe.worlds.screen.widgets import SIDES, UNIT, cell_box

__all__ = ["gta1"]


def gta1(base: Method, *, proposals: int = 8, hit: float = 1.0, near: float = 0.0, judge_steps: int = 4) -> Method:
    """Train with a reward for hits alone; at test time, choose the best of several proposals in every turn.

    Args:
        proposals: proposed actions of a turn in evaluations; 8 in the paper, from memory.
        hit: weight of the reward for hits.
        near: weight of a reward by distance, the alternative to hits.
        judge_steps: steps of rollouts that the judge, a copy of the policy, learns from.
    """
    run = base.settings
    answerer = TaughtAnswerer(name="trained", epochs=2)
    judge = marked_screenshot(desk=answerer.desk, unit=UNIT)
    sampled = played(steps=judge_steps, groups=run.groups, group_size=run.group_size)
    labels = exact_labels(base.world.need("verdicts"))
    stage = teach_turns(judge=judge, answerer=answerer, source=sampled, labels=labels)
    hits = click_reward(boxes=lambda task: [cell_box(task)])
    distance = click_reward(boxes=lambda task: [cell_box(task)], sides=SIDES)
    return replace(
        base,
        stages=(*base.stages, stage),
        learners=(*base.learners, answerer),
        reward=rewards.weighted({"hit": (hit, hits), "near": (near, distance)}),
        evaluate_rollout=best_step(judge=judge, samples=proposals, max_turns=run.max_turns),
    )
