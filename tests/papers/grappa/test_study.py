import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.core.errors import InputError
from handaxe.core.import_string import attribute
from handaxe.papers.grappa import grappa

pytest.importorskip("minigrid")
REFUSING = """
from handaxe.asking.ask import AskAnswer

class Refusing:
    terse = True
    asked = 0
    def fingerprint(self): return "refusing"
    def answer(self, asks):
        self.asked += len(asks)
        return [AskAnswer(by="refusing", failure="refused")] * len(asks)

refusing = Refusing()
"""
SMALL = {"scenes": 2, "episodes": 2, "size": 5, "limit": 30}


@pytest.mark.slow
def test_the_study_compares_arms_on_equal_episodes():
    found = grappa(**SMALL)(7)
    assert found["zero/same"] == 1 and 0 < found["moved"] < 1 and found["failed"] == 0
    assert found["gain/base"] == pytest.approx(found["shifted/guided"] - found["shifted/base"])
    assert found["loss/in"] == pytest.approx(found["in/base"] - found["in/guided"])
    assert grappa(**SMALL)(7) == found


@pytest.mark.slow
def test_weight_0_gives_equal_figures_for_every_arm_with_it():
    found = grappa(**SMALL, alpha=0.0)(7)
    assert found["shifted/base"] == found["shifted/first"] == found["shifted/kept"] and found["moved"] == 0


@pytest.mark.slow
def test_a_server_advises():
    with ChatServer(reply("```python\ndef guidance(state):\n    return 0\n```")) as server:
        found = grappa(**{**SMALL, "limit": 10}, advisor=f"{server.url}#m")(7)
        assert server.bodies
    assert found["failed"] == 0 and found["shifted/guided"] <= 1


@pytest.mark.slow
def test_kept_guidance_asks_no_advisor(tmp_path, monkeypatch):
    """Every request is refused, so that no scene has guidance to keep: 4 requests in each episode of 8 arms."""
    (tmp_path / "refusing_advisor.py").write_text(REFUSING)
    monkeypatch.syspath_prepend(tmp_path)
    found = grappa(**SMALL, advisor="refusing_advisor:refusing")(7)
    asked = attribute("refusing_advisor:refusing", noun="advisor", example="").asked
    assert asked == 4 * 8 * SMALL["scenes"] * SMALL["episodes"]
    assert found["unanswered"] == 4 and found["shifted/kept"] == found["shifted/base"]


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="give 2 scenes, an episode and an action or more"):
        grappa(scenes=1)
