import json

import numpy as np
import pytest
from helpers.written_pad import Pad

from handaxe.core.errors import InfrastructureError, InputError, VerifierError
from handaxe.core.records import Ending, Group, Message, Sampling, Scores, Task, ToolCall
from handaxe.core.requests import Attempt, Stopped
from handaxe.core.validation import check_group
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.turn_tree import total_usage
from handaxe.papers.grounded_prm.outcome_backup import outcome_backup
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.search.mcts import SEARCH, mcts
from handaxe.rollouts.search.uct import uct
from handaxe.testing.scripted_engine import ScriptedEngine, encode_reply

STOPPED = Ending("truncated", "stopped")


class Marks:
    """A judge: what is written in lower case is right."""

    def score_steps(self, group):
        def of(turn):
            word = turn.parsed.calls[0].arguments["text"] if turn.parsed.calls else turn.parsed.text
            return 1.0 if word.islower() else -1.0

        return tuple(np.array([of(turn) for turn in one.turns]) for one in group)


def right(group):
    return Scores(np.array([float(one.final_text.startswith("y")) for one in group]))


def call(letter):
    return ToolCall("write", {"text": letter})


def play(words, *, seed=3, sampled=None, env=None, **knobs):
    """A search whose n-th turn to be sampled says words[n]: one letter is written, a longer word is an answer."""
    sampled = [] if sampled is None else sampled
    said = iter(words)

    def script(text, turn):
        word = next(said)
        sampled.append((text.rsplit("<TOOL>", 1)[-1].split("<END>")[0] if "<TOOL>" in text else "", word))
        return word if len(word) > 1 else call(word)

    engine = ScriptedEngine(Compact(), script, tools=[Pad().write.schema])
    task = Task("t", (Message("user", "go"),))
    attempt = Attempt(
        task, env or tool_chat([Pad]), Compact(), Sampling(max_tokens=40), "t/0", 0, seed, 1000, aux_policies={}
    )
    plan = mcts(**{"outcome": right, "judge": Marks(), "max_turns": 6} | knobs)(attempt)
    return run_plan(plan, sample=lambda name, request: engine.sample([request])[0])


# One search of two simulations, negatives 0, by hand. Sampled in this order:
#   expand the question: a B c          simulate a: d E yes       v = 1, -1 between, F = 1: a += .75, question += .675
#   a has .75 + 1.414 sqrt(ln 2 / 2) = 1.58, B and c have 1.414 sqrt(ln 2 / 1) = 1.18: expand a: f g h
#   simulate f: i J yes                 f += .75, a += .675 = 1.425, question += .6075
WORDS = ["a", "B", "c", "d", "E", "yes", "f", "g", "h", "i", "J", "yes"]


def test_mcts_matches_a_tree_by_hand():
    sampled = []
    found = play(WORDS, sampled=sampled, simulations=2, negatives=0)
    kept = [one for one in found if one.ending != STOPPED]
    # Each turn was sampled where it belongs: behind what had been written on its own way, and nowhere else.
    assert sampled == list(
        zip(["", "", "", "a", "a,d", "a,d,E", "a", "a", "a", "a,f", "a,f,i", "a,f,i,J"], WORDS, strict=True)
    )
    assert [[call.arguments["text"] for call in one.calls] for one in kept] == [["a", "d", "E"], ["a", "f", "i", "J"]]
    a = {"visits": 2, "value": pytest.approx(1.425), "verdict": 1.0}
    assert kept[0].notes[SEARCH] == [a]
    assert kept[1].notes[SEARCH] == [a, {"visits": 1, "value": pytest.approx(0.75), "verdict": 1.0}]
    new = {"visits": 0, "value": 0.0, "verdict": None}
    left = {"".join(call.arguments["text"] for call in one.calls): one.notes[SEARCH] for one in found[2:]}
    assert left == {"B": [new], "c": [new], "ag": [a, new], "ah": [a, new]}
    json.dumps([one.notes for one in found])


def test_sampled_tokens_count_once():
    found = play(WORDS, simulations=2, negatives=0)
    sampled = sum(
        len(encode_reply(Compact(), word if len(word) > 1 else call(word), [Pad().write.schema])) for word in WORDS
    )
    group = Group(found[0].task, tuple(found))
    used = total_usage(group)
    assert used.tokens == sampled < sum(one.num_tokens for one in found)
    assert used.calls == sum(len(word) == 1 for word in WORDS)
    check_group(group)


@pytest.mark.parametrize("negatives, where", [(0, ["", "", "a", "a", "a"]), (1, ["", "", "a", "B"])])
def test_the_second_phase_searches_for_errors(negatives, where):
    """a is worth 1 and B nothing yet; once the sign is turned, B is gone to."""
    sampled = []
    knobs = {"select": uct(c=0.0), "back_up": outcome_backup(), "simulations": 2, "children": 2}
    play(["a", "B", "yes", "no", "no"], sampled=sampled, negatives=negatives, **knobs)
    assert [before for before, _ in sampled] == where


def test_outcomes_alone_reach_every_ancestor():
    found = play(["a", "b", "c", "yes", "no", "d", "no", "no", "E", "e", "e", "yes"], simulations=3, negatives=0,
                 back_up=outcome_backup(), judge=None)  # fmt: skip
    nodes = [node for one in found for node in one.notes[SEARCH]]
    assert all(node["verdict"] is None and abs(node["value"]) <= node["visits"] for node in nodes)


def test_terminal_nodes_are_visited_once_and_a_spent_tree_ends():
    found = play(["yes", "no", "yes"], simulations=9, negatives=4)
    assert [one.final_text for one in found] == ["yes", "no", "yes"]
    values = [one.notes[SEARCH][0]["value"] for one in found]
    assert values == [1.0, -1.0, 1.0] and all(one.notes[SEARCH][0]["visits"] == 1 for one in found)


def test_unscored_rollouts_are_not_backed_up():
    found = play(["yes", "no"], simulations=4, children=2, outcome=lambda group: Scores(np.array([np.nan])))
    assert all(one.notes[SEARCH][0]["visits"] == 0 for one in found)


@pytest.mark.parametrize("error", [InfrastructureError("no answer"), VerifierError("no answer")])
@pytest.mark.parametrize("who", ["outcome", "judge"])
def test_unjudged_turns_are_not_backed_up(error, who):
    class Away:
        def score_steps(self, group):
            raise error

        __call__ = score_steps

    found = play(["yes", "no"], simulations=4, children=2, **{who: Away()})
    assert [one.notes[SEARCH][0]["visits"] for one in found] == [0, 0]
    assert all(one.ending.kind == "completed" for one in found)


def test_an_environment_that_fails_to_open_leaves_one_trajectory():
    class Dying:
        def __init__(self, task):
            pass

        def start(self):
            raise OSError("no sandbox")

        def close(self):
            pass

    (one,) = play([], env=Dying)
    assert one.ending == Ending("infra_error", "OSError: no sandbox")


@pytest.mark.parametrize("when", [0, 2, 3, 5, 9])
def test_a_stopped_search_returns_its_trajectories(dice, when):
    count = iter(range(100))

    def speak(name, request):
        if next(count) >= when:
            raise Stopped
        return dice.roll(name, request)

    dice.Counter.made.clear()
    plan = mcts(outcome=right, judge=None, simulations=5, negatives=2)(dice.attempt(5, env=dice.Counter))
    found = run_plan(plan, sample=speak)
    assert found and all(env.closed == 1 for env in dice.Counter.made)
    check_group(Group(found[0].task, tuple(found)))


@pytest.mark.parametrize("seed", range(6))
def test_usage_equals_sampled_tokens(dice, seed):
    drawn = []

    def speak(name, request):
        drawn.append(dice.roll(name, request))
        return drawn[-1]

    knobs = {"outcome": lambda group: Scores(np.array([float(len(one.turns) % 2) for one in group])), "simulations": 6}
    found = run_plan(mcts(**knobs)(dice.attempt(seed, env=dice.Counter)), sample=speak)
    group = Group(found[0].task, tuple(found))
    assert total_usage(group).tokens == sum(len(one.ids) for one in drawn)
    check_group(group)
    for one in found:
        assert one.env["sums"] == [0, *(int(reply.content.split(".")[0]) for reply in one.replies)]
    again = run_plan(mcts(**knobs)(dice.attempt(seed, env=dice.Counter)), sample=dice.roll)
    assert [one.notes for one in again] == [one.notes for one in found]


@pytest.mark.parametrize("wrong", [{"simulations": 0}, {"children": 0}, {"negatives": 9}, {"negatives": -1}])
def test_arguments_out_of_range_are_errors(wrong):
    with pytest.raises(InputError, match="mcts has"):
        mcts(outcome=right, **wrong)


def test_an_environment_with_a_limit_is_an_error():
    env = tool_chat([Pad])
    env.most = 2
    with pytest.raises(InputError, match="rounds"):
        play(["a"], env=env)
