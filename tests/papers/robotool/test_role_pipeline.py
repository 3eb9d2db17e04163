import math

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable
from handaxe.core.errors import InputError
from handaxe.papers.robotool import robotool
from handaxe.papers.robotool.role_pipeline import ARMS, make_roles, read_lines, run_pipeline
from handaxe.papers.robotool.tool_tasks import CATEGORIES, ToolTask, draw_task
from handaxe.papers.robotool.workbench import BenchThing

TASK = ToolTask("milk", (BenchThing("milk", 95), BenchThing("stick", 20, 50), BenchThing("hammer", 30, 40, hook=True)))
RULES = dict.fromkeys(("analyzer", "planner", "calculator", "coder"), "rule")
AWAY = """
from handaxe.asking.ask import AskAnswer

class Away:
    terse = True
    def fingerprint(self): return "away"
    def answer(self, asks): return [AskAnswer(by="away", failure="unavailable")] * len(asks)

away = Away()
"""


def run(arm="full", **sources):
    return run_pipeline(TASK, make_roles({**RULES, **sources}), arm=arm)


def test_read_lines_matches_its_example():
    assert read_lines(AskAnswer(text="1. grasp hammer\n\n- pull milk ?")) == "grasp hammer\npull milk ?"
    with pytest.raises(Unreadable):
        read_lines(AskAnswer(text=" \n"))


def test_each_arm_has_its_roles_and_texts():
    full = run()
    assert full.outcome.error == "" and list(full.texts) == ["task", "concepts", "plan", "code"]
    assert run("no_analyzer").outcome.error == "tool" and "concepts" not in run("no_analyzer").texts
    assert run("no_calculator").outcome.error == "numerical" and "?" in run("no_calculator").texts["plan"]
    assert run("coder").outcome == ("logical", "milk is out of reach") and "plan" not in run("coder").texts
    with pytest.raises(InputError, match="'none' is no arm: full"):
        run("none")


def test_servers_play_all_roles_and_read_each_other():
    code = "```python\ngrasp('hammer')\npull('milk', 55)\nrelease()\ngrasp('milk')\n```"
    texts = ["A long rigid hook is needed.", "1. grasp hammer\n2. pull milk ?", "grasp hammer\npull milk 55", code]
    with ChatServer(*map(reply, texts)) as server:
        found = run(**dict.fromkeys(RULES, f"{server.url}#m"))
        assert len(server.bodies) == 4
        asked = [str(body["messages"]) for body in server.bodies]
    assert found.outcome.error == "" and found.texts["plan"] == texts[2]
    assert all("- hammer: at 30" in text for text in asked)
    assert "long rigid hook" in asked[1] and "pull milk ?" in asked[2] and "pull milk 55" in asked[3]
    assert "{{" not in "".join(asked)


def test_a_model_without_an_answer_ends_a_run_without_an_outcome():
    with ChatServer(reply("?"), reply(" ")) as server:
        found = run(planner=f"{server.url}#m")  # the Calculator, a rule, cannot read the plan "?"
        assert (found.outcome, found.unanswered) == (None, "calculator")
        found = run(coder=f"{server.url}#m")
        assert (found.outcome, found.unanswered) == (None, "coder")


def test_code_of_a_model_that_fails_is_an_error_of_code():
    with ChatServer(reply("```python\nimport os\nos.remove('x')\n```")) as server:
        assert run(coder=f"{server.url}#m").outcome.error == "code"


def test_a_model_that_is_away_ends_the_study(tmp_path, monkeypatch):
    (tmp_path / "away_role.py").write_text(AWAY)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"the planner does not answer \(unavailable\)"):
        run(planner="away_role:away")


def test_the_study_counts_errors_by_kind():
    found = robotool(tasks=2)(3)
    for arm in ARMS:
        assert sum(found[f"{arm}/{name}"] for name in ("success", "tool", "logical", "numerical", "code")) == (
            pytest.approx(1)
        )
        assert found[f"{arm}/unanswered"] == 0
    roles = make_roles(RULES)
    slow = [run_pipeline(draw_task(one, 6 + k), roles, arm="no_analyzer").outcome for one in CATEGORIES for k in (0, 1)]
    assert found["no_analyzer/tool"] == pytest.approx(sum(one.error == "tool" for one in slow) / 12)
    assert found["full/selection"] == 1 and robotool(tasks=2)(3) == found


def test_unanswered_tasks_are_in_no_share():
    with ChatServer(reply(" ")) as server:
        found = robotool(tasks=1, coder=f"{server.url}#m")(0)
    assert found["full/unanswered"] == 1 and math.isnan(found["full/success"])
    with pytest.raises(InputError, match="give 1 task or more"):
        robotool(tasks=0)
