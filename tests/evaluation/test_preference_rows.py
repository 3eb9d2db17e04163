"""Lines of chosen and rejected answers: forms, faults, halves."""

import json
from types import SimpleNamespace

import pytest

from handaxe.core.errors import TaskError
from handaxe.evaluation.bench_items import labels_of
from handaxe.evaluation.preference_rows import preference_items, preference_rows

TERSE = SimpleNamespace(answerer=SimpleNamespace(terse=True))
GOOD = {"prompt": "2+2=?", "chosen": "4", "rejected": "5"}


@pytest.fixture
def read(tmp_path):
    def read(*rows):
        file = tmp_path / "mine.jsonl"
        file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
        return preference_rows(str(file))

    return read


def test_texts_lists_and_messages_are_read(read):
    chat = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "2+2=?"}]
    one, several, messages = read(
        GOOD, {**GOOD, "rejected": ["5", "22", "5"]}, {**GOOD, "prompt": chat, "chosen": " 4 "}
    )
    assert one[:2] == ("2+2=?", ("4", "5")) and several.answers == ("4", "5", "22")
    assert messages.prompt == "system: Be short.\nuser: 2+2=?" and messages.answers == (" 4 ", "5")
    assert one.half == several.half  # by the prompt


def test_items_ask_about_the_prompt_and_each_text(read):
    (item,) = preference_items(read({**GOOD, "rejected": ["5", "22"]}), half=None, count=9, seed=0)
    assert labels_of(item).tolist() == [True, False, False]
    fields = [one.ask(TERSE).fields for one in item.questions]
    assert [one["did"].partition("<")[0] for one in fields] == ["4", "5", "22"] and fields[0]["task"] == "2+2=?"
    (pair,) = preference_items(read(GOOD), half=None, count=9, seed=0, pairs=True)
    assert [one.ask(TERSE).fields["first"] for one in pair.questions] == ["4", "5"]


def test_halves_share_no_prompt_and_counts_are_limits(read):
    rows = read(*[{**GOOD, "prompt": f"{k}+2=?"} for k in range(40)])
    halves = [{item.task for item in preference_items(rows, half=half, count=99, seed=0)} for half in ("train", "test")]
    assert min(map(len, halves)) > 5 and not halves[0] & halves[1] and sum(map(len, halves)) == 40
    few = [preference_items(rows, half=None, count=5, seed=seed) for seed in (0, 0, 1)]
    tasks = [[item.task for item in one] for one in few]
    assert tasks[0] == tasks[1] != tasks[2] and len(tasks[0]) == 5


@pytest.mark.parametrize(
    "row, message",
    [
        ('{"prompt"', "mine.jsonl, line 2 is not JSON"),
        ({"prompt": "a", "chosen": "b"}, "line 2 has no 'rejected', only ['chosen', 'prompt']"),
        ({**GOOD, "chosen": 4}, "line 2: 'chosen' is '4'; give text that is not empty"),
        ({**GOOD, "chosen": " "}, "line 2: 'chosen' is ' '; give text"),
        ({**GOOD, "rejected": []}, "line 2: 'rejected' is an empty list"),
        ({**GOOD, "rejected": ["5", None]}, "line 2: 'rejected' is 'None'"),
        ({**GOOD, "rejected": ["5", "4"]}, "line 2: the chosen text is also rejected: '4'"),
        ({**GOOD, "prompt": [{"role": "assistant", "content": "a"}]}, "line 2: the last message is of the assistant"),
        ('{"prompt": "\\ud83d", "chosen": "4", "rejected": "5"}', "line 2 holds half a character"),
    ],
)
def test_a_bad_line_is_one_sentence(read, row, message):
    with pytest.raises(TaskError) as caught:
        read(GOOD, row)
    assert message in str(caught.value)


def test_bad_lines_are_listed_together(read):
    with pytest.raises(TaskError, match="mine.jsonl has 2 bad rows:\n  mine.jsonl, line 2 .*\n  mine.jsonl, line 3"):
        read(GOOD, {"prompt": "a"}, {**GOOD, "rejected": "4"})


def test_a_missing_or_empty_file_is_one_sentence(read, tmp_path):
    with pytest.raises(TaskError, match="there is no file"):
        preference_rows(str(tmp_path / "none.jsonl"))
    with pytest.raises(TaskError, match="is empty"):
        read("")
