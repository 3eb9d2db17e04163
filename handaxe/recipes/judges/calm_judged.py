"""CALM with a judge: a copy of the policy that was taught which acts reach a sub-goal says when the bonus is paid."""

from handaxe.judges.taught_verdict import in_its_place, taught_verdict
from handaxe.judges.verdict_token import just_now
from handaxe.methods.method import Claim, Method, Paper, Recipe, Setting, partial, replace
from handaxe.ops.reached import drawn_reaches
from handaxe.ops.seeds import derive_seed
from handaxe.recipes.base.grpo import grpo
from handaxe.records import Task
from handaxe.rewards import subgoals, weighted
from handaxe.training.demonstrated import demonstrated
from handaxe.training.goal_agreement import goal_agreement
from handaxe.training.stages.teach_second import teach_second
from handaxe.worlds.minigrid_text import minigrid_text

__all__ = ["calm_judged"]
TITLE = "Assessing the Zero-Shot Capabilities of LLMs for Action Evaluation in RL"
TOLD = "training/learner/goal_agreement/difference"
BETTER = "At tasks it was not taught by, the judge's F1 is above that of the best constant answer."
SOONER = "Fewer acts until half of the grids are solved than with the sparse reward alone."
RECIPE = Recipe(
    paper=Paper(TITLE, "CALM, judged", "2409.12798", 128),
    claims=(
        Claim(BETTER, TOLD, "up", baseline="zero", over="area"),
        Claim(SOONER, "pass@1", "down", over="first", level=0.5, axis="calls"),
    ),
    base=grpo,
    world=partial(minigrid_text, size=6),
    setting=Setting(
        model="start", max_turns=12, max_tokens=16, steps=10, groups=8, group_size=6, held_out=100, eval_every=1
    ),
)


def calm_judged(base: Method, *, bonus: float = 0.5, taught: int = 128, epochs: int = 3) -> Method:
    """Pay a bonus in the turn of which a judge, taught by half of the tasks, says that it reached the first goal left.

    Unconfirmed: the formula, and the judge's question. Differs: the judge learns from acts of an expert, which are not
    counted, where the paper's was not taught (`handaxe study calm_judge`); sub-goals are the world's.

    Args:
        bonus: b, of a sub-goal; a right answer is worth 1.
        taught: the expert's conversations that the judge learns from.
        epochs: over them.
    """
    goals, rule = base.world.need("criteria"), base.world.need("check")
    judge = taught_verdict(ask=just_now(in_its_place))
    labels = partial(drawn_reaches, criteria=goals, check=rule)
    shown = judge.lessons(demonstrated(world=base.world, count=taught, where=_teaches), labels)
    lessons = teach_second(second=judge.second, source=shown, epochs=epochs)
    paid = subgoals(criteria=goals, check=judge.brought_about, bonus=bonus, just_now=True)
    watched = goal_agreement(criteria=goals, says=judge.brought_about, truth=rule, where=lambda one: not _teaches(one))
    earned = {"correct": (1.0, base.reward), "goals": (1.0, paid)}
    return replace(
        base, reward=weighted(earned), learners=(*base.learners, judge.second, watched), stages=(*base.stages, lessons)
    )


def _teaches(task: Task) -> bool:
    return derive_seed("teaches", task.messages[-1].content) % 2 == 0
