import json

import pytest
from helpers.count_words import count_words

pytest.importorskip("mcp")
pytest.importorskip("bm25s")
pytest.importorskip("bfcl_eval")

from handaxe.papers.scale_mcp.play_releases import (  # noqa: E402
    ReleasingStore,
    catalogue_session,
    make_store,
    play_tools,
)
from handaxe.worlds.toolbox.catalogue import ToolEntry  # noqa: E402
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest  # noqa: E402
from handaxe.worlds.toolbox.live_index import TextVectors  # noqa: E402
from handaxe.worlds.toolbox.questions import make_step  # noqa: E402

THINGS = ("circle", "square", "hotel", "flight", "taxi", "poem")
STEP = make_step("circle", "circle", "", {"circle_size": [3]}, {"circle_size": 3}, "?")
REQUEST = LabelledRequest("r", "circle", (STEP,))


def entry(thing):
    properties = {f"{thing}_size": {"type": "integer", "description": "size"}}
    document = {
        "name": thing,
        "description": f"Finds a {thing}.",
        "parameters": {"type": "dict", "properties": properties, "required": list(properties)},
    }
    shown = {**document, "parameters": {**document["parameters"], "type": "object"}}
    return ToolEntry(thing, thing, document, "", "", json.dumps(shown))


@pytest.fixture
def server():
    entries = [entry(thing) for thing in THINGS]
    with catalogue_session(entries[:5], entries[5:], needed=["circle"], share=1.0, seed=900) as found:
        yield found


@pytest.mark.slow
def test_tools_of_a_running_server_come_and_go(server):
    session, served = server
    vectors = TextVectors(count_words)
    first = make_store(session, served, vectors, keep_in_step=False)
    synced = make_store(session, served, vectors, keep_in_step=True)
    assert first.call("circle", {"circle_size": 3}).content == str(STEP["value"])
    assert first.call("circle", {"circle_size": "x"}).status == "invalid"
    pid = session.pid
    while "circle" in served.entries:
        served.change()
    assert first.retrieve("circle", 1) == ["circle"] and first.mismatches() > 0
    gone = first.call("circle", {"circle_size": 3})
    assert gone.status == "invalid" and "there is no tool" in gone.content
    (name,) = synced.retrieve("circle", 1)
    assert name.startswith("circle_r") and synced.mismatches() == 0 and session.pid == pid
    assert synced.call(name, {"circle_size": 3}).content == str(STEP["value"])
    assert json.loads(synced.show(name))["name"] == name and len(synced.changes) == 2


@pytest.mark.slow
@pytest.mark.parametrize("in_step", [True, False])
def test_a_release_within_a_rollout_is_survived_by_the_synchronized_index_alone(server, in_step):
    session, served = server
    vectors = TextVectors(count_words)
    store = ReleasingStore(make_store(session, served, vectors, keep_in_step=in_step), served)
    played = [
        play_tools(store.store(), REQUEST, vectors=vectors, queries=["circle"], texts=["circle"], results=1, searches=2)
        for _ in range(4)
    ]
    assert served.release == 5
    made = [one.made for one in played]
    assert made == [1.0] * 4 if in_step else made[-1] == 0.0
    figures = store.figures("arm")
    if in_step:
        assert figures["sync/mismatches"] == 0 and figures["sync/releases"] == 4 and figures["sync/changes"] > 0
    else:
        assert figures["arm/mismatches"] > 0
