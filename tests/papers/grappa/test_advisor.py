import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InputError
from handaxe.methods.study_source import study_desk
from handaxe.papers.grappa.advisor import (
    GuidanceBrief,
    asked_advisor,
    describe_state,
    read_guidance,
    rule_advisor,
)
from handaxe.papers.grappa.guidance_program import EXAMPLE_STATE, write_plan

CODE = "def guidance(state):\n    return 0\n"
OPEN = {"agent": [1, 1], "facing": 0, "free": 1, "holds": "", "objects": {}}
AWAY = """
from handaxe.asking.ask import AskAnswer

class Away:
    terse = True
    def fingerprint(self): return "away"
    def answer(self, asks): return [AskAnswer(by="away", failure="unavailable")] * len(asks)

away = Away()
"""


def door(state):
    return {**OPEN, "objects": {"door": {"at": [2, 1], "state": state}}}


def test_a_state_is_described():
    text = "The agent is at [1, 1] and holds nothing. Known: door at [3, 1], locked; key at [1, 2]."
    assert describe_state(GuidanceBrief("m", "", EXAMPLE_STATE)) == text
    assert describe_state(GuidanceBrief("m", "", OPEN, "TypeError: x")).endswith(
        "Known: nothing. The function failed: TypeError: x"
    )


def test_the_rule_plans_what_blocks_the_way():
    assert rule_advisor(GuidanceBrief("m", "", EXAMPLE_STATE)) == write_plan(["goal"])
    first = write_plan(["goal"])
    assert rule_advisor(GuidanceBrief("m", first, door("locked"))) == write_plan(["key", "door", "goal"])
    assert rule_advisor(GuidanceBrief("m", first, door("closed"))) == write_plan(["door", "goal"])
    assert rule_advisor(GuidanceBrief("m", first, door("open"))) == first
    full = write_plan(["key", "door", "goal"])
    assert rule_advisor(GuidanceBrief("m", full, OPEN)) == full
    assert rule_advisor(GuidanceBrief("m", "def guidance(state): return 0", OPEN)) == first


@pytest.mark.parametrize("text", ["no code", "```python\ndef guide(state): return 0\n```", "```python\nx = (\n```"])
def test_code_with_an_error_is_unreadable(text):
    with pytest.raises(Unreadable, match="the program fails"):
        read_guidance(AskAnswer(text=text))


def test_the_first_block_of_code_is_read():
    assert read_guidance(AskAnswer(text=f"Here:\n```python\n{CODE}```\n```python\nx\n```")) == CODE


def test_a_model_reads_report_and_program_and_its_code_is_run_once_before_use():
    with ChatServer(reply(f"```python\n{CODE}```"), reply("none"), reply("none")) as server:
        advise = asked_advisor(study_desk(f"{server.url}#m", option="--advisor"))
        assert advise(GuidanceBrief("Go to the goal.", write_plan(["goal"]), EXAMPLE_STATE)) == CODE
        text = str(server.bodies[0]["messages"])
        assert "Go to the goal." in text and "holds nothing" in text and "plan = " in text
        assert advise(GuidanceBrief("Go.", "", OPEN)) == "" and len(server.bodies) == 3


def test_a_model_that_is_away_ends_the_study(tmp_path, monkeypatch):
    (tmp_path / "away_advisor.py").write_text(AWAY)
    monkeypatch.syspath_prepend(tmp_path)
    advise = asked_advisor(study_desk("away_advisor:away", option="--advisor"))
    with pytest.raises(InputError, match=r"the advisor does not answer \(unavailable\)"):
        advise(GuidanceBrief("m", "", OPEN))
