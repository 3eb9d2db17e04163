"""Groups of labelled rollouts, against the rollouts themselves."""

from collections import Counter

from handaxe.synthesis.draft_groups import group_rollouts, rollout_text
from handaxe.synthesis.draft_rollouts import DraftRollouts
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.sample_groups import sample_groups
from handaxe.synthesis.task_drafts import draft_task, task_draft
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
HERE = SynthesisContext(seed=0, workers=2)


def test_groups_with_both_labels_are_kept():
    rollouts = DraftRollouts(WORLD, WORLD.env(WORLD.tools), samples=4)
    drafts = [task_draft(one) for one in WORLD.tasks("train", 24, 0)]
    found = sample_groups(rollouts).run(drafts, HERE)
    for draft, one in zip(drafts, found, strict=True):
        ((group, scores),) = rollouts.play([draft_task(draft)], HERE)
        both = len(set(scores.outcome)) == 2
        assert one.reason == ("" if both else "one label alone")
        if both:
            rows = group_rollouts(one.kept[0])
            assert [(row.text, row.label) for row in rows] == [
                (rollout_text(each), value) for each, value in zip(group, scores.outcome, strict=True)
            ]
            assert one.kept[0].notes["correct"] == scores.outcome.mean() and {row.by for row in rows} == {"rule"}
    assert min(Counter(bool(one.reason) for one in found).values()) >= 4
