import pytest

from handaxe.core.errors import InputError
from handaxe.core.records import Group, ToolCall
from handaxe.models.chat_formats.compact import Compact
from handaxe.papers.fathom.call_kinds import rule_kinds
from handaxe.papers.fathom.paged_hops import page_claim, paged_hops
from handaxe.testing import check_world
from handaxe.worlds.parts.demonstrate import demonstrate

pytest.importorskip("bm25s")


def played(count=4, **options):
    world = paged_hops(lengths=(2,), **options)
    tasks = world.tasks("train", count, 0)
    made = [demonstrate(world.env(world.tools), one, world.expert, format=Compact(), max_turns=16) for one in tasks]
    assert all(world.correct(Group(one.task, (one,))).outcome[0] == 1 for one in made)
    return world, made


def test_paged_hops_keep_the_world_contract():
    check_world(paged_hops(), count=8)


@pytest.mark.parametrize(
    "name, kind, calls",
    [("rewords", "redundant", 5), ("reopens", "redundant", 5), ("verifies", "verification", 5), ("", "exploration", 4)],
)
def test_each_share_adds_calls_of_one_kind(name, kind, calls):
    shares = {"rewords": 0.0, "reopens": 0.0, "verifies": 0.0} | ({name: 1.0} if name else {})
    world, made = played(**shares)
    for one in made:
        labels = rule_kinds(claim=page_claim)(one)
        assert len(labels) == calls and labels.count("unique") == 2
        assert labels.count(kind) == (1 if name else 2) and labels.count("exploration") == 2
    share = world.gauges["redundant_calls"].top(made[0], 1.0) / world.gauges["redundant_calls"].bottom(made[0], 1.0)
    assert share == (0.2 if kind == "redundant" else 0)
    assert world.gauges["verifications"].top(made[0], 1.0) == (kind == "verification")


def test_a_search_lists_pages_without_their_text():
    _, made = played(count=1, rewords=0.0, reopens=0.0, verifies=0.0)
    first = made[0].task.metadata["gold_documents"][0]
    assert made[0].replies[0].content == f"[{first}]\n[{first} b]"
    assert made[0].replies[1].content.startswith(f"[{first}] {first} ")


def test_the_claim_of_a_page_is_its_fact():
    assert page_claim(ToolCall("open", {"id": "[4071 boss b]"})) == page_claim(ToolCall("open", {"id": "4071 boss"}))
    assert page_claim(ToolCall("search", {"query": "4071 boss"})) is None


def test_shares_out_of_range_are_refused():
    with pytest.raises(InputError, match="shares from 0 to 1"):
        paged_hops(rewords=1.5)
