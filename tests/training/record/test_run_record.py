import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from helpers.group_records import recorded_group

from handaxe.core.errors import InputError
from handaxe.core.records import Group, PlayedGroup, Scores, Task
from handaxe.testing.crash import start_child
from handaxe.testing.make_records import make_trajectory
from handaxe.training.record import run_record
from handaxe.training.record.run_record import RunRecord
from handaxe.training.record.schema import FORMAT


def group(step, task="a", size=2, tokens=3):
    trajectories = [replace(make_trajectory(layouts=["UUt" + "p" * tokens]), id=f"{task}/{i}") for i in range(size)]
    return PlayedGroup(Group(Task(task, ()), tuple(trajectories), step))


def test_write_and_read(tmp_path):
    with RunRecord(tmp_path / "deep" / "run") as record:
        record.write_about({"recipe": {"name": "grpo"}, "arguments": {"steps": 2}})
        record.write_event(0, "started")
        record.write_step(0, [group(0, "a"), group(0, "b")], {"reward": 0.5, "loss": float("nan"), "big": float("inf")})
        record.write_step(1, [group(1, "a")], {"reward": 0.7}, {"accuracy": np.float64(0.25), "each": np.arange(2)})
    with RunRecord.open(tmp_path / "deep" / "run") as record:
        assert record.steps() == [0, 1]
        assert [len(record.trajectories(**q)) for q in ({}, {"step": 0}, {"task": "a"}, {"step": 1, "task": "b"})] == [
            6,
            4,
            4,
            0,
        ]
        first, second = record.metrics()
        assert first["reward"] == 0.5 and np.isnan(first["loss"]) and first["big"] == float("inf")
        assert second == {"step": 1.0, "reward": 0.7}
        assert record.evaluations() == {2: {"accuracy": 0.25, "each": [0, 1]}}
        assert [(e.step, e.kind) for e in record.events()] == [(0, "started")]
        about = record.about()
        assert about["recipe"] == {"name": "grpo"} and {"python", "torch", "handaxe"} <= about["versions"].keys()


def test_channels_that_tell_no_siblings_apart(tmp_path):
    def scored(step, **channels):
        one = group(step)
        arrays = {name: np.array(values, dtype=float) for name, values in channels.items()}
        turns = {"steps": tuple(np.zeros(len(t.turns)) for t in one.group)}
        scores = Scores(np.zeros(2), channels=arrays | {"steps": np.zeros(2)}, turn_channels=turns)
        return recorded_group(one.group, scores, fate="unselected")

    with RunRecord(tmp_path) as record:
        record.write_step(0, [scored(0, a=[1, 1], b=[0, 1], c=[0, 0]), scored(0, a=[0, 0], b=[1, 1], c=[2, 2])], {})
        assert record.silent_channels() == ["a", "c"]
        record.write_step(1, [scored(1, a=[1, 0], b=[0, 0], c=[0, 0]), group(1)], {})
        assert record.silent_channels() == ["c"]


def test_rolling_back_forgets_later_steps_and_nothing_else(tmp_path):
    with RunRecord(tmp_path) as record:
        for step in range(4):
            record.write_step(step, [group(step)], {"reward": step}, {"accuracy": step})
        assert record.roll_back(2) == 2
        assert record.steps() == [0, 1] and len(record.trajectories()) == 4 and len(record.metrics()) == 2
        assert list(record.evaluations()) == [1, 2]
        record.write_step(2, [group(2)], {"reward": 9})
        assert record.metrics()[-1]["reward"] == 9
        rows = [record._db.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in ("trajectories", "sequences")]
        assert rows == [6, 6]


def test_a_step_that_fails_half_way_leaves_nothing(tmp_path):
    class Odd:
        def __float__(self):
            raise ZeroDivisionError

    with RunRecord(tmp_path) as record:
        record.write_step(0, [group(0)], {"reward": 1})
        with pytest.raises(ZeroDivisionError):
            record.write_step(1, [group(1)], {"reward": Odd()})
        assert record.steps() == [0] and len(record.trajectories()) == 2
        record.write_step(1, [group(1)], {"reward": 1})


def test_one_may_read_while_a_run_writes(tmp_path):
    with RunRecord(tmp_path) as record, RunRecord.open(tmp_path) as reader:
        assert reader.steps() == []
        record.write_step(0, [group(0)], {"reward": 1})
        assert reader.steps() == [0] and len(reader.trajectories(step=0)) == 2
        with pytest.raises(InputError, match="opened for reading"):
            reader.write_event(0, "no")


def test_a_folder_has_one_writer_and_readers_beside_it(tmp_path):
    with RunRecord(tmp_path) as one:
        one.write_step(0, [], {"reward": 1})
        with pytest.raises(InputError, match=f"process {os.getpid()} is writing the run in .*show reads beside"):
            RunRecord(tmp_path)
        with RunRecord.open(tmp_path) as reader:
            assert reader.metrics()[0]["reward"] == 1
        one.write_step(1, [], {"reward": 2})
    with RunRecord(tmp_path) as two:
        assert two.steps() == [0, 1]
        with pytest.raises(InputError, match="another run writes there"):
            two.write_step(0, [], {"reward": 2})


def test_what_says_of_what_a_run_is_stands_there_before_its_record(tmp_path, monkeypatch):
    """Killed in between, nothing has begun: a run begins there as in an empty folder."""
    monkeypatch.setattr(run_record, "create", lambda db: os._exit(7))
    child = os.fork()
    if child == 0:
        RunRecord(tmp_path, about={"recipe": "r"})
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    monkeypatch.undo()
    assert not RunRecord.exists(tmp_path) and json.loads((tmp_path / "recipe.json").read_text())["recipe"] == "r"
    with pytest.raises(InputError, match="stopped before it began"):
        RunRecord.open(tmp_path)
    RunRecord(tmp_path, about={"recipe": "r"}).close()
    assert RunRecord.exists(tmp_path)


def test_without_its_log_a_record_is_an_empty_one(tmp_path):
    with RunRecord(tmp_path) as record:
        record.write_step(0, [], {})
        shutil.copy(tmp_path / "record.sqlite", tmp_path / "kept")
    shutil.move(tmp_path / "kept", tmp_path / "record.sqlite")
    with RunRecord.open(tmp_path) as record:
        assert record.steps() == [] and record.events() == []


@pytest.mark.parametrize("text", ["", "{", "[1]", "3", "[" * 100_000, b"\xff"])
def test_a_damaged_recipe_file_is_named(tmp_path, text):
    with RunRecord(tmp_path) as record:
        (tmp_path / "recipe.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(InputError, match=r"recipe\.json is damaged"):
            record.about()


def read_all(folder):
    with RunRecord.open(folder) as record:
        return record.steps(), record.metrics(), record.events(), record.evaluations(), record.groups(), record.about()


@pytest.mark.parametrize("seed", range(12))
def test_whatever_page_is_damaged_is_told_in_words(tmp_path, seed):
    """A page of the file overwritten, a stretch of it, or its end cut off; nothing but InputError comes of it."""
    with RunRecord(tmp_path, about={}) as record:
        for step in range(3):
            record.write_step(step, [group(step, tokens=200) for _ in range(3)], {"reward": step}, {"a": "b"})
    path, chance = tmp_path / "record.sqlite", random.Random(seed)
    whole, told = path.read_bytes(), 0
    assert not (tmp_path / "record.sqlite-wal").exists()
    for _ in range(25):
        data = bytearray(whole)
        size, at = chance.choice([1, 30, 4096]), chance.randrange(len(data))
        data[at : at + size] = chance.choice([chance.randbytes, bytes])(size)
        path.write_bytes(data[:at] if chance.random() < 0.2 else data[: len(whole)])
        for use in (read_all, lambda folder: RunRecord(folder).close(), RunRecord.exists):
            try:
                use(tmp_path)
            except InputError as error:
                told += 1
                assert "\n" not in str(error)
    assert told


def test_what_is_no_record(tmp_path):
    with pytest.raises(InputError, match=r"record\.sqlite is missing"):
        RunRecord.open(tmp_path)
    (tmp_path / "record.sqlite").write_text("not a database, but long enough to look like one" * 10)
    with pytest.raises(InputError, match="not a run record"):
        RunRecord.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        RunRecord(tmp_path / "file" / "below")
    db = sqlite3.connect(tmp_path / "new.sqlite")
    db.execute("PRAGMA user_version = 99")
    db.close()
    (tmp_path / "later").mkdir()
    shutil.move(tmp_path / "new.sqlite", tmp_path / "later" / "record.sqlite")
    with pytest.raises(
        InputError, match=f"a record of format 99; this handaxe reads formats up to {FORMAT}. Update handaxe"
    ):
        RunRecord.open(tmp_path / "later")


def fill_limited(folder):
    """In a child: files may not grow beyond 300 kB, which is what a full disk looks like."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    fill(folder)


def fill(folder):
    with RunRecord(folder) as record:
        for step in range(1000):
            try:
                record.write_step(step, [group(step, tokens=2000)], {"reward": step})
            except InputError as error:
                (folder / "said.json").write_text(json.dumps([step, str(error)]))
                return


def check_filled(folder):
    step, said = json.loads((folder / "said.json").read_text())
    assert step > 0 and "cannot be written" in said and "Free some space" in said and "intact" in said
    with RunRecord.open(folder) as record:
        assert record.steps() == list(range(step)) and len(record.trajectories(step=step - 1)) == 2
    return step


def test_a_full_disk_is_one_clear_error_and_the_record_stays_whole(tmp_path):
    child = start_child(__file__, "fill_limited", (tmp_path,))
    child.join(60)
    assert child.exitcode == 0
    step = check_filled(tmp_path)
    with RunRecord(tmp_path) as record:  # there is space again
        record.write_step(step, [group(step)], {"reward": 1})
        assert record.steps() == list(range(step + 1))


def test_a_full_file_system(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        (tmp_path / "said.json").write_text(" " * 4000)  # so that there is room for what it says
        fill(tmp_path)
        step = check_filled(tmp_path)
        subprocess.run(["mount", "-o", "remount,size=2m", str(tmp_path)], check=True)
        with RunRecord(tmp_path) as record:
            record.write_step(step, [group(step)], {"reward": 1})
            assert record.steps() == list(range(step + 1))
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_record_that_was_never_begun_is_empty(tmp_path):
    (tmp_path / "record.sqlite").touch()
    with pytest.raises(InputError, match="is empty: the run was stopped before it began"):
        RunRecord.open(tmp_path)


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_record_with_a_pipe_raises_instead_of_waiting(tmp_path, suffix):
    with RunRecord(tmp_path) as record:
        record.write_step(0, [group(0)], {})
    (tmp_path / f"record.sqlite{suffix}").unlink(missing_ok=True)
    os.mkfifo(tmp_path / f"record.sqlite{suffix}")
    assert RunRecord.exists(tmp_path) == bool(suffix)
    for make in (RunRecord, *([RunRecord.open] if suffix else [])):
        with pytest.raises(InputError, match=f"record.sqlite{suffix} is not a regular file"):
            make(tmp_path)


def test_recipe_file_is_a_regular_file_of_limited_size_and_depth(tmp_path):
    with RunRecord(tmp_path, about={}) as record:
        for make, message in (
            (lambda path: os.mkfifo(path), "not a regular file"),
            (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
            (lambda path: path.write_text('{"a": ' + "[" * 500 + "]" * 500 + "}"), "nests deeper than 64 levels"),
            (lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_RDWR), 2**30), "more than 10000000 bytes"),
        ):
            (tmp_path / "recipe.json").unlink()
            make(tmp_path / "recipe.json")
            with pytest.raises(InputError, match=f"recipe.json is damaged: .*{message}"):
                record.about()


def test_record_in_a_folder_with_a_name_that_is_not_utf8(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    with RunRecord(folder) as record:
        record.write_step(0, [group(0)], {})
    assert RunRecord.exists(folder)
    with RunRecord.open(folder) as record:
        assert record.steps() == [0]


def test_metric_with_a_name_of_bytes_is_damage(tmp_path):
    with RunRecord(tmp_path) as record:
        record.write_step(0, [group(0)], {"reward": 1.0})
    with sqlite3.connect(tmp_path / "record.sqlite") as db:
        db.execute("UPDATE metrics SET name = x'ff'")
    db.close()
    with RunRecord.open(tmp_path) as record, pytest.raises(InputError, match="is damaged, or not a run record"):
        record.metrics()
