import json
import subprocess
import sys
import time

import pytest
from helpers.image_records import noise

from handaxe.core.errors import CheckpointError, InputError, TaskError
from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.worlds import check_world
from handaxe.tools import tool
from handaxe.training.record.run_record import RunRecord
from handaxe.worlds.parts.demonstrate import demonstrate
from handaxe.worlds.stream import stream

pytest.importorskip("datasets")


@tool
def double(number: int) -> str:
    """Double a number."""
    return str(2 * number)


@pytest.fixture
def data(tmp_path):
    def write(rows, name="part", shards=3):
        (tmp_path / "data").mkdir(exist_ok=True)
        for shard in range(shards):
            lines = [json.dumps(row) for row in rows[shard::shards]]
            (tmp_path / "data" / f"{name}-{shard}.jsonl").write_text("\n".join(lines))
        return str(tmp_path / "data")

    return write


ROWS = [
    {"question": f"double {k}?", "answer": str(2 * k), "calls": [{"name": "double", "arguments": {"number": k}}]}
    for k in range(600)
]
SMALL = {"buffer": 50, "test_share": 0.2}


def drawn(curriculum, steps, count=30):
    return [[task.id for task in curriculum.next(step, count)] for step in steps]


def test_stream_keeps_the_contract_of_worlds(data):
    check_world(stream(data=data(ROWS), **SMALL), tools=[double], count=20)


def test_calls_of_a_row_define_the_expert(data):
    world = stream(data=data(ROWS), **SMALL)
    task = world.tasks("train", 1, 0)[0]
    one = demonstrate(world.env([double]), task, world.expert, format=Compact())
    assert one.calls[0].name == "double" and one.final_text == task.answer


def test_training_goes_through_all_rows_and_begins_with_the_tasks(data):
    world = stream(data=data(ROWS), **SMALL)
    tasks = world.tasks("train", 100, 3)
    found = [one for step in drawn(world.curriculum(tasks, 3), range(40)) for one in step]
    train = {task.id for task in world.tasks("train", 10_000, 0)}
    assert found[:100] == [task.id for task in tasks]
    assert set(found[: len(train)]) == train and len(train) > 400


@pytest.mark.slow
def test_equal_questions_are_in_one_split(data):
    world = stream(data=data([*ROWS, *ROWS[::2]]), **SMALL)
    test = {task.id for task in world.tasks("test", 10_000, 0)}
    seen = {one for step in drawn(world.curriculum([], 0), range(60)) for one in step}
    assert test and len(test) + len(seen) == 600 and not test & seen
    assert {task.id for task in world.tasks("test", 10_000, 9)} == test


@pytest.mark.slow
def test_resume_gives_the_same_tasks(data):
    folder = data(ROWS)
    whole, part = (stream(data=folder, **SMALL).curriculum([], 0) for _ in range(2))
    wanted = drawn(whole, range(50))
    for last in (0, 7, 33):
        drawn(part, range(last + 1))
        state = json.loads(json.dumps(part.state_dict()))
        again = stream(data=f"{folder}/*.jsonl", **SMALL).curriculum([], 0)
        again.load_state_dict(state)
        assert drawn(again, range(last, 50)) == wanted[last:]
        part = stream(data=folder, **SMALL).curriculum([], 0)
    with pytest.raises(CheckpointError, match="other shards, or with another seed"):
        stream(data=folder, buffer=51, test_share=0.2).curriculum([], 0).load_state_dict(state)


def test_a_step_repeats_with_a_larger_count(data):
    curriculum = stream(data=data(ROWS), **SMALL).curriculum([], 0)
    curriculum.next(0, 20)
    first = [task.id for task in curriculum.next(1, 20)]
    assert [task.id for task in curriculum.next(1, 90)][:20] == first


def test_columns_are_mapped(data):
    rows = [
        {"prompt": [{"role": "user", "content": f"{k}?"}], "reward_model": {"ground_truth": str(k)}} for k in range(300)
    ]
    world = stream(data=data(rows), messages="prompt", answer="reward_model.ground_truth", **SMALL)
    task = world.tasks("train", 1, 0)[0]
    assert task.messages[0].content == f"{task.answer}?"


def test_bad_rows_of_a_window_are_listed_together(data):
    rows = [*ROWS[:30], {"question": "a?"}, {"question": "b?", "answer": ""}, {**ROWS[40], "weight": 2}]
    with pytest.raises(TaskError) as found:
        stream(data=data(rows, shards=1), **SMALL).tasks("train", 10, 0)
    first, *rest = str(found.value).split("\n")
    assert first == "a window of the shards has 3 bad rows:"
    assert "part-0.jsonl, row 30 has no 'answer', only" in rest[0]
    assert rest[1:] == [
        "  part-0.jsonl, row 31: the answer is ''; give text, a number, or a list of these",
        "  part-0.jsonl, row 32 has a weight; rows of a stream have none: rename the column",
    ]


@pytest.mark.parametrize(
    "options, message",
    [({"buffer": 0}, "buffer is 0; give 1 row or more"), ({"test_share": 1.0}, "test_share is 1.0; give a share")],
)
def test_a_bad_option_raises(data, options, message):
    with pytest.raises(InputError, match=message):
        stream(data=data(ROWS[:3]), **options)


def test_an_empty_split_raises(data):
    with pytest.raises(TaskError, match="no question falls to 'test': give more rows, or another test_share"):
        stream(data=data(ROWS[:2]), test_share=0.0001).tasks("test", 1, 0)


@pytest.mark.slow
def test_a_killed_run_resumes_with_the_same_tasks(data, tmp_path):
    words = (
        f"train grpo_no_kl --world stream --world.data {data(ROWS)} --world.buffer 20 --tools none --steps 40".split()
    )
    words += ["--groups", "5", "--group-size", "2", "--held-out", "4", "--max-tokens", "4", "--quiet"]
    command = [sys.executable, "-m", "handaxe"]
    subprocess.run([*command, *words, "--out", str(tmp_path / "whole")], check=True, capture_output=True)
    killed = subprocess.Popen([*command, *words, "--out", str(tmp_path / "run")], stdout=subprocess.DEVNULL)
    while not list(tmp_path.glob("run/checkpoints/step-000010")) and killed.poll() is None:
        time.sleep(0.005)
    assert killed.poll() is None, "the run ended before it was killed"
    killed.kill()
    killed.wait()
    subprocess.run([*command, "resume", str(tmp_path / "run"), "--quiet"], check=True, capture_output=True)
    with RunRecord.open(tmp_path / "run") as run, RunRecord.open(tmp_path / "whole") as whole:
        found = [[(one.task.id, one.final_text) for one in each.trajectories()] for each in (run, whole)]
    assert found[0] == found[1] and len(found[0]) == 400


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "data" / "photos").mkdir(parents=True)
    for k in range(40):
        (tmp_path / "data" / "photos" / f"{k}.png").write_bytes(noise(k).data)
    return tmp_path


def photo_rows(count=40):
    return [{"image": f"photos/{k}.png", "question": "Which?", "answer": str(k)} for k in range(count)]


def test_images_of_shards_are_read_window_by_window(photos, data):
    world = stream(data=data(photo_rows()), buffer=8, test_share=0.2)
    found = {split: world.tasks(split, 100, 0) for split in ("train", "test")}
    for task in (*found["train"], *found["test"]):
        assert task.messages == (Message.of("user", noise(int(task.answer)), "Which?"),)
    assert len(found["train"]) + len(found["test"]) == 40 and len(found["test"]) > 2
    curriculum = world.curriculum(found["train"], 0)
    seen = [task for step in range(6) for task in curriculum.next(step, 12)]
    assert {task.id for task in seen} == {task.id for task in found["train"]}
    text = stream(data=data(photo_rows()), image="", score="token_f1", **SMALL)
    assert {task.metadata["image"] for task in text.tasks("train", 9, 0)} < {f"photos/{k}.png" for k in range(40)}


def test_a_missing_image_is_named_with_its_row(photos, data):
    (photos / "data" / "photos" / "3.png").unlink()
    with pytest.raises(TaskError, match=r"part-0.jsonl, row 1: there is no image 'photos/3.png' below .*data"):
        stream(data=data(photo_rows()), **SMALL).tasks("train", 100, 0)


@pytest.mark.parametrize("listed", [False, True])
def test_images_of_a_table_are_streamed_as_bytes(tmp_path, listed):
    import datasets

    kind = datasets.List(datasets.Image()) if listed else datasets.Image()
    cells = [{"bytes": noise(k).data, "path": None} for k in range(30)]
    rows = [{"images": [c] if listed else c, "question": "Which?", "answer": str(k)} for k, c in enumerate(cells)]
    text = datasets.Value("string")
    features = datasets.Features({"images": kind, "question": text, "answer": text})
    datasets.Dataset.from_list(rows, features=features).to_parquet(str(tmp_path / "rows.parquet"))
    found = stream(data=str(tmp_path / "rows.parquet"), buffer=8, test_share=0.2).tasks("train", 100, 0)
    assert len(found) > 15
    assert all(task.messages == (Message.of("user", noise(int(task.answer)), "Which?"),) for task in found)
