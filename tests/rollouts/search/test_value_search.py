import json
from math import nan

import numpy as np
import pytest
from helpers.written_pad import Pad

from handaxe.core.errors import InfrastructureError, InputError
from handaxe.core.records import STOPPED, Group, Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.core.validation import check_group
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.ops.turn_tree import total_usage
from handaxe.papers.rest_mcts.value_uct import value_uct
from handaxe.rollouts.driver.run_plan import run_plan
from handaxe.rollouts.search.mcts import SEARCH
from handaxe.rollouts.search.value_search import CHOSEN, ROOT, value_search
from handaxe.rollouts.search.value_tree import Roll
from handaxe.rollouts.search.visit_mean import visit_mean
from handaxe.testing.scripted_engine import ScriptedEngine


class Values:
    """A value model by the text of a turn: a written letter or an answer."""

    def __init__(self, **values):
        self.values = values

    def score_steps(self, group):
        def of(turn):
            found = self.values[turn.parsed.calls[0].arguments["text"] if turn.parsed.calls else turn.parsed.text]
            if isinstance(found, Exception):
                raise found
            return found

        return tuple(np.array([of(turn) for turn in one.turns]) for one in group)


def play(words, values, *, sampled=None, **knobs):
    """A search whose n-th sampled turn says words[n]: one letter is written, a longer word is an answer."""
    sampled = [] if sampled is None else sampled
    said = iter(words)

    def script(text, turn):
        word = next(said)
        sampled.append((text.rsplit("<TOOL>", 1)[-1].split("<END>")[0] if "<TOOL>" in text else "", word))
        return word if len(word) > 1 else ToolCall("write", {"text": word})

    engine = ScriptedEngine(Compact(), script, tools=[Pad().write.schema])
    task = Task("t", (Message("user", "go"),))
    sampling = Sampling(max_tokens=40)
    attempt = Attempt(task, tool_chat([Pad]), Compact(), sampling, "t/0", 0, 3, 1000, aux_policies={})
    chosen = {"select": value_uct(), "back_up": visit_mean(), "children": 2, "max_turns": 6} | knobs
    plan = value_search(judge=Values(**values), **chosen)(attempt)
    found = run_plan(plan, sample=lambda name, request: engine.sample([request])[0])
    check_group(Group(task, tuple(found)))
    json.dumps([one.notes for one in found])
    return found


def letters(one):
    return "".join(call.arguments["text"] for call in one.calls)


# Three iterations by hand, with c = 0.7, one rolled turn of weight 0.5, and no leaf at the gate:
#   1  question: a .2, b .6;  b rolls c .8: (.6 + .8) / 2 = .7;  question .7, 1 visit
#   2  a .2 + 1 > b .7 + .7 sqrt(2 ln 1): a: d .1, e .5;  e rolls "yes" .9: .7;  a .7, question .7, 2 visits
#   3  a and b equal: a;  d .1 + 1 > e .7: d: f .95, g 0;  f rolls h .95: .95;  d .95, a (.95 + .7) / 2 = .825,
#      question (2 * .825 + .7) / 3 = 2.35 / 3
#   best leaf f .95 of b .7, e .7, f, g; it goes on to "no"
WORDS = ["a", "b", "c", "d", "e", "yes", "f", "g", "h", "no"]
VALUES = {"a": 0.2, "b": 0.6, "c": 0.8, "d": 0.1, "e": 0.5, "yes": 0.9, "f": 0.95, "g": 0.0, "h": 0.95, "no": 0.0}


def test_value_search_matches_a_tree_by_hand():
    sampled = []
    found = play(WORDS, VALUES, sampled=sampled, roll=Roll(1, 0.5), gate=2.0, iterations=3)
    assert [before for before, _ in sampled] == ["", "", "b", "a", "a", "a,e", "a,d", "a,d", "a,d,f", "a,d,f,h"]
    first = found[0]
    assert (letters(first), first.final_text) == ("adfh", "no")
    assert [one.notes[CHOSEN] for one in found] == [True, *[False] * (len(found) - 1)]
    assert first.notes[SEARCH] == [
        {"visits": 2, "value": pytest.approx(0.825)},
        {"visits": 1, "value": pytest.approx(0.95)},
        {"visits": 1, "value": pytest.approx(0.95)},
    ]
    assert first.notes[ROOT] == {"visits": 3, "value": pytest.approx(2.35 / 3)}
    ended = {letters(one): one.ending == STOPPED for one in found}
    assert ended == {"adfh": False, "ae": False, "bc": True, "adg": True}


def test_tokens_of_a_tree_count_once_and_limit_iterations():
    found = play(WORDS, VALUES, roll=Roll(1, 0.5), gate=2.0, iterations=3)
    group = Group(found[0].task, tuple(found))
    assert total_usage(group).tokens < sum(one.num_tokens for one in found)
    again = play(["a", "b", "yes"], VALUES, gate=2.0, iterations=9, tokens=1, first_visits=1)
    assert again[0].notes[ROOT]["visits"] == 1 and letters(again[0]) == "b"


def test_a_leaf_at_the_gate_ends_the_search_and_is_played_to_its_end():
    sampled = []
    values = {"a": 0.2, "b": 0.95, "yes": 0.1}
    found = play(["a", "b", "yes"], values, sampled=sampled, gate=0.9, iterations=9, first_visits=1)
    assert (letters(found[0]), found[0].final_text) == ("b", "yes")
    assert sampled == [("", "a"), ("", "b"), ("b", "yes")]
    assert found[0].notes[ROOT] == {"visits": 1, "value": pytest.approx(0.575)}


def test_without_a_gate_a_finished_leaf_ends_the_search():
    found = play(["a", "yes"], {"a": 0.2, "yes": 0.9}, iterations=9, first_visits=1)
    assert found[0].final_text == "yes" and found[0].notes[ROOT]["visits"] == 1


@pytest.mark.parametrize(("answer", "end"), [("best", "a"), ("path", "bd")])
def test_best_leaf_and_greedy_path_differ(answer, end):
    """With rate 0 b keeps 0.7, though its children have 0.1 and 0.2."""
    values = {"a": 0.6, "b": 0.7, "c": 0.1, "d": 0.2}
    knobs = {"back_up": visit_mean(rate=0.0), "select": lambda value, parent, own: value, "gate": 2.0}
    found = play(["a", "b", "c", "d", "yes"], values, answer=answer, iterations=2, **knobs)
    assert letters(found[0]) == end


def test_every_child_is_rolled_to_its_end_and_the_last_score_counts():
    """a: (.2 + .9) / 2 through "yes", b: (.6 + 0) / 2 through c and "no"."""
    values = VALUES | {"c": 0.9}
    knobs = {"roll": Roll(6, 0.5, every=True, last=True), "iterations": 1, "gate": 2.0, "first_visits": 1}
    found = play(["a", "b", "yes", "c", "no"], values, **knobs)
    assert found[0].notes[SEARCH] == [{"visits": 1, "value": pytest.approx(0.55)}]
    assert found[1].notes[SEARCH] == [{"visits": 1, "value": pytest.approx(0.3)}]
    assert found[0].notes[ROOT]["value"] == pytest.approx(0.425)


def test_children_without_a_score_are_left_out():
    found = play(["a", "b", "yes"], {"a": nan, "b": 0.1, "yes": 0.0}, iterations=1)
    assert letters(found[0]) == "b"
    none = play(["a", "b"], {"a": nan, "b": nan}, iterations=5)
    assert len(none) == 2 and not any(one.notes[CHOSEN] for one in none)


def test_copies_of_a_turn_are_left_out_if_turns_have_to_be_distinct():
    """The second a is no child: the question has the value of a and b, (.2 + .6) / 2."""
    for distinct, value in ((True, 0.4), (False, 1.0 / 3)):
        knobs = {"children": 3, "first_visits": 1, "iterations": 1, "distinct": distinct, "gate": 2.0}
        found = play(["a", "a", "b", "yes"], VALUES, **knobs)
        assert found[0].notes[ROOT]["value"] == pytest.approx(value) and letters(found[0]) == "b"


def test_an_unreachable_judge_ends_the_search_without_an_answer():
    found = play(["a", "b"], {"a": InfrastructureError("no answer"), "b": 0.1})
    assert {one.ending for one in found} == {STOPPED} and not any(one.notes[CHOSEN] for one in found)


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_valid_whatever_is_sampled(dice, seed):
    class Longest:
        def score_steps(self, group):
            return tuple(np.array([turn.stop - turn.start for turn in one.turns], float) / 20 for one in group)

    dice.Counter.made.clear()
    search = value_search(
        judge=Longest(), select=value_uct(), back_up=visit_mean(), roll=Roll(2), gate=0.9, iterations=4
    )
    found = run_plan(search(dice.attempt(seed)), sample=dice.roll)
    check_group(Group(found[0].task, tuple(found)))
    assert sum(one.notes[CHOSEN] for one in found) <= 1 and all(env.closed == 1 for env in dice.Counter.made)


@pytest.mark.parametrize(
    ("knobs", "message"),
    [({"children": 0}, "children=0"), ({"iterations": 0}, "iterations=0"), ({"tokens": 0}, "tokens=0"),
     ({"answer": "last"}, "'last'"), ({"first_visits": 2}, "first_visits")],
)  # fmt: skip
def test_arguments_out_of_range_are_errors(knobs, message):
    with pytest.raises(InputError, match=message):
        value_search(judge=Values(), select=value_uct(), back_up=visit_mean(), **knobs)
