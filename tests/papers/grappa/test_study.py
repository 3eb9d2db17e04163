import pytest
from helpers.chat_server import ChatServer, reply

from handaxe.core.errors import InputError
from handaxe.papers.grappa import grappa

pytest.importorskip("minigrid")
SMALL = {"scenes": 2, "episodes": 2, "size": 5, "limit": 30}


def test_the_study_compares_arms_on_equal_episodes():
    found = grappa(**SMALL)(7)
    assert found["zero/same"] == 1 and 0 < found["moved"] < 1 and found["failed"] == 0
    assert found["gain/base"] == pytest.approx(found["shifted/guided"] - found["shifted/base"])
    assert found["loss/in"] == pytest.approx(found["in/base"] - found["in/guided"])
    assert grappa(**SMALL)(7) == found


def test_weight_0_gives_equal_figures_for_every_arm_with_it():
    found = grappa(**SMALL, alpha=0.0)(7)
    assert found["shifted/base"] == found["shifted/first"] == found["shifted/kept"] and found["moved"] == 0


def test_a_server_advises():
    with ChatServer(reply("```python\ndef guidance(state):\n    return 0\n```")) as server:
        found = grappa(**{**SMALL, "limit": 10}, advisor=f"{server.url}#m")(7)
        assert server.bodies
    assert found["failed"] == 0 and found["shifted/guided"] <= 1


def test_bad_input_is_one_sentence():
    with pytest.raises(InputError, match="give 2 scenes, an episode and an action or more"):
        grappa(scenes=1)
