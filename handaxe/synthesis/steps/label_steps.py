"""Step: labels the steps of rollouts by a rule of the world and a step judge, and keeps labels that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.asking.desk import AskDesk, NoAnswer
from handaxe.asking.prompt import find_prompt
from handaxe.asking.read import probability
from handaxe.core.records import Trajectory
from handaxe.judges.asked_steps import asked_steps
from handaxe.judges.exact_steps import exact_labels
from handaxe.judges.question_fields import FIELDS
from handaxe.synthesis.ask_values import ask_values, desk_settings
from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.draft_groups import LabelledRollout, group_draft, rollout_text
from handaxe.synthesis.draft_rollouts import DraftRollouts, scored_ones
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task

__all__ = ["label_steps"]

YES = 0.5


class _Label(NamedTuple):
    """Label of a turn by the rule, whether the judge agrees, and JSON about the question to the judge."""

    turn: int
    correct: bool
    agreed: bool = True
    asked: tuple[Mapping[str, Any], ...] = ()


def label_steps(rollouts: DraftRollouts, *, desk: AskDesk | None = None) -> SynthesisStep:
    """Make the step "label_steps": a task -> a group of rollouts with labelled steps.

        rule    l_k = verdict of the world on turn k; turns with a verdict of 0 have no label
        judge   j_k = 1 if P(yes) > 1/2 for "was the step right?", else -1
        kept    labels with l_k = j_k, or all without a judge; a group keeps its rollouts if a label is left

    Args:
        rollouts: of a policy or of the rule, in a world with `verdicts`.
        desk: asks the step judge; None for the rule alone.

    Returns:
        A step that reads drafts of kind "task" and makes drafts of kind "group", with the note "steps": numbers of
        labels by the rule, and of those that are left.

    Raises:
        InputError: the world has no verdicts; while running, see `ask_values`. VerifierError: no rollout is scored.

    Example:
        verdicts 1, -1, 0 and the judge says yes, yes, no  ->  the label of the first turn alone

    Paper: arXiv:2510.14942 (GroundedPRM), labels of tool verdicts that agree with another estimate.
    Differs: the other estimate is a language model's, where the paper's is the value of a tree search.
    """
    label = exact_labels(rollouts.world.need("verdicts"))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        played = [scored_ones(*own) for own in rollouts.play([draft_task(one) for one in drafts], at)]
        places = [(one, turn, right) for own in played for one, _ in own for _, turn, right in label([one])]
        found = _rule_labels(places) if desk is None else _judged_labels(desk, places)
        labels: dict[int, list[_Label]] = {}
        for (one, _, _), own in zip(places, found, strict=True):
            labels.setdefault(id(one), []).append(own)
        by = str(rollouts.settings["by"])
        return [_outcome(draft, own, labels, by) for draft, own in zip(drafts, played, strict=True)]

    prompt = None if desk is None else find_prompt("step", terse=desk.answerer.terse)
    judge = desk_settings(desk, f"{prompt.name} {prompt.digest[:12]}" if prompt else "")
    settings = {"rollouts": dict(rollouts.settings), "judge": judge, "world": rollouts.world.name}
    return SynthesisStep("label_steps", run, settings=settings)


def _rule_labels(places: Sequence[tuple[Trajectory, int, bool]]) -> list[_Label]:
    return [_Label(turn, right) for _, turn, right in places]


def _judged_labels(desk: AskDesk, places: Sequence[tuple[Trajectory, int, bool]]) -> list[_Label]:
    judge = asked_steps(desk=desk)
    found = ask_values(desk, [judge.question(one, turn) for one, turn, _ in places], probability())
    return [
        _Label(turn, right, not isinstance(own.value, NoAnswer) and (own.value > YES) == right, own.asked)
        for (_, turn, right), own in zip(places, found, strict=True)
    ]


def _outcome(
    draft: SynthesisDraft, played: Sequence[tuple[Trajectory, float]], labels: Mapping[int, Sequence[_Label]], by: str
) -> DraftOutcome:
    every = [label for one, _ in played for label in labels.get(id(one), ())]
    calls = tuple(call for label in every for call in label.asked)
    left = sum(label.agreed for label in every)
    if not left:
        return dropped("rule and judge disagree" if every else "no step is judged")._replace(asked=calls)
    rows = [_labelled(one, value, labels.get(id(one), ()), by) for one, value in played]
    return kept(group_draft(draft.noted({"steps": {"rule": len(every), "kept": left}}), rows))._replace(asked=calls)


def _labelled(one: Trajectory, value: float, labels: Sequence[_Label], by: str) -> LabelledRollout:
    steps = tuple(
        (label.turn, FIELDS["conversation"](one, label.turn, None), 1 if label.correct else -1)
        for label in labels
        if label.agreed
    )
    return LabelledRollout(rollout_text(one), value, by, steps)
