"""Stage that teaches a step judge on labelled turns of rollouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from handaxe.asking.ask import Ask
from handaxe.core.protocols import Source, Stage, StageContext
from handaxe.core.records import RatedGroup, Trajectory
from handaxe.judges.taught_answerer import TaughtAnswerer
from handaxe.methods.teach_judge import NO, YES, Labelled, teach_judge
from handaxe.training.sft.supervised import as_rated

__all__ = ["ALL", "TurnLabels", "teach_turns"]

ALL = 1 << 30
"""`most` of `teach_judge` without a limit; of the frequent answer at most three labels for each of the rare one."""
LABEL = "label"
"""Key of the notes: number of the turn, and whether the turn is correct."""
TurnLabels = Callable[[Iterable[Trajectory]], Sequence[tuple[Trajectory, int, bool]]]
"""Trajectories -> (trajectory, turn number, correct or not), such as `papers.grounded_prm.node_labels`."""


class _AsksAboutTurns(Protocol):
    """Part of `judges.asked_steps.AskedSteps`."""

    def question(self, trajectory: Trajectory, turn: int) -> Ask: ...


def teach_turns(*, judge: _AsksAboutTurns, answerer: TaughtAnswerer, source: Source, labels: TurnLabels) -> Stage:
    """Make a stage that teaches the answerer of a judge by labels of turns; labels may depend on all trajectories.

        source --labels--> (trajectory, turn, correct) --question of the judge, yes or no--> `teach_judge`

    Args:
        judge: asks the answerer about turns.
        answerer: learns.
        source: of groups.
        labels: of turns.

    Returns:
        A stage: metrics of the teaching, see `teach_judge`.

    Raises:
        InputError: there is no label; no question fits into the context.

    Example:
        two right turns and nine wrong ones  ->  the answerer learns from two answers yes and six answers no
    """

    def one_a_label(site: StageContext) -> list[RatedGroup]:
        found = labels(one for rated in source(site) for one in rated.group)
        return [as_rated([replace(one, notes={**one.notes, LABEL: (n, right)})]) for one, n, right in found]

    def noted(one: Trajectory) -> list[Labelled]:
        turn, right = one.notes[LABEL]
        return [(judge.question(one, turn), YES if right else NO)]

    return teach_judge(judge=answerer, source=one_a_label, labels=noted, most=ALL)
