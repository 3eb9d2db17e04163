from dataclasses import replace

import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.asking.ask import AskAnswer
from handaxe.asking.read import Unreadable
from handaxe.curricula.tip_pool import tell_calls
from handaxe.papers.agent_evolver.text_role import TextRole
from handaxe.papers.agent_evolver.tip_writer import TipWriter, read_tip
from handaxe.testing.make_records import make_group, make_rated, make_trajectory

RULE = TextRole("rule", name="writer")


def test_read_tip_matches_its_example():
    assert read_tip(AskAnswer(text=" Search the\n boss first. ")) == "Search the boss first."
    for empty in ("", " \n", "...!"):
        with pytest.raises(Unreadable):
            read_tip(AskAnswer(text=empty))


def test_the_rule_writes_the_tips_of_the_pool():
    one = make_trajectory(texts=["14"])
    for right in (True, False):
        assert TipWriter(RULE).tell(one, right) == tell_calls(one, right)


def test_a_model_reads_task_rollout_and_outcome(world):
    one = make_trajectory(texts=["It is 14."])
    with ChatServer(reply("Call the\ncalculator."), reply("?"), reply("")) as server:
        role = TextRole(f"{server.url}#m", name="writer")
        role.bind(world.site())
        writer = TipWriter(role)
        assert writer.tell(one, False) == "Call the calculator."
        assert writer.tell(one, True) == ""
        asked = str(server.bodies[0]["messages"])
        assert "was incorrect" in asked and "It is 14." in asked and one.task.messages[-1].content in asked
        assert "was correct" in str(server.bodies[1]["messages"])
    found = writer.learn([], step=0)
    assert (found["tips"], found["hinted"], found["asks"]) == (1, 0, 3)
    assert writer.learn([], step=1)["tips"] == 0


def test_figures_count_rollouts_with_a_tip():
    made = [
        replace(make_trajectory(texts=["x"]), id=str(k), notes=notes)
        for k, notes in enumerate(({"hint": ["tip 0"]}, {"hint": []}, {}, {"hint": ["tip 0", "tip 1"]}))
    ]
    rated = make_rated(group=make_group(trajectories=made), outcome=[0.0, 1.0, 0.0, 1.0])
    writer = TipWriter(RULE)
    writer.tell(make_trajectory(texts=["x"]), False)
    assert writer.learn([rated], step=0) == {"hinted": 0.5, "tips": 1.0}
    assert writer.state_dict() == {}
