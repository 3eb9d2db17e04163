import json

import pytest

pytest.importorskip("vega_datasets")
pytest.importorskip("sklearn")

from handaxe.core.errors import InputError
from handaxe.core.images import message_images
from handaxe.worlds.charts.drawing import NAMES, bar_box
from handaxe.worlds.charts.tables import table_columns
from handaxe.worlds.charts.tasks import MEASURED, bars_of, chart_task
from handaxe.worlds.charts.world import charts

EVERY = ("value", "sum", "larger", "count", "box", "words")


def tasks(split="train", kinds=EVERY, count=140):
    return [chart_task(split, 0, number, kinds) for number in range(count)]


def test_every_kind_is_answered_by_the_drawn_values():
    for task in tasks():
        bars = bars_of(task)
        values = dict(zip(NAMES, (int(bar.number) for bar in bars)))
        (place,) = (place for place, bar in enumerate(bars) if bar.colour == "red")
        values["red"] = values[NAMES[place]]
        text, answer = task.messages[0].content.split("?")[0], task.answer
        match task.metadata["kind"]:
            case "value":
                assert text == "red" and int(answer) == values["red"]
            case "sum":
                assert text[:4] == "red+" and text[4] != NAMES[place] and int(answer) == values["red"] + values[text[4]]
            case "larger":
                assert text[:7] == "red or " and answer == max(("red", text[7]), key=values.get)
            case "count":
                assert text == "bars" and int(answer) == len(bars)
            case "box":
                left, top, right, bottom = map(int, answer.split())
                assert text == "red at" and (left, right, bottom) == (2 * place, 2 * place + 2, 8)
                assert (
                    32 * top - 20 < 192 - 1.92 * values["red"] + 0.5 and 192 - 1.92 * values["red"] <= 32 * top + 12.5
                )
            case "words":
                top = bar_box(bars[place])[1]
                assert text == "say red" and ("high" in answer) == (top <= 2) and ("low" in answer) == (top > 4)
                assert ("left" in answer) == (place < 2) and ("far" in answer) == (place in (0, 3))


def test_kinds_are_drawn_with_equal_probability_and_repeats_count():
    found = [task.metadata["kind"] for task in tasks(kinds=("value", "value", "count"), count=300)]
    assert 170 < found.count("value") < 230


def test_compared_bars_differ_in_the_overview():
    for task in tasks(kinds=("larger",)):
        bars = bars_of(task)
        (red,) = (bar for bar in bars if bar.colour == "red")
        other = bars[NAMES.index(task.messages[0].content.split("?")[0][-1])]
        assert bar_box(red)[1] != bar_box(other)[1]


def test_metadata_says_which_questions_need_the_tool_and_where():
    for task in tasks():
        kind, gold = task.metadata["kind"], task.metadata["gold"]
        assert (task.metadata["needs_tool"] == "yes") == (kind in MEASURED)
        last = bars_of(task)[task.metadata["asked"][-1]]
        assert gold == ([int(side) for side in task.answer.split()] if kind == "box" else list(last.box))
        assert json.loads(json.dumps(task.metadata)) == task.metadata


def test_sentences_name_the_column_and_the_second_bar():
    for number in range(30):
        brief, task = (chart_task("train", 0, number, EVERY, brief=way) for way in (True, False))
        text = task.messages[0].content
        assert task.answer == brief.answer and task.metadata["column"] in text and "red" in text or "many" in text
        assert "{" not in text


def test_no_column_and_no_overview_is_in_both_splits():
    found = {split: tasks(split, count=200) for split in ("train", "test")}
    for split, made in found.items():
        assert {task.metadata["column"] for task in made} <= {column.name for column in table_columns(split)}
    digests = [{image.digest for task in made for image in message_images(task.messages)} for made in found.values()]
    assert not digests[0] & digests[1]


def test_charts_without_kinds_are_rejected():
    with pytest.raises(InputError, match="one kind or more"):
        charts(kinds=())
    with pytest.raises(InputError, match="tolerance"):
        charts(tolerance=1.0)
