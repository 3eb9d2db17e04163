"""CALM with a judge: a copy of the policy that was taught which acts reach a sub-goal says when the bonus is paid."""

from functools import partial

from handaxe.core.records import Task
from handaxe.judges.taught_verdict import in_its_place, taught_verdict
from handaxe.judges.verdict_token import just_now
from handaxe.methods.method import Method, replace
from handaxe.ops.seeds import derive_seed
from handaxe.papers.calm.goal_agreement import goal_agreement
from handaxe.papers.calm.reached import drawn_reaches
from handaxe.papers.calm.subgoals import subgoals
from handaxe.rewards import weighted
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach_second import teach_second

__all__ = ["calm_judged"]


def calm_judged(base: Method, *, bonus: float = 0.5, taught: int = 128, epochs: int = 3) -> Method:
    """Pay a bonus in the turn of which a judge, taught by half of the tasks, says that it reached the first goal left.

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
