"""Step: samples rollouts of a task, with labels by the world's rule."""

from __future__ import annotations

from collections.abc import Sequence

from handaxe.synthesis.draft import SynthesisDraft
from handaxe.synthesis.draft_groups import LabelledRollout, group_draft, rollout_text
from handaxe.synthesis.draft_rollouts import DraftRollouts, scored_ones
from handaxe.synthesis.step import DraftOutcome, SynthesisContext, SynthesisStep, dropped, kept
from handaxe.synthesis.task_drafts import draft_task

__all__ = ["sample_groups"]


def sample_groups(rollouts: DraftRollouts) -> SynthesisStep:
    """Make the step "sample_groups": a task -> a group of labelled rollouts, with both labels.

    Args:
        rollouts: of a policy, or of the rule.

    Returns:
        A step that reads drafts of kind "task" and makes drafts of kind "group", with the note "correct", a share.

    Raises:
        VerifierError: while running, no rollout could be scored.

    Example:
        4 rollouts, 3 of them correct  ->  a group with the labels 1, 1, 0, 1;  4 correct ones: dropped

    Idea: candidates of one source, so that nothing but the outcome tells them apart.
    """

    def outcome(draft: SynthesisDraft, rows: Sequence[LabelledRollout]) -> DraftOutcome:
        labels = {one.label > 0.5 for one in rows}
        if len(labels) < 2:
            return dropped("one label alone" if labels else "unscored")
        share = sum(one.label > 0.5 for one in rows) / len(rows)
        return kept(group_draft(draft.noted({"correct": share}), rows))

    def run(drafts: Sequence[SynthesisDraft], at: SynthesisContext) -> list[DraftOutcome]:
        played = rollouts.play([draft_task(one) for one in drafts], at)
        by = str(rollouts.settings["by"])
        rows = [[LabelledRollout(rollout_text(one), value, by) for one, value in scored_ones(*own)] for own in played]
        return [outcome(draft, own) for draft, own in zip(drafts, rows, strict=True)]

    return SynthesisStep("sample_groups", run, settings={**rollouts.settings, "world": rollouts.world.name})
