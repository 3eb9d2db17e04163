import numpy as np
import pytest

from handaxe.papers.grappa.advisor import rule_advisor
from handaxe.papers.grappa.cloned_policy import ClonedPolicy, clone_expert
from handaxe.papers.grappa.guidance_program import write_plan
from handaxe.papers.grappa.guided_episode import GuidanceRoles, guided_episode
from handaxe.papers.grappa.monitor import rule_monitor

pytest.importorskip("minigrid")
from handaxe.worlds.minigrid_text.grid import WORDS, GridGame  # noqa: E402

UNIFORM = ClonedPolicy({})
PLAN = write_plan(["key", "door", "goal"])


def play(policy=UNIFORM, advisor=rule_advisor, monitor=None, alpha=1.0, grid=3, seed=0, **options):
    game = GridGame("doorkey", 6, grid, brief=False)
    rng = np.random.default_rng(seed)
    return guided_episode(game, policy, GuidanceRoles(advisor, monitor), rng=rng, alpha=alpha, **options)


def test_weight_0_has_the_actions_of_the_base_policy():
    policy, rng = clone_expert(3, demonstrations=4), np.random.default_rng(5)
    game, words = GridGame("doorkey", 6, 3, brief=False), []
    while not game.is_over and len(words) < 60:
        chance = np.cumsum(policy.action_probs(game.state))
        draw = rng.random()
        words.append(WORDS[sum(draw >= edge for edge in chance[:-1])])
        try:
            game.act(words[-1])
        except Exception:  # an action without effect
            continue
    found = play(policy, alpha=0.0, seed=5)
    assert found.words == tuple(words) and found.moved == 0


def test_the_full_plan_solves_a_grid_that_the_first_guidance_does_not():
    assert play(program=PLAN).solved
    first = play()
    assert not first.solved and first.program == write_plan(["goal"]) and first.revisions == 0 and first.moved > 0


def test_a_report_of_the_monitor_revises_the_guidance():
    found = play(monitor=rule_monitor())
    assert found.solved and found.program == PLAN and 1 <= found.revisions <= 3


def test_a_failing_guidance_function_gives_none_and_is_reported():
    broken = "def guidance(state): return state['no']"
    seen = []

    def advisor(brief):
        seen.append(brief)
        return broken if len(seen) < 2 else PLAN

    found = play(advisor=advisor, monitor=rule_monitor())
    assert found.program == PLAN and found.failed == 0 and "KeyError" in seen[1].error
    alone = play(advisor=lambda brief: broken, limit=7)
    assert alone.failed == 7 and alone.moved == 0 and len(alone.words) == 7


def test_an_advisor_without_an_answer_is_asked_at_most_four_times_and_never_replaced():
    found = play(advisor=lambda brief: "", monitor=rule_monitor(), limit=20)
    assert found.unanswered == 4 and found.program == "" and found.moved == 0 and found.revisions == 0


def test_questions_to_the_monitor_without_an_answer_are_counted_and_revise_nothing():
    found = play(monitor=lambda scores, mission, views: None if len(scores) in (3, 5) else False, limit=7)
    assert found.unanswered == 2 and found.revisions == 0


def test_scores_begin_with_the_first_program():
    replies, seen = ["", "", PLAN], []

    def monitor(scores, mission, views):
        seen.append((len(scores), len(views)))
        return False

    play(advisor=lambda brief: replies.pop(0), monitor=monitor, limit=5)
    assert seen[-3:] == [(1, 1), (2, 2), (3, 3)]
