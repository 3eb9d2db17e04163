"""Corrupted rollouts: each kind by hand, the oracle, lengths, and a scripted server that rewrites."""

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.desk import AskDesk
from handaxe.asking.policy_answerer import PolicyAnswerer
from handaxe.core.errors import InputError
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.models.chat_formats.transcript import Transcript
from handaxe.rewards.outcome import outcome
from handaxe.synthesis.corruptions import CORRUPTIONS
from handaxe.synthesis.draft_groups import group_rollouts
from handaxe.synthesis.step import SynthesisContext
from handaxe.synthesis.steps.corrupt import corrupt
from handaxe.synthesis.task_drafts import task_draft
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.fact_chains import fact_chains

CHAINS = fact_chains()
ENV = CHAINS.env(CHAINS.tools)
DRAFTS = [task_draft(one) for one in CHAINS.tasks("train", 60, 0)]
HERE = SynthesisContext(seed=0, workers=2)


def texts(outcome):
    return [one.text for one in group_rollouts(outcome.kept[0])]


def differing_lines(outcome):
    right, wrong = (one.splitlines() for one in texts(outcome))
    return len(right) == len(wrong), [k for k, pair in enumerate(zip(right, wrong)) if pair[0] != pair[1]]


def test_every_rollout_is_incorrect_and_of_similar_length():
    found = corrupt(CHAINS, ENV).run(DRAFTS, HERE)
    assert {one.reason for one in found} <= {"", "no change is incorrect", "another length"}
    kinds = Counter(one.kept[0].notes["corrupted"] for one in found if one.kept)
    assert sum(kinds.values()) >= 55 and set(kinds) >= {"digit", "argument", "order", "ending"}
    for draft, one in zip(DRAFTS, found, strict=True):
        if one.kept:
            right, wrong = group_rollouts(one.kept[0])
            answer = wrong.text.splitlines()[-1].removeprefix("assistant: ")
            assert right.text.endswith(f"assistant: {draft.payload['answer']}") and answer != draft.payload["answer"]
            assert abs(len(wrong.text) - len(right.text)) <= 0.2 * len(right.text)
            assert (right.label, right.by, wrong.label) == (1.0, "expert", 0.0) and wrong.by in CORRUPTIONS


def test_a_digit_changes_the_last_line_alone():
    for one in corrupt(CHAINS, ENV, kinds=["digit"]).run(DRAFTS, HERE):
        same, lines = differing_lines(one)
        assert same and lines == [len(texts(one)[0].splitlines()) - 1]
        right, wrong = (text.splitlines()[-1] for text in texts(one))
        assert sum(a != b for a, b in zip(right, wrong, strict=True)) == 1


def test_a_tool_replies_to_a_changed_argument_and_the_answer_copies_the_reply():
    found = [one for one in corrupt(CHAINS, ENV, kinds=["argument"]).run(DRAFTS, HERE) if one.kept]
    assert len(found) >= 20
    for one in found:
        *_, call, result, answer = texts(one)[1].splitlines()
        expression = json.loads(re.search(r"\((\{.*\})\)", call)[1])["expression"]
        assert result == f"tool: {eval(expression)}" and answer == f"assistant: {eval(expression)}"


def test_an_order_has_the_same_calls():
    found = [one for one in corrupt(CHAINS, ENV, kinds=["order"]).run(DRAFTS, HERE) if one.kept]
    assert len(found) >= 20
    for one in found:
        right, wrong = (re.findall(r"^assistant: (\w+\(.*)", text, re.MULTILINE) for text in texts(one))
        assert sorted(right) == sorted(wrong) and right != wrong


def test_another_tool_is_called_and_its_failure_is_too_long():
    reasons = {one.reason for one in corrupt(CHAINS, ENV, kinds=["tool"]).run(DRAFTS, HERE)}
    assert "another length" in reasons
    wide = [one for one in corrupt(CHAINS, ENV, kinds=["tool"], length=5.0).run(DRAFTS, HERE) if one.kept]
    for one in wide:
        right, wrong = (re.findall(r"^assistant: (\w+)\(", text, re.MULTILINE) for text in texts(one))
        assert right != wrong
    assert wide


def test_an_ending_is_another_word_of_the_conversation():
    for one in corrupt(CHAINS, ENV, kinds=["ending"]).run(DRAFTS, HERE):
        if one.kept:
            answer = texts(one)[1].splitlines()[-1].removeprefix("assistant: ")
            seen = one.kept[0].payload["messages"][-1]["content"] + texts(one)[0]
            assert re.search(rf"\b{answer}\b", seen) and answer != one.kept[0].payload["answer"]


def test_a_rollout_depends_on_its_draft_and_seed_alone():
    step = corrupt(CHAINS, ENV)
    together = step.run(DRAFTS[:8], HERE)
    assert [step.run([one], HERE)[0] for one in DRAFTS[:8]] == together
    assert step.run(DRAFTS[:8], SynthesisContext(seed=1)) != together


def test_an_oracle_that_accepts_everything_drops_everything_and_one_that_refuses_drops_the_expert():
    lenient = replace(CHAINS, correct=outcome(lambda one: 1.0))
    assert {one.reason for one in corrupt(lenient, ENV).run(DRAFTS[:6], HERE)} == {"no change is incorrect"}
    strict = replace(CHAINS, correct=outcome(lambda one: 0.0))
    assert {one.reason for one in corrupt(strict, ENV).run(DRAFTS[:6], HERE)} == {"the expert fails"}


def test_a_served_model_rewrites_and_the_oracle_decides():
    """The server adds one to even answers, repeats multiples of three, and refuses the others."""
    world = arithmetic()
    drafts = [task_draft(one) for one in world.tasks("train", 30, 0)]

    def answer(body):
        last = json.loads(re.search(r"^Its last turn: (.*)$", body["messages"][-1]["content"], re.MULTILINE)[1])
        if int(last) % 2 == 0:
            return reply(json.dumps({"text": str(int(last) + 1)}))
        return reply(json.dumps({"text": last}) if int(last) % 3 == 0 else "I refuse.")

    with ChatServer(answer) as server:
        engine = OpenAICompatible(server.url, model="m", format=Transcript(), attempts=1, timeout=5.0)
        desk = AskDesk(PolicyAnswerer(engine, Transcript(), name="served"))
        step = corrupt(world, world.env(world.tools), desk=desk)
        found = step.run(drafts, HERE)
        engine.close()
    assert step.settings["prompt"].startswith("corrupt@1 ")
    expected = []
    for draft, one in zip(drafts, found, strict=True):
        value = int(draft.payload["answer"])
        expected.append(
            "" if value % 2 == 0 else "no change is incorrect" if value % 3 == 0 else "no answer: unreadable"
        )
        assert one.asked[0]["role"] == "corruptor"
        if one.kept:
            assert texts(one)[1].endswith(f"assistant: {value + 1}") and one.kept[0].notes == {"corrupted": "model"}
    assert [one.reason for one in found] == expected and len(set(expected)) == 3


def test_arguments_are_checked():
    for wrong in ({"kinds": ["letter"]}, {"kinds": []}, {"tries": 0}, {"length": -0.1}):
        with pytest.raises(InputError, match="corruptions take kinds out of digit"):
            corrupt(CHAINS, ENV, **wrong)
    with pytest.raises(InputError, match="expert"):
        corrupt(replace(CHAINS, expert=None), ENV)
