"""Study: a reward model that reads the reference answer beside question and completion, and one that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from handaxe import judges
from handaxe.core.deferred import DeferredModule
from handaxe.core.heads import Head
from handaxe.core.protocols import ChatFormat, Engine
from handaxe.core.records import Group, RatedGroup, Scores, Task
from handaxe.evaluation.play_groups import play_groups
from handaxe.judges.reward_model import RewardModel
from handaxe.methods.method import StudyFunction
from handaxe.ops.change_digit import change_digit
from handaxe.ops.seeds import derive_seed
from handaxe.ops.stats import interval_figures
from handaxe.papers.cooper.judged_message import judged_trajectory
from handaxe.training.sft.cold_start import start_policy
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import Split

if TYPE_CHECKING:
    import handaxe.engines.local.engine as local
else:
    local = DeferredModule("handaxe.engines.local.engine")

__all__ = ["verify_rm"]

SIBLINGS = 8
"""Rollouts of a task."""
ARMS: Mapping[str, bool] = MappingProxyType({"reference": True, "plain": False})
"""Reward model -> whether the message has the reference."""


class _Answers(NamedTuple):
    """Final answers at a task, and their labels [G]: 1 for correct."""

    task: Task
    texts: list[str]
    label_G: np.ndarray


def verify_rm(*, labelled: int = 256, tasks: int = 96, epochs: int = 12) -> StudyFunction:
    """Fit reward models to the correctness of final answers, with and without the reference answer in their input.

    Both are copies of the cold start with a head, and learn from the same answers. The cold start plays all rollouts.

    Figures; ARM is reference or plain:
        ARM/accuracy      share of held-out answers on the correct side of probability 1/2, mean over tasks
        ARM/accepted      share of the correct ones that are accepted
        ARM/rejected      share of corrupted answers that are rejected: correct ones with one digit changed, as in
                          `against_corrupted`; no fit has seen one
        gain/accuracy     accuracy of reference less that of plain, with /low and /high of the 95 % interval over tasks
        gain/rejected     the same of the corrupted answers, over tasks with a correct answer
        correct           share of correct held-out answers

    Args:
        labelled: tasks with 8 labelled rollouts.
        tasks: held-out tasks, with 8 rollouts each.
        epochs: passes over the labelled answers.

    Example:
        answer 42, reference 42: the message "6 * 7\\n42\\n42" to reference, "6 * 7\\n42" to plain

    Paper: arXiv:2508.05613 (Cooper), VerifyRM and its accuracy on VerifyBench.
    Differs: final answers of one small policy to sums; labels by the rule alone.
    """

    def measure(seed: int) -> dict[str, float]:
        world = arithmetic()
        policy = start_policy(world, seed=seed)
        engine = local.LocalEngine(policy.model)

        def answers(split: Split, count: int) -> list[_Answers]:
            played = play_groups(engine, policy.format, world, split=split, tasks=count, siblings=SIBLINGS, seed=seed)
            return [_answers(one) for one in played]

        lessons, held_out = answers("train", labelled), answers("test", tasks)
        corrupted = [found for one in held_out if (found := _corrupted(one)) is not None]
        measured = {}
        for name, shown in ARMS.items():
            judge = _fitted(engine, policy.format, lessons, epochs, reference=shown)
            measured[name] = [_scores(judge, policy.format, own, reference=shown) for own in (held_out, corrupted)]
        return _figures(held_out, measured)

    return measure


def _answers(one: RatedGroup) -> _Answers:
    return _Answers(one.group.task, [each.final_text for each in one.group], one.scores.outcome)


def _corrupted(one: _Answers) -> _Answers | None:
    """The correct answers with a digit changed, all wrong; None without one."""
    right = [text for text, label in zip(one.texts, one.label_G, strict=True) if label > 0]
    changed = [change_digit(text, seed=derive_seed("verify", one.task.id, n)) for n, text in enumerate(right)]
    texts = [text for text in changed if text is not None]
    return _Answers(one.task, texts, np.zeros(len(texts))) if texts else None


def _group(format: ChatFormat, one: _Answers, *, reference: bool) -> Group:
    """The messages about the answers, each with an empty turn at whose end the head reads."""
    made = [
        judged_trajectory(format, one.task, text, reference=reference, id=f"{one.task.id}/{n}")
        for n, text in enumerate(one.texts)
    ]
    return Group(one.task, tuple(made))


def _fitted(
    engine: Engine, format: ChatFormat, lessons: Sequence[_Answers], epochs: int, *, reference: bool
) -> RewardModel:
    judge = judges.reward_model(
        head=Head(init="zeros"), squash=True, batch_size=SIBLINGS, fit_epochs=epochs, learning_rate=1e-3
    )
    judge.begin(engine)
    judge.fit([(_group(format, one, reference=reference), Scores(one.label_G)) for one in lessons])
    return judge


def _scores(
    judge: RewardModel, format: ChatFormat, answers: Sequence[_Answers], *, reference: bool
) -> list[np.ndarray]:
    return [judge.score(_group(format, one, reference=reference)) for one in answers]


def _figures(held_out: Sequence[_Answers], measured: Mapping[str, Sequence[Sequence[np.ndarray]]]) -> dict[str, float]:
    """Compute the figures; measured: arm -> probabilities of the held-out and of the corrupted answers, by task."""
    figures = {"correct": float(np.mean([one.label_G.mean() for one in held_out]))}
    shares = dict[str, dict[str, np.ndarray]]()
    for name, (own, changed) in measured.items():
        right = [(score_G > 0.5) == (one.label_G > 0) for score_G, one in zip(own, held_out, strict=True)]
        accepted = [score_G[one.label_G > 0] > 0.5 for score_G, one in zip(own, held_out, strict=True)]
        shares[name] = {"accuracy": _shares(right), "rejected": _shares([score_G <= 0.5 for score_G in changed])}
        figures |= {f"{name}/{key}": float(values.mean()) for key, values in shares[name].items()}
        figures[f"{name}/accepted"] = float(np.concatenate(accepted).mean())
    for key in ("accuracy", "rejected"):
        figures |= interval_figures(f"gain/{key}", shares["reference"][key] - shares["plain"][key])
    return dict(sorted(figures.items()))


def _shares(values: Sequence[np.ndarray]) -> np.ndarray:
    return np.array([own.mean() for own in values], np.float64)
