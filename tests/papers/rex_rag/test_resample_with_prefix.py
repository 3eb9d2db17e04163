from math import exp, log

import numpy as np
import pytest

from handaxe.core import records
from handaxe.core.errors import InputError, VerifierError
from handaxe.core.records import Branch, Ending, Group, Message, Sampling, Scores, Task, ToolCall
from handaxe.core.requests import Attempt, Stopped
from handaxe.core.validation import check_group
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import CALL, Compact
from handaxe.papers.rex_rag.resample_with_prefix import probe_words, resample_with_prefix
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.linear import linear
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools.calculator import calculator
from handaxe.training.replay import Setup, replay

TASK = Task("t", (Message("user", "12*34+5?"),), answer="413")
ENV = tool_chat([calculator])
SAMPLING = Sampling(max_tokens=40)
LOOK = ToolCall("calculator", {"expression": "12*34"})
MORE = ("hm ", ToolCall("calculator", {"expression": "408+5"}))
PROBES = ["hm ", "hm, "]


def attempt(seed=5):
    return Attempt(TASK, ENV, Compact(), SAMPLING, "t/0", 0, seed, 512)


def probes(**more):
    return resample_with_prefix(**{"correct": exact_match(), "probes": ["hm "], "chance": 1.0} | more)


def played(rollout, *lines, seed=5, stop=None):
    """What comes of an attempt that says these lines, those of the clone behind those of the first."""
    left, asked = list(lines), []

    def sample(name, request):
        if name == stop:
            raise Stopped
        asked.append(request)
        engine = ScriptedEngine(Compact(), lambda text, turn: left.pop(0), tools=[calculator.schema])
        return engine.sample([request])[0]

    made = run_plan(rollout(attempt(seed)), sample=sample)
    for one in made:
        records.check(one)
    check_group(Group(TASK, tuple(made)))
    return made, asked


def test_probe_words_equals_the_worked_example():
    def shares(number):
        said = probe_words(["ab", "ac", "b"], number, Compact(), [])
        return bytes(said.ids).decode(), [round(exp(logp), 4) for logp in said.behaviour_logp]

    assert shares(0) == ("ab", [0.6667, 0.5]) and shares(1) == ("ac", [0.6667, 0.5]) and shares(2) == ("b", [0.3333])


def test_a_wrong_answer_is_resampled_after_a_probe_and_may_call_again():
    (first, second), asked = played(probes(), LOOK, "408", MORE, "413")
    assert first.final_text == "408" and first.branch_of is None and first.notes == {}
    turn = first.turns[1]
    assert second.branch_of == Branch("t/0", 0, turn.start) and second.id == "t/0/probed"
    assert second.notes["probe"] == 0 and second.final_text == "413" and len(second.turns) == 3
    sequence = second.sequences[0]
    assert (
        bytes(sequence.ids[sequence.forced].tolist()) == b"hm " and not sequence.behaviour_logp[sequence.forced].any()
    )
    assert sequence.ids[turn.start + 3] == CALL and sequence.mask[turn.start : turn.start + 4].all()
    assert [reply.content for reply in second.replies] == ["408", "413"]
    assert len(asked) == 4 and asked[2].prefix.ids == list(b"hm ")


def test_the_first_trajectory_is_that_of_linear():
    (first, *_), _ = played(probes(), LOOK, "408", "hm 413")
    ((plain,), _) = played(linear(), LOOK, "408")
    np.testing.assert_array_equal(first.sequences[0].ids, plain.sequences[0].ids)
    assert [turn.seed for turn in first.turns] == [turn.seed for turn in plain.turns]


@pytest.mark.parametrize(
    "lines, knobs",
    [
        ([LOOK, "413"], {}),
        (["408"], {}),
        ([LOOK, "408"], {"chance": 0.0}),
        ([LOOK, "408"], {"right": 0.0}),
        ([LOOK, LOOK], {"max_turns": 2}),
    ],
    ids=["right", "no call", "not drawn", "right enough", "no answer"],
)
def test_correct_answers_and_answers_without_calls_are_not_probed(lines, knobs):
    made, _ = played(probes(**knobs), *lines)
    assert len(made) == 1


def test_trajectories_that_cannot_be_scored_are_not_probed():
    def undecided(group):
        raise VerifierError("cannot decide")

    def unscored(group):
        return Scores(np.full(len(group), np.nan))

    for correct in (undecided, unscored):
        assert len(played(probes(correct=correct), LOOK, "408")[0]) == 1


def test_probability_and_probe_are_sampled_by_the_seed():
    found = [played(probes(probes=PROBES, chance=0.4), LOOK, "408", "hm, 1", seed=seed)[0] for seed in range(60)]
    probed = [one[1] for one in found if len(one) == 2]
    assert 14 <= len(probed) <= 34 and {one.notes["probe"] for one in probed} == {0, 1}
    for one in probed:
        sequence = one.sequences[0]
        assert bytes(sequence.ids[sequence.forced].tolist()).decode() == PROBES[one.notes["probe"]]
        np.testing.assert_allclose(sequence.behaviour_logp[sequence.forced][2], log(0.5), rtol=1e-6)


def test_a_stopped_rollout_keeps_its_trajectory():
    (first, second), _ = played(probes(), LOOK, "408", stop="t/0/probed")
    assert first.ending == Ending("completed") and second.ending == Ending("truncated", "stopped")
    assert second.sequences[0].forced.sum() == 3
    ((alone,), _) = played(probes(), LOOK, stop="")
    assert alone.ending == Ending("truncated", "stopped")


@pytest.mark.parametrize("tools", [False, True])
def test_resampled_trajectories_can_be_replayed(tools):
    made, _ = played(probes(probes=PROBES), LOOK, "408", MORE, "413", seed=4)
    assert len(made) == 2
    setup = Setup(probes(probes=PROBES), Compact(), ENV, SAMPLING, context=512, tools=tools)
    assert [one.differences for one in replay(Group(TASK, tuple(made)), setup)] == [(), ()]


@pytest.mark.parametrize(
    "knobs, said",
    [
        ({"chance": 1.5}, "chance of resample_with_prefix is 1.5"),
        ({"probes": []}, "needs distinct non-empty probes"),
        ({"probes": ["a", ""]}, "needs distinct non-empty probes"),
        ({"probes": ["a", "a"]}, "needs distinct non-empty probes"),
    ],
)
def test_resample_with_prefix_refuses_bad_arguments(knobs, said):
    with pytest.raises(InputError, match=said):
        probes(**knobs)
