import pytest

from handaxe.core.records import ToolCall, ToolReply
from handaxe.testing.make_records import make_trajectory
from handaxe.worlds.hops.exploration import shown_facts
from handaxe.worlds.hops.knowledge_base import build_facts
from handaxe.worlds.hops.world import hops

pytest.importorskip("bm25s")


def explored(texts, status="ok"):
    calls = [[ToolCall("search", {"query": "x"}, f"c{k}")] for k in range(len(texts))]
    replies = [[ToolReply(f"c{k}", "search", text, status)] for k, text in enumerate(texts)]
    return make_trajectory(calls=[*calls, []], replies=[*replies, []])


def test_proposals_cover_all_chains_of_the_shown_facts():
    known = build_facts(seed=0, size=200, distractors=1, digits=True)
    name = known.halves[0][0]
    boss = known.facts[name, "boss"]
    ally = known.facts[boss, "ally"]
    seen = explored([f"[{name} boss] {name} boss {boss}\n[x y] x y z", f"[{boss} ally] {boss} ally {ally}"])
    assert shown_facts(seen, brief=True)[name, "boss"] == boss
    made = hops().exploration.propose(seen)
    wanted = [(f"{name} boss?", boss), (f"{name} boss ally?", ally), (f"{boss} ally?", ally)]
    assert [(one.messages[0].content, one.answer) for one in made] == [one for one in wanted if one[1] != name]
    assert made[1].metadata["gold_calls"][1]["arguments"] == {"query": f"{boss} ally"}
    assert [one.metadata["hops"] for one in hops(lengths=(2,)).exploration.propose(seen)] == [2] * (ally != name)
    assert hops().exploration.propose(explored([f"[{name} boss] {name} boss {boss}"], status="retry")) == []


def test_sentences_are_parsed():
    known = build_facts(seed=0, size=200, distractors=1)
    name = known.halves[0][0]
    text = f"[{name} boss] The boss of {name} is {known.facts[name, 'boss']}."
    (made,) = hops(brief=False).exploration.propose(explored([text]))
    assert made.messages[0].content == f"Who is the boss of {name}?" and made.answer == known.facts[name, "boss"]


def test_proposals_name_training_people_only():
    known = build_facts(seed=0, size=200, distractors=1, digits=True)
    lines = [f"[{name} {relation}] {name} {relation} {value}" for (name, relation), value in known.facts.items()]
    made = hops(lengths=(1,)).exploration.propose(explored(["\n".join(lines)]))
    held_out = set(known.halves[1]) | set(known.namesakes)
    assert len(made) == 4 * len(known.halves[0])
    assert not [one for one in made if {one.answer, one.messages[0].content.split()[0]} & held_out]
    openings = hops().exploration.openings(50, 1)
    assert {one.messages[0].content.removesuffix("?") for one in openings} <= set(known.halves[0])
    assert openings == hops().exploration.openings(50, 1) != hops().exploration.openings(50, 2)
