"""Exports of trajectories with images: JSON lines, data sets, Inspect logs."""

import json
from dataclasses import replace

import numpy as np
import pytest
from helpers.image_records import noise, shown_group, shown_trajectory

from handaxe.core.errors import InputError
from handaxe.models.tiny_image_processor import PLACEHOLDER_ID
from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.chosen import chosen, has_images
from handaxe.view.exports.dataset import write_dataset
from handaxe.view.exports.inspect_log import write_inspect
from handaxe.view.exports.jsonl import FORMAT, IMAGE_FORMAT, read_jsonl, write_jsonl
from handaxe.view.record_search import Where, search

LARGEST = 2**53


class Processor:
    """Writes one id of the vocabulary for every image token."""

    def expand(self, ids, images):
        assert set(images) == {noise(0).key, noise(1).key}
        return [PLACEHOLDER_ID if one >= LARGEST else one for one in ids]


@pytest.fixture
def seen(tmp_path):
    """Two trajectories that show the same two images; a third one is hidden in metadata and notes."""
    one = shown_trajectory(noise(0), noise(1), hidden=noise(2))
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [shown_group(one, replace(one, id="seen/1", sample=1))], {})
        keys = [row.key for row in search(record, Where())]
        assert has_images(record, keys) and not has_images(record, [99])
        yield list(chosen(record, keys))


def numbers(value):
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif isinstance(value, int | float):
        yield value


@pytest.mark.parametrize("processor", [None, Processor()])
@pytest.mark.parametrize("folder", [None, "shown"])
def test_lines_come_back_with_the_recorded_ids(seen, tmp_path, processor, folder):
    """Trap 13: no id of an image token is a number in a line."""
    file, images = tmp_path / "out.jsonl", None if folder is None else tmp_path / folder
    assert write_jsonl(seen, file, images=images, processor=processor) == 2
    line = json.loads(file.read_text().splitlines()[0])
    assert line["format"] == IMAGE_FORMAT and len(line["images"]) == 3
    (sequence,) = line["sequences"]
    assert sequence["images"] == [[1, 4, noise(0).digest], [8, 11, noise(1).digest]]
    assert sequence["ids"][1:4] == [-1 if processor is None else PLACEHOLDER_ID] * 3
    assert all(abs(one) < LARGEST for name in ("sequences", "asked") for one in numbers(line[name]))
    if images is not None:
        assert sorted(path.name for path in images.iterdir()) == sorted(f"{noise(k).digest}.png" for k in range(3))
        assert all(one["file"] == f"shown/{digest}.png" for digest, one in line["images"].items())
    for before, after in zip(seen, read_jsonl(file), strict=True):
        now = after.trajectory
        assert now.messages == before.trajectory.messages and now.notes == before.trajectory.notes
        np.testing.assert_array_equal(now.sequences[0].ids, before.trajectory.sequences[0].ids)
        assert now.sequences[0].ids.dtype == np.int64
        (judge,) = now.aux_turns
        np.testing.assert_array_equal(judge.sequences[0].ids, before.trajectory.sequences[0].ids)
        for image, wanted in zip(now.images, before.trajectory.images, strict=True):
            np.testing.assert_array_equal(image.pixels, wanted.pixels)


def test_a_changed_file_of_an_image_is_an_error(seen, tmp_path):
    write_jsonl(seen, tmp_path / "out.jsonl", images=tmp_path)
    one = next(read_jsonl(tmp_path / "out.jsonl"))
    (tmp_path / f"{noise(0).digest}.png").write_bytes(noise(9).data)
    with pytest.raises(InputError, match="has changed since"):
        _ = one.trajectory.images[0].pixels


def test_lines_of_text_have_the_first_format(everything, tmp_path):
    write_jsonl(everything, tmp_path / "out.jsonl", images=tmp_path / "images")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert {line["format"] for line in lines} == {FORMAT} and not any("images" in line for line in lines)
    assert not (tmp_path / "images").exists()


def test_a_data_set_has_images_and_contents_in_parts(seen, tmp_path):
    datasets = pytest.importorskip("datasets")
    write_dataset(seen, tmp_path / "set", images=True)
    found = datasets.load_dataset(str(tmp_path / "set"), split="train", cache_dir=str(tmp_path / "cache"))
    first, second = found[0]["images"]
    np.testing.assert_array_equal(np.asarray(first), noise(0).pixels)
    np.testing.assert_array_equal(np.asarray(second), noise(1).pixels)
    asked, called, shown, said = found[0]["messages"]
    assert [part["type"] for part in asked["content"]] == ["text", "image", "text"]
    assert asked["content"][0]["text"] == "What stands in " and called["content"] == []
    assert [part["type"] for part in shown["content"]] == ["text", "image"] and said["content"][0]["text"] == "seven"
    assert found[0]["sequences"][0]["ids"] == seen[0].trajectory.sequences[0].ids.tolist()


def test_an_inspect_log_has_images_as_data(seen, tmp_path):
    inspect_log = pytest.importorskip("inspect_ai.log")
    write_inspect(seen, tmp_path / "run.json", title="run")
    asked, _, shown, _ = inspect_log.read_eval_log(str(tmp_path / "run.json")).samples[0].messages
    assert [part.type for part in asked.content] == ["text", "image", "text"]
    assert asked.content[1].image == noise(0).data_url and shown.content[1].image == noise(1).data_url
