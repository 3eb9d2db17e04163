"""Warnings about tools: one that fails in every call, and replies beyond the context."""

from dataclasses import replace

import pytest

from handaxe.core.records import Ending, ToolReply
from handaxe.testing.make_records import make_trajectory
from handaxe.training.loop.tool_watch import tool_warnings


def rollout(*replies, ending=None):
    made = make_trajectory(texts=[""], calls=[[one.name for one in replies]], replies=[list(replies)])
    return made if ending is None else replace(made, ending=ending)


def reply(name, status, text=""):
    return ToolReply("0-0", name, text, status)


def warnings(*rollouts):
    return [text for _, text in tool_warnings(rollouts, 2)]


@pytest.mark.parametrize("status", ["infra_error", "timeout", "failed", "retry"])
def test_a_tool_that_fails_in_every_call_is_named_with_the_first_reply(status):
    broken, fine = reply("lookup", status, "KeyError: 'x'"), reply("total", "ok")
    (text,) = warnings(*[rollout(broken, fine)] * 4)
    assert text.startswith(f"tool 'lookup' failed in all 4 calls of step 3; the first: {status}: KeyError: 'x'.")


@pytest.mark.parametrize(
    "rollouts",
    [
        [rollout(reply("lookup", "failed"))] * 3,
        [*[rollout(reply("lookup", "failed"))] * 4, rollout(reply("lookup", "ok"))],
        [rollout(reply("lookup", "invalid"))] * 9,
        [],
    ],
)
def test_few_calls_a_success_and_faults_of_the_policy_give_no_warning(rollouts):
    assert warnings(*rollouts) == []


def test_a_tool_whose_replies_overflow_the_context_is_named():
    cut = Ending("truncated", "length")
    long = rollout(reply("lookup", "ok", "short"), reply("search", "ok", "x" * 5000), ending=cut)
    (text,) = warnings(long, long, rollout(reply("search", "ok")))
    assert text.startswith("tool 'search': in 2 of 3 rollouts of step 3 the reply did not fit into the context, up to")
    assert "5,000 characters" in text


def test_a_turn_cut_by_its_token_limit_names_no_tool():
    assert warnings(rollout(ending=Ending("truncated", "length"))) == []
    assert warnings(rollout(reply("search", "ok"), ending=Ending("truncated", "turns"))) == []
