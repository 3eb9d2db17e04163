import json

import pytest

from handaxe.core.records import ToolReply
from handaxe.papers.mem_tool.play_modes import Habits, play_conversation
from handaxe.worlds.toolbox.catalogue import ToolEntry
from handaxe.worlds.toolbox.held_tools import ToolStore
from handaxe.worlds.toolbox.labelled_requests import LabelledRequest

pytest.importorskip("bfcl_eval")

from handaxe.worlds.toolbox.questions import make_step  # noqa: E402

NAMES = [f"{letter}{number}" for letter in "pqrst" for number in range(3)]
STRONG, WEAK = Habits(removes=True, parts=True), Habits(removes=False, parts=False)


def entry(name):
    parameters = {"type": "dict", "properties": {name: {"type": "integer"}}, "required": [name]}
    document = {"name": name, "description": name, "parameters": parameters}
    return ToolEntry(name, name, document, "", "", json.dumps(document))


ENTRIES = {name: entry(name) for name in NAMES}
STORE = ToolStore(
    lambda query, count: [name for name in NAMES if name[0] in query.split()][:count],
    lambda name: ENTRIES[name].shown,
    lambda name, arguments: ToolReply("0", name, "0", "ok"),
    ENTRIES.get,
)


def request(text):
    steps = [make_step(f"{one}0", f"{one}0", "", {f"{one}0": [1]}, {f"{one}0": 1}, text) for one in text.split()]
    return LabelledRequest(text, text, tuple(steps))


def play(mode, habits, texts, limit=128):
    requests = [request(text) for text in texts]
    return play_conversation(
        mode,
        requests,
        store=STORE,
        prune=lambda text, held: [name for name in held if name[0] not in text.split()],
        habits=habits,
        texts={one.id: one.text.split() for one in requests},
        scores=lambda texts, tools: [0.0 for _ in tools],
        results=3,
        limit=limit,
    )


def test_strong_agent_removes_and_weak_agent_keeps():
    strong, weak = (play("autonomous", habits, ["p", "q", "q r"]) for habits in (STRONG, WEAK))
    assert [(one.added, one.removed, one.held) for one in strong] == [(3, 0, 3), (3, 3, 3), (3, 0, 6)]
    assert [(one.added, one.removed, one.held) for one in weak] == [(3, 0, 3), (3, 0, 6), (0, 0, 6)]
    assert [one.complete for one in strong] == [1, 1, 1] and [one.complete for one in weak] == [1, 1, 0]


@pytest.mark.parametrize("habits", [STRONG, WEAK])
@pytest.mark.parametrize("mode", ["workflow", "hybrid"])
def test_pruning_does_not_depend_on_the_agent(mode, habits):
    played = play(mode, habits, ["p", "q", "r"])
    assert [(one.added, one.removed, one.held) for one in played] == [(3, 0, 3), (3, 3, 3), (3, 3, 3)]
    assert all(one.complete == 1 and one.calls == one.useful == 1 for one in played)


def test_workflow_searches_once_with_the_request():
    (played,) = play("workflow", STRONG, ["p q"])
    assert played.held == 3 and played.complete == 0 and played.useful == 1
    (searched,) = play("hybrid", STRONG, ["p q"])
    assert searched.held == 6 and searched.complete == 1


@pytest.mark.parametrize("mode", ["autonomous", "workflow", "hybrid"])
def test_limit_is_never_exceeded_and_a_refused_search_is_repeated(mode):
    for habits in (STRONG, WEAK):
        played = play(mode, habits, list("pqrst"), limit=4)
        assert max(one.held for one in played) <= 4 and all(one.complete == 1 for one in played)
