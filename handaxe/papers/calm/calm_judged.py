"""CALM (arXiv:2409.12798), trained judge: pay sub-goal bonuses by the verdicts of a fine-tuned copy of the policy.

Example:
    bonus 0.5, two sub-goals reached by the judge's verdict and a correct answer  ->  reward 1 + 0.5 + 0.5

Paper: arXiv:2409.12798 (CALM), rewards by a language model's verdicts on transitions.
"""

from handaxe import rewards
from handaxe.core.records import Task
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.labelled_turns import ALL
from handaxe.methods.method import Method, replace
from handaxe.methods.teach_judge import teach_judge
from handaxe.ops.seeds import derive_seed
from handaxe.papers.calm.goal_agreement import goal_agreement
from handaxe.papers.calm.reached_question import reached_check, reached_labels
from handaxe.papers.calm.subgoals import subgoals
from handaxe.training.sft.demonstrated import demonstrated

__all__ = ["calm_judged"]


def calm_judged(base: Method, *, bonus: float = 0.5, demonstrations: int = 128, epochs: int = 3) -> Method:
    """Pay a bonus in the turn that reaches the first open sub-goal according to a judge trained on half of the tasks.

    Args:
        bonus: b, reward of a sub-goal; a correct answer earns 1.
        demonstrations: expert conversations that the judge is trained on.
        epochs: over them.
    """
    goals, rule = base.world.need("criteria"), base.world.need("check")
    answerer = TaughtAnswerer(name="trained", epochs=epochs)
    judge = reached_check(desk=answerer.desk)
    source = demonstrated(world=base.world, count=demonstrations, where=_trains_judge)
    labels = reached_labels(criteria=goals, check=rule)
    stage = teach_judge(judge=answerer, source=source, labels=labels, most=ALL)
    bonuses = subgoals(criteria=goals, check=judge, bonus=bonus, per_transition=True)
    agreement = goal_agreement(criteria=goals, judge=judge, rule=rule, task_filter=_tests_judge)
    parts = {"correct": (1.0, base.reward), "goals": (1.0, bonuses)}
    return replace(
        base,
        reward=rewards.weighted(parts),
        learners=(*base.learners, answerer, agreement),
        stages=(*base.stages, stage),
    )


def _trains_judge(task: Task) -> bool:
    return derive_seed("teaches", task.messages[-1].content) % 2 == 0


def _tests_judge(task: Task) -> bool:
    return not _trains_judge(task)
