import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import Ask
from handaxe.asking.prompt import find_prompt
from handaxe.core.errors import InputError
from handaxe.papers.agent_evolver.text_role import TextRole, bind_role
from handaxe.papers.agent_evolver.tip_writer import read_tip

FIELDS = {"outcome": "correct", "task": "2*7=?", "rollout": "assistant: 14"}
AWAY = """
from handaxe.asking.ask import AskAnswer

class Away:
    terse = True
    def fingerprint(self): return "away"
    def answer(self, asks): return [AskAnswer(by="away", failure="unavailable")] * len(asks)

away = Away()
"""


def ask(task="2*7=?"):
    return Ask(find_prompt("agent_evolver/tip"), {**FIELDS, "task": task}, role="writer")


@pytest.mark.parametrize("source", ["trained", "head:tiny"])
def test_a_taught_source_is_rejected(source):
    with pytest.raises(InputError, match=f"--writer {source}: texts are written"):
        TextRole(source, name="writer")


@pytest.mark.parametrize("source", ["", "nobody", "http://127.0.0.1:1/v1"])
def test_an_unknown_source_is_rejected_before_a_run(source):
    with pytest.raises(InputError):
        TextRole(source, name="writer")


def test_a_question_before_the_binding_is_rejected():
    role = TextRole("self", name="writer")
    with pytest.raises(InputError, match="--writer self has no model yet"):
        role.ask([ask()], read_tip)
    assert role.take_calls() == [] and not role.is_rule


def test_the_rule_needs_no_model(world):
    role = TextRole("rule", name="writer")
    assert bind_role(role)(world.site()) == [{"step": 0.0}] and role.is_rule and role.take_calls() == []
    with pytest.raises(InputError, match="has no model yet"):
        role.ask([ask()], read_tip)


def test_the_source_self_is_the_policy_of_the_run(world):
    role, site = TextRole("self", name="writer"), world.site()
    role.bind(site)
    assert len(role.ask([ask()], lambda answer: answer.by)) == 1
    (call,) = role.take_calls()
    assert call.answer.by.startswith("self 0 ") and call.role == "writer"


def test_an_unreadable_answer_is_none_and_a_resumed_run_asks_no_model_again(world, tmp_path):
    with ChatServer(reply("Call it once."), reply("..."), reply("!")) as server:
        source = f"{server.url}#m"
        for resumed in (False, True):
            role = TextRole(source, name="writer")
            role.bind(world.site(out=tmp_path / "stage"))
            assert role.ask([ask()], read_tip) == ["Call it once."]
            if not resumed:  # after the first: two questions of one call arrive in any order
                assert role.ask([ask("3*3=?")], read_tip) == [None]
            assert len(server.bodies) == 3  # one answer, and two tries of the unreadable one
    assert (tmp_path / "stage" / "writer.sqlite").is_file()


def test_a_model_that_is_away_ends_the_run(world, tmp_path, monkeypatch):
    (tmp_path / "away_from.py").write_text(AWAY)
    monkeypatch.syspath_prepend(tmp_path)
    role = TextRole("away_from:away", name="writer")
    role.bind(world.site())
    with pytest.raises(InputError, match="2 of 2 questions to the writer have no answer: the server is away"):
        role.ask([ask(), ask("3*3=?")], read_tip)
