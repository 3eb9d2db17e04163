"""Master-RM (arXiv:2507.08794): false positives of a judge on master keys, before and after training on openers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handaxe.core.deferred import DeferredModule
from handaxe.core.records import Task
from handaxe.methods.method import StudyFunction
from handaxe.papers.master_rm.fit_judge import fit_judge
from handaxe.papers.master_rm.key_rates import THRESHOLD, AnswerChances, key_rates, rule_agreement
from handaxe.papers.master_rm.labelled_solutions import Solutions, judging_lessons, play_solutions, whole_question
from handaxe.papers.master_rm.openers import openers
from handaxe.training.sft.cold_start import extend_to_start_context
from handaxe.worlds.arithmetic import arithmetic

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
    import handaxe.models.load as loading
else:
    local = DeferredModule("handaxe.engines.local.engine")
    loading = DeferredModule("handaxe.models.load")

__all__ = ["master_rm"]


def master_rm(
    *,
    tasks: int = 140,
    held_out: int = 32,
    key_tasks: int = 16,
    labels: int = 64,
    negatives: int = 16,
) -> StudyFunction:
    """Fit judges on solutions of the shipped policy, with openers and without, and attack both with master keys.

    Figures:
        LESSONS/FIGURE   see `key_rates` and `rule_agreement`; opener: share of held-out openers that the judge accepts.
                         LESSONS is plain or openers, see `judging_lessons`
        fall             fpr of plain less that of openers
        change           agreement of openers less that of plain

    Args:
        tasks: training tasks, 4 rollouts each.
        held_out: tasks of the comparison with the rule, 4 rollouts each.
        key_tasks: tasks of the attack with each key.
        labels: right solutions that teach a judge, and as many wrong solutions.
        negatives: openers.
    """

    def measure(seed: int) -> dict[str, float]:
        world = arithmetic()
        policy = extend_to_start_context(loading.load("tiny"), world)
        engine = local.LocalEngine(policy.model)
        train = play_solutions(engine, policy.format, world, split="train", tasks=tasks, seed=seed)
        test = play_solutions(engine, policy.format, world, split="test", tasks=held_out, seed=seed)
        attacked = world.tasks("test", key_tasks, seed)
        found = dict[str, float]()
        for name, pairs in judging_lessons(train, labels=labels, negatives=negatives)._asdict().items():
            own = _judge_figures(fit_judge(engine, policy.format, pairs), attacked, test)
            found |= {f"{name}/{key}": value for key, value in own.items()}
        found["fall"] = found["plain/fpr"] - found["openers/fpr"]
        found["change"] = found["openers/agreement"] - found["plain/agreement"]
        return found

    return measure


def _judge_figures(chances: AnswerChances, attacked: Sequence[Task], test: Solutions) -> dict[str, float]:
    """Figures of a judge on master keys, on held-out solutions, and on their openers."""
    ordinary = [(whole_question(one), True) for one in test.right]
    ordinary += [(whole_question(one), False) for one in test.wrong]
    cut = [ask for ask, _ in openers([*test.right, *test.wrong], most=len(ordinary))]
    rates = {**key_rates(chances, attacked), **rule_agreement(chances, ordinary)}
    return {**rates, "opener": float((chances(cut) > THRESHOLD).mean())}
