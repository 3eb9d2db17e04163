import random

import numpy as np
import pytest

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import Ending, Group, Message, Sampling, ToolCall
from handaxe.core.requests import Attempt, Completion, Stopped
from handaxe.core.validation import check_group
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.papers.ui_genie.judged_beam import KEPT, judged_beam
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.worlds.screen.world import screen

pytest.importorskip("PIL")

FORMAT = Compact(TinyImageProcessor(8))
WORLD = screen(answer="click", screens=2)
(TASK,) = WORLD.tasks("train", 1, 0)
STOPPED = Ending("truncated", "stopped")


class Rightmost:
    """A judge that prefers clicks on the right."""

    def score_steps(self, group):
        return tuple(np.array([x / 8 for x in columns(one)]) for one in group)


def columns(one):
    return [int(turn.parsed.calls[0].arguments["point"].split()[0]) for turn in one.turns]


def searched(seed, judge=None, say=None, **knobs):
    """A search by a policy that clicks at random columns."""
    rng = random.Random(seed)

    def speak(name, request):
        if say is not None:
            say(request)
        call = ToolCall("click", {"point": f"{rng.randrange(100)} 0"})
        ids = FORMAT.encode_turn(Message("assistant", "", (call,)), [tool.schema for tool in WORLD.tools])
        return Completion(ids, [0.0] * len(ids), [0.0] * len(ids), [0] * len(ids), "stop")

    attempt = Attempt(
        task=TASK,
        env=WORLD.env(WORLD.tools),
        format=FORMAT,
        sampling=Sampling(max_tokens=64),
        id="t",
        sample=0,
        seed=seed,
        context=512,
    )
    return run_plan(judged_beam(judge=judge or Rightmost(), **knobs)(attempt), sample=speak)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("candidates", "beam"), [(5, 2), (3, 3), (4, 1), (1, 1)])
def test_the_best_of_all_candidates_stay_in_the_beam(seed, candidates, beam):
    found = searched(seed, candidates=candidates, beam=beam)
    check_group(Group(TASK, tuple(found)))
    first = {one.turns[0].seed: columns(one)[0] for one in found}
    assert len(first) == candidates
    parents = sorted(first, key=lambda key: -first[key])[:beam]
    ended = [one for one in found if len(one.turns) == 2]
    assert {one.turns[0].seed for one in ended} == set(parents) and len(ended) == candidates * len(parents)
    assert all(one.ending == STOPPED for one in found if len(one.turns) == 1)
    kept = [one for one in found if one.notes[KEPT]]
    best = sorted((sum(columns(one)) / 2 for one in ended), reverse=True)[:beam]
    assert sorted((sum(columns(one)) / 2 for one in kept), reverse=True) == best
    assert found[: len(kept)] == kept


def test_the_example_of_the_docstring():
    class Says:
        def __init__(self):
            self.left = iter((0.2, 0.7, 0.6, 0.1))
            self.known = {}

        def score_steps(self, group):
            (one,) = group
            if len(one.turns) == 1:
                self.known[one.turns[0].seed] = next(self.left)
            return (np.array([self.known[one.turns[0].seed]] * len(one.turns)),)

    judge = Says()
    found = searched(0, judge=judge, candidates=4, beam=2)
    assert {judge.known[one.turns[0].seed] for one in found if len(one.turns) == 2} == {0.7, 0.6}


@pytest.mark.parametrize("when", range(0, 9, 2))
def test_a_stopped_search_keeps_its_turns(when):
    count = iter(range(100))

    def say(request):
        if next(count) >= when:
            raise Stopped

    found = searched(1, say=say, candidates=3)
    check_group(Group(TASK, tuple(found)))


def test_a_judge_out_of_reach_ends_the_search_as_stopped():
    class Silent:
        def score_steps(self, group):
            raise InfrastructureError("no answer")

    found = searched(1, judge=Silent(), candidates=3)
    assert {one.ending for one in found} == {STOPPED} and len(found) == 3


def test_numbers_below_1_raise():
    for knobs in ({"candidates": 0}, {"beam": 0}):
        with pytest.raises(InputError, match="give 1 or more"):
            judged_beam(judge=Rightmost(), **knobs)
