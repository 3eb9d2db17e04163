"""CALM (arXiv:2409.12798), trained judge: pay sub-goal bonuses by the verdicts of a fine-tuned copy of the policy."""

from functools import partial

from handaxe import rewards
from handaxe.core.records import Task
from handaxe.judges.trained_verdict import contextual_question, trained_verdict
from handaxe.judges.verdict_token import transition_question
from handaxe.methods.method import Method, replace
from handaxe.ops.seeds import derive_seed
from handaxe.papers.calm.goal_agreement import goal_agreement
from handaxe.papers.calm.goal_transitions import sampled_transitions
from handaxe.papers.calm.subgoals import subgoals
from handaxe.training.sft.demonstrated import demonstrated
from handaxe.training.stages.teach_second import teach_second

__all__ = ["calm_judged"]


def calm_judged(base: Method, *, bonus: float = 0.5, demonstrations: int = 128, epochs: int = 3) -> Method:
    """Pay a bonus in the turn that reaches the first open sub-goal according to a judge trained on half of the tasks.

    Args:
        bonus: b, reward of a sub-goal; a correct answer earns 1.
        demonstrations: expert conversations that the judge is trained on.
        epochs: over them.
    """
    goals, rule = base.world.need("criteria"), base.world.need("check")
    judge = trained_verdict(ask=transition_question(contextual_question))
    labels = partial(sampled_transitions, criteria=goals, check=rule)
    labelled = judge.training_source(demonstrated(world=base.world, count=demonstrations, where=_trains_judge), labels)
    stage = teach_second(second=judge.second, source=labelled, epochs=epochs)
    bonuses = subgoals(criteria=goals, check=judge.reached_by_turn, bonus=bonus, per_transition=True)
    agreement = goal_agreement(criteria=goals, judge=judge.reached_by_turn, rule=rule, task_filter=_tests_judge)
    parts = {"correct": (1.0, base.reward), "goals": (1.0, bonuses)}
    return replace(
        base,
        reward=rewards.weighted(parts),
        learners=(*base.learners, judge.second, agreement),
        stages=(*base.stages, stage),
    )


def _trains_judge(task: Task) -> bool:
    return derive_seed("teaches", task.messages[-1].content) % 2 == 0


def _tests_judge(task: Task) -> bool:
    return not _trains_judge(task)
