import datetime
import random

import numpy as np
import pytest

from handaxe.core.records import ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.evaluation.scenes import FORMAT
from handaxe.papers.themis.tool_judge import trace
from handaxe.papers.themis.tool_pairs import DOMAINS, PAIR_TOOLS, tool_pairs, weekday
from handaxe.testing.tools import check_tool
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.parts.reference_calls import reference_calls

TRAIN, TEST = (tool_pairs(split=split, count=200, seed=0) for split in ("train", "test"))


def question(one):
    return one.task.messages[0].content


def test_the_reference_calls_find_the_right_answer():
    for one in [*TRAIN[:24], *TEST[:24]]:
        calls = reference_calls(one.task)
        played = demonstrate(tool_chat(PAIR_TOOLS), one.task, trace(calls, one.chosen), format=FORMAT)
        assert [reply.status for reply in played.replies] == ["ok"] * len(calls)
        assert played.replies[-1].content == one.chosen != one.rejected
        assert played.final_text == f"{one.chosen} {one.chosen}"


def test_the_first_pairs_do_not_depend_on_the_count():
    assert tool_pairs(split="test", count=9, seed=0) == TEST[:9]
    assert tool_pairs(split="test", count=9, seed=1) != TEST[:9]


def test_domains_take_turns():
    assert [one.task.metadata["domain"] for one in TEST[:5]] == [*DOMAINS, "calculator"]
    assert len(reference_calls(TEST[3].task)) == 2


def test_no_question_is_in_both_splits():
    assert not {question(one) for one in TRAIN} & {question(one) for one in TEST}
    people = [{question(one)[:3] for one in own if one.task.metadata["domain"] in ("lookup", "both")}
              for own in (TRAIN, TEST)]  # fmt: skip
    assert not people[0] & people[1]


def test_answers_of_a_pair_have_equal_lengths():
    assert all(len(one.chosen) == len(one.rejected) for one in [*TRAIN, *TEST])


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_wrong_answer_could_be_right_elsewhere(domain):
    """A judge that sees the number alone prefers larger numbers no more often than smaller ones."""
    own = [one for one in tool_pairs(split="train", count=4000, seed=3) if one.task.metadata["domain"] == domain]
    sides = [one.chosen > one.rejected for one in own]
    assert 0.44 < np.mean(sides) < 0.56


@pytest.mark.parametrize("days", [0, 1, 5000])
def test_weekday_agrees_with_the_calendar(days):
    date = datetime.date(2000, 1, 1) + datetime.timedelta(days)
    assert weekday.function(date.isoformat()) == date.strftime("%a")


def test_tools_keep_the_contract():
    for one, arguments in zip(PAIR_TOOLS, ({"expression": "2*3"}, {"date": "2031-05-17"}, {"fact": "813 age"})):
        check_tool(one, arguments=arguments)


def test_a_bad_date_is_refused():
    rng = random.Random(0)
    text = "".join(rng.choice("0123456789-") for _ in range(6))
    played = demonstrate(
        tool_chat([weekday]), TEST[0].task, trace([ToolCall("weekday", {"date": text})], "Mon"), format=FORMAT
    )
    assert played.replies[0].status != "ok" and "2031-05-17" in played.replies[0].content
