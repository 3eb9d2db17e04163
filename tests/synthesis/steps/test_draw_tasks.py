"""Tasks of a world's generator as drafts."""

from dataclasses import replace

from handaxe.ops.seeds import derive_seed
from handaxe.synthesis.draft import make_draft
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.draw_tasks import draw_tasks
from handaxe.synthesis.task_drafts import draft_text
from handaxe.worlds.arithmetic import arithmetic

WORLD = arithmetic()
SEEDS = [make_draft("seed", {"number": n}) for n in range(8, 16)]


def test_seeds_become_training_tasks_of_their_round():
    outcomes = draw_tasks(WORLD).run(SEEDS, SynthesisContext(3))
    expected = WORLD.tasks("train", 8, derive_seed("synthesis", 3, 8))
    assert [draft_text(one.kept[0]) for one in outcomes] == [one.messages[0].content for one in expected]
    assert [one.kept[0].parents for one in outcomes] == [(seed.id,) for seed in SEEDS]


def test_a_finite_world_is_exhausted():
    two = replace(WORLD, tasks=lambda split, count, seed: WORLD.tasks(split, 2, seed))
    outcomes = draw_tasks(two).run(SEEDS, SynthesisContext(0))
    assert [one.reason for one in outcomes] == ["", "", *["exhausted"] * 6]
