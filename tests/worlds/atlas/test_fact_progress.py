import pytest

from handaxe.core.errors import Retry
from handaxe.core.records import Message, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.tools.decorator import tool
from handaxe.worlds.atlas.fact_progress import fact_check, fact_criteria, missing_facts, shown_pages
from handaxe.worlds.parts.demonstrate import demonstrate

PAGES = {"752 near": "752: 246 578\n[208 near] 208: 276", "246 money": "EUR", "578 money": "NOK", "208 money": "DKK"}
PROOFS = [
    [[["752 near", "578"], ["578 near", "752"]], [["578 money", "NOK"]]],
    [[["752 near", "246"]], [["246 people", "5"]], [["246 dial", "358"]]],
]
TASK = Task("t", (Message("user", "752 near?"),), ["578", "246"], None, {"proofs": PROOFS})


@tool
def look(page: str) -> str:
    """Read."""
    if page not in PAGES:
        raise Retry("no such page")
    return f"[{page}] {PAGES[page]}"


def played(*words):
    """A rollout that reads known and unknown pages, and states its last word."""

    def speaker(task, facts):
        word = words[facts["turn"]]
        return (
            Message("assistant", "", (ToolCall("look", {"page": word}),)) if " " in word else Message("assistant", word)
        )

    return demonstrate(tool_chat([look]), TASK, speaker, format=Compact(), max_turns=len(words))


def test_criteria_are_the_numbers_of_facts_and_the_answer():
    assert [one.name for one in fact_criteria(TASK)] == ["facts 1", "facts 2", "facts 3", "answer"]


def test_facts_are_met_from_the_turn_that_shows_them():
    """A derivation of two facts starts with one fact less to find than one of three."""
    one = played("208 money", "752 near", "246 money", "578 money", "none")
    assert fact_check(one, fact_criteria(TASK)).astype(int).tolist() == [
        [1] * 5,
        [0, 1, 1, 1, 1],
        [0, 0, 0, 1, 1],
        [0] * 5,
    ]
    assert missing_facts(one, 0.0) == 0


def test_facts_of_different_derivations_do_not_add_up():
    assert missing_facts(played("208 money", "none"), 0.0) == 2
    assert missing_facts(played("578 money", "246 money", "none"), 0.0) == 1


@pytest.mark.parametrize("answer, met", [("578", True), ("246.", True), ("208", False)])
def test_every_correct_answer_meets_the_last_criterion(answer, met):
    assert fact_check(played("752 near", answer), fact_criteria(TASK))[-1].tolist() == [False, met]


def test_pages_are_parsed_from_results_of_several_lines_without_failed_calls():
    one = played("752 near", "999 money", "208 money", "none")
    assert one.replies[1].status != "ok"
    assert shown_pages(one.replies) == [
        ("752 near", " 752: 246 578\n"),
        ("208 near", " 208: 276"),
        ("208 money", " DKK"),
    ]
