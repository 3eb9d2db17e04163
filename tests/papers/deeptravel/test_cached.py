import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from handaxe.core.errors import Failed, InputError, Retry
from handaxe.core.images import Image
from handaxe.core.records import Message, ParsedTurn, Task, ToolCall
from handaxe.envs.tool_chat import tool_chat
from handaxe.papers.deeptravel.cached import cached
from handaxe.testing.tools import check_tool
from handaxe.tools.calculator import calculator
from handaxe.tools.decorator import tool
from handaxe.tools.definition import Billed
from handaxe.tools.noisy import noisy


def timetable():
    asked = []

    @tool
    def trains(start: str, to: str, most: int = 3) -> object:
        """List trains."""
        asked.append((start, to, most))
        if to == "nowhere":
            raise Retry("there is no such place")
        if to == "closed":
            raise Failed("the line is closed")
        if to == "broken":
            raise RuntimeError("out of order")
        if to == "odd":
            return "\ud800x"
        return Billed("7:05", cost=0.5, seconds=2.0) if to == "far" else {"7:05": [to]}

    return trains, asked


def says(made, **arguments):
    reply = made.run(ToolCall(made.schema.name, arguments, "t0c0"))
    return reply.status, reply.content


def test_cached_matches_its_example(tmp_path):
    trains, asked = timetable()
    made = cached(trains, path=tmp_path / "replies", use="training")
    first = says(made, start="A", to="B")
    assert first == ("ok", '{"7:05":["B"]}') and says(made, to=" b", start="a", most=3) == first
    assert asked == [("A", "B", 3)] and made.schema == trains.schema
    near = cached(trains, path=tmp_path / "replies", use="training", miss="nearest", least=0.8)
    assert says(near, start="A", to="C") == first and len(asked) == 1
    shut = cached(trains, path=tmp_path / "replies", use="training", miss="error")
    status, text = says(shut, start="A", to="C")
    assert status == "failed" and text.startswith("no reply is stored for trains(") and len(asked) == 1
    assert says(shut, start="A", to="B") == first


def test_a_cached_tool_has_the_name_and_schema_of_the_tool(tmp_path):
    trains, _ = timetable()
    check_tool(cached(trains, path=tmp_path / "replies", use="training"), arguments={"start": "A", "to": "B"})


def test_the_nearest_reply_is_near_enough_and_of_the_same_tool(tmp_path):
    trains, asked = timetable()
    live = cached(trains, path=tmp_path / "a", use="training")
    says(live, start="lower ferry", to="B")
    says(live, start="lower ferry", to="nowhere")
    near = cached(trains, path=tmp_path / "a", use="training", miss="nearest", least=0.8)
    assert says(near, start="lower fery", to="nowhere")[0] == "retry"
    assert says(near, start="quite somewhere else", to="over the hills")[0] == "failed"
    other = tool(name="buses")(trains.function)
    any_of_its_own = cached(other, path=tmp_path / "a", use="training", miss="nearest", least=0.0)
    assert says(any_of_its_own, start="lower ferry", to="B")[0] == "failed" and len(asked) == 2


@pytest.mark.parametrize(
    ("to", "status", "text", "times"),
    [
        ("nowhere", "retry", "there is no such place", 1),
        ("closed", "failed", "the line is closed", 1),
        ("broken", "infra_error", "RuntimeError: out of order", 2),  # a fault of the machinery is not kept
    ],
)
def test_errors_for_the_policy_are_stored_and_faults_are_not(to, status, text, times, tmp_path):
    trains, asked = timetable()
    for _ in range(2):
        made = cached(trains, path=tmp_path / "replies", use="training")  # another run begins with what is in the file
        assert says(made, start="A", to=to) == (status, text)
    assert len(asked) == times


def test_invalid_arguments_are_rejected_before_the_lookup(tmp_path):
    trains, asked = timetable()
    made = cached(trains, path=tmp_path / "replies", use="training", miss="error")
    assert says(made, start="A")[0] == "invalid" and says(made, start="A", to="B", most="x")[0] == "invalid"
    assert not asked


def test_costs_and_seconds_are_stored(tmp_path):
    made = cached(timetable()[0], path=tmp_path / "replies", use="training")
    replies = [made.run(ToolCall("trains", {"start": "A", "to": "far"})) for _ in range(2)]
    assert [(one.content, one.cost, one.seconds) for one in replies] == [("7:05", 0.5, 2.0)] * 2


def test_replies_with_unusual_text_round_trip(tmp_path):
    made = cached(timetable()[0], path=tmp_path / "replies", use="training")
    assert [says(made, start="\udc00", to="odd") for _ in range(2)] == [("ok", "?x")] * 2


def test_normalise_str_keeps_the_case(tmp_path):
    trains, asked = timetable()
    made = cached(trains, path=tmp_path / "replies", use="training", normalise=str)
    says(made, start="A", to="B"), says(made, start="a", to="B"), says(made, start="A", to="B")
    assert len(asked) == 2


def test_a_file_for_training_rejects_evaluation(tmp_path):
    trains, asked = timetable()
    training = cached(trains, path=tmp_path / "training", use="training")
    evaluation = cached(trains, path=tmp_path / "evaluation", use="evaluation", miss="error")
    assert says(training, start="A", to="B")[0] == "ok" and says(evaluation, start="A", to="B")[0] == "failed"
    with pytest.raises(InputError, match="holds replies for training, not for evaluation"):
        cached(trains, path=tmp_path / "training", use="evaluation")
    assert len(asked) == 1


def test_replies_of_async_tools_are_stored(tmp_path):
    asked = []

    @tool
    async def add(left: int, right: int) -> int:
        """Add."""
        asked.append((left, right))
        await asyncio.sleep(0)
        return left + right

    made = cached(add, path=tmp_path / "replies", use="training")
    env = tool_chat([made])(Task("a", (Message("user", "?"),)))
    env.start()
    for n in range(2):
        said = env.step(ParsedTurn("", (ToolCall("add", {"left": 2, "right": 3}, f"t{n}c0"),)), seed=n)
        assert [(one.status, one.content) for one in said.replies] == [("ok", "5")]
    env.close()
    assert asked == [(2, 3)]


def test_concurrent_calls_get_the_same_reply(tmp_path):
    made = cached(calculator, path=tmp_path / "replies", use="training")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: says(made, expression=f"{n % 4}*2"), range(40)))
    assert found == [("ok", str(n % 4 * 2)) for n in range(40)]


def test_cached_rejects_invalid_arguments(tmp_path):
    trains, _ = timetable()
    (tmp_path / "text").write_text("not a store at all, and long enough to be looked at" * 20)
    with pytest.raises(InputError, match="is no store of replies"):
        cached(trains, path=tmp_path / "text", use="training")
    with pytest.raises(InputError, match="is no store of replies"):
        cached(trains, path=tmp_path / "no" / "folder", use="training")
    with pytest.raises(InputError, match="least=2"):
        cached(trains, path=tmp_path / "a", use="training", least=2)
    with pytest.raises(InputError, match="executes calls itself"):
        cached(noisy(calculator, chance=0.5, queries=[{"expression": "1"}]), path=tmp_path / "a", use="training")


def test_images_are_not_cached(tmp_path):
    image = Image.of(np.zeros((1, 1, 3), np.uint8))

    @tool
    def draw(word: str) -> Image:
        """Draw."""
        return image

    @tool
    def look(image: Image) -> str:
        """Look."""
        return repr(image)

    with pytest.raises(InputError, match="takes images: it cannot be cached"):
        cached(look, path=tmp_path / "a.db", use="training")
    reply = cached(draw, path=tmp_path / "b.db", use="training").run(ToolCall("draw", {"word": "a"}))
    assert (
        reply.status == "infra_error" and "draw returned an image, and the file of replies holds text" in reply.content
    )
