from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Ending
from handaxe.papers.agentmath.grown_limits import grown_limits
from handaxe.rollouts.budget import Budget, budgets
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_group, make_rated, make_scores

TURNS, SPENT, LONG = Ending("truncated", "turns"), Ending("truncated", "budget"), Ending("truncated", "length")
DONE = Ending("completed")


def group(step, *endings, forks=0):
    """A rated group of a step's, whose attempts ended so; the last ones are forks."""
    made = make_group(layouts=["UpT"] * len(endings))
    branch = Branch(made[0].id, 0, 1)
    siblings = tuple(
        replace(one, ending=ending, branch_of=branch if i >= len(endings) - forks else None)
        for i, (one, ending) in enumerate(zip(made, endings))
    )
    return make_rated(
        group=replace(made, trajectories=siblings, step=step), scores=make_scores(np.zeros(len(endings)).tolist())
    )


def test_grown_limits_matches_its_example():
    turns = grown_limits(stages=(4, 6, 8), above=0.1, least=10)
    assert turns(0) == 4
    assert turns.learn([group(0, *[TURNS] * 2, *[DONE] * 6)], step=0) == {"stage": 0, "truncated": 0.25}
    assert turns(1) == 4
    assert turns.learn([group(1, SPENT, *[DONE] * 7)], step=1) == {"stage": 1, "truncated": 0.125}
    assert [turns(step) for step in (0, 1, 2, 9)] == [4, 4, 6, 6], "an earlier step keeps what it had"
    assert turns.learn([group(2, TURNS, *[DONE] * 15)], step=2) == {"stage": 1, "truncated": 1 / 16}
    assert turns.state_dict() == {"began": [2], "asked": 9, "cut": 0, "seen": 0}


def test_grown_limits_matches_a_slow_loop():
    rng = np.random.default_rng(0)
    for above in (0.0, 0.1, 0.3):
        stages = (1, 2, 3, 4)
        turns, stage, counted = grown_limits(stages=stages, above=above, least=20), 0, []
        for step in range(40):
            assert turns(step) == stages[stage]
            ended = [
                [TURNS if rng.random() < 0.4 / (stage + 1) else DONE for _ in range(4)] for _ in range(rng.integers(4))
            ]
            turns.learn([group(step, *own) for own in ended], step=step)
            counted += [one for own in ended for one in own]
            if len(counted) >= 20:
                if counted.count(TURNS) / len(counted) > above and stage < 3:
                    stage += 1
                counted = []
        assert stage == len(turns.began) >= 1


def test_rollouts_of_earlier_stages_forks_and_other_endings_do_not_count():
    """Neither forks, nor turns that were cut themselves, nor attempts at a limit that is no more."""
    turns = grown_limits(stages=(1, 2, 3), above=0.5, least=4)
    assert turns.learn([group(0, DONE, DONE, LONG, TURNS, TURNS, TURNS, forks=3)], step=0)["truncated"] == 0
    assert turns.state_dict()["seen"] == 3
    turns.learn([group(0, *[TURNS] * 8)], step=0)
    assert turns.began == [1]
    assert turns.learn([group(0, *[TURNS] * 8)], step=1) == {"stage": 1, "truncated": 0}, "held over from step 0"
    assert turns.learn([group(0, *[TURNS] * 8), group(1, *[TURNS] * 4)], step=2)["stage"] == 2
    assert turns.learn([group(3, *[TURNS] * 8)], step=3)["stage"] == 2, "there is no further stage"
    everything = grown_limits(stages=(1, 2), above=0.5, least=2, reasons=("length",))
    everything.learn([group(0, LONG, LONG, TURNS)], step=0)
    assert everything.began == [1]


def test_rollouts_launched_ahead_keep_their_limit():
    turns = grown_limits(stages=(1, 2), above=0.0, least=1)
    assert [turns(step) for step in (0, 1, 2)] == [1, 1, 1]
    turns.learn([group(0, TURNS)], step=0)
    assert [turns(step) for step in (0, 1, 2, 3)] == [1, 1, 1, 2]


def test_grown_limits_resumes_from_its_state():
    rng, steps = np.random.default_rng(1), []
    for step in range(20):
        ended = [TURNS if rng.random() < 0.3 else DONE for _ in range(6)]
        steps.append([group(step, *ended)])
    whole = grown_limits(stages=(1, 2, 3), least=10)
    for stop in range(20):
        other = grown_limits(stages=(1, 2, 3), least=10)
        other.load_state_dict(whole.state_dict())
        assert whole(stop) == other(stop)
        assert whole.learn(steps[stop], step=stop) == other.learn(steps[stop], step=stop)
        assert whole.state_dict() == other.state_dict()
    assert whole.began and whole.state_dict()["began"] is not whole.began


@pytest.mark.parametrize(
    "wrong", [{"stages": ()}, {"above": -0.1}, {"above": 1.1}, {"least": 0}, {"reasons": ()}], ids=str
)
def test_grown_limits_rejects_invalid_arguments(wrong):
    with pytest.raises(InputError, match="give one stage"):
        grown_limits(**{"stages": (1,), **wrong})


def test_a_rollout_takes_the_limit_of_its_step(dice):
    turns = grown_limits(stages=(1, 3), above=0.0, least=1)
    bounds = grown_limits(stages=budgets(tokens=(2, 40)), above=0.0, least=1)
    for schedule in (turns, bounds):
        schedule.learn([group(0, TURNS)], step=0)
    stages, lengths = {0: (1, Budget(tokens=2)), 1: (3, Budget(tokens=40))}, set()
    for seed in range(40):
        for step, (most, spent) in stages.items():
            one = replace(dice.attempt(seed), step=step)
            for grown, fixed in (
                (linear(max_turns=turns), linear(max_turns=most)),
                (linear(budget=bounds), linear(budget=spent)),
            ):
                (made,), (same,) = run_plan(grown(one), sample=dice.roll), run_plan(fixed(one), sample=dice.roll)
                assert made.ending == same.ending and list(made.sequences[0].ids) == list(same.sequences[0].ids)
                lengths.add((step, len(made.turns), made.ending.reason))
    assert {(0, 1, "turns"), (0, 1, "budget")} <= lengths and any(count > 2 for step, count, _ in lengths if step)
