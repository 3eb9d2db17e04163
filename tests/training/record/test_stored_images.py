"""Images in a run record: once each, read on demand, deleted with the last step that shows them."""

import os
import shutil
import sqlite3
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from helpers.image_records import noise, shown_group, shown_trajectory

from handaxe.core.errors import InputError
from handaxe.core.images import Image
from handaxe.training.record.run_record import RunRecord


@pytest.fixture
def images():
    return [noise(k) for k in range(3)]


def written(folder, *groups):
    with RunRecord(folder) as record:
        for group in groups:
            record.write_step(group.group.step, [group], {})
    return RunRecord.open(folder)


def places(trajectory):
    """All images of a trajectory, in messages, replies and free content."""
    free = [*trajectory.task.metadata.values(), *trajectory.env.values(), *trajectory.notes.values()]
    free += [value for turn in trajectory.turns for value in turn.facts.values()]
    own = [trajectory.images, [image for reply in trajectory.replies for image in reply.images]]
    return own, [image for kept in free for image in (kept[0], *kept[1])]


def test_images_of_messages_replies_and_free_content_come_back(tmp_path, images):
    one = shown_trajectory(images[0], images[1], hidden=images[2])
    with written(tmp_path, shown_group(one, replace(one, id="seen/1", sample=1))) as record:
        (group,) = record.groups()
        (task,) = record.tasks()
        assert record.query("SELECT count(*) FROM images") == [(3,)]
        assert record.query("SELECT trajectory, count(*) FROM shown GROUP BY trajectory") == [(1, 3), (2, 3)]
    first, second = group.played.group
    assert task == one.task and first.task == one.task
    for found in (first, second, *first.aux_turns):
        own, free = places(found)
        assert own == [(images[0], images[1]), [images[1]]] and free == [images[2]] * 8
        assert found.messages == one.messages and found.turns == one.turns
    assert first.images[0] is second.images[0]
    np.testing.assert_array_equal(first.images[0].pixels, images[0].pixels)
    np.testing.assert_array_equal(free[0].pixels, images[2].pixels)
    assert first.sequences[0].ids.dtype == np.int64
    np.testing.assert_array_equal(first.sequences[0].ids, one.sequences[0].ids)


def test_a_jpeg_keeps_its_encoding(tmp_path, images):
    import io

    out = io.BytesIO()
    images[0].pillow().save(out, "JPEG")
    photo = Image.read(out.getvalue())
    with written(tmp_path, shown_group(shown_trajectory(photo, images[1]))) as record:
        assert record.image(photo.digest) == ("image/jpeg", photo.data)
        assert record.image("0" * 64) is None
        (one,) = record.trajectories()
    assert one.images[0].media_type == "image/jpeg" and one.images[0].data == photo.data
    np.testing.assert_array_equal(one.images[0].pixels, photo.pixels)


def test_bytes_are_read_on_demand_from_any_thread_after_the_record_is_closed(tmp_path, images, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with written("a", shown_group(shown_trajectory(*images[:2]))) as record:
        (one,) = record.trajectories()
    monkeypatch.chdir("/")
    found = []
    thread = threading.Thread(target=lambda: found.append(one.images[1].pixels))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(found[0], images[1].pixels)
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(InputError, match="cannot be read"):
        _ = one.images[1].data


@pytest.mark.skipif(sys.platform != "linux", reason="names of other systems are text")
def test_a_folder_may_have_any_name(tmp_path, images):
    folder = tmp_path / os.fsdecode(b"run \xff")
    with written(folder, shown_group(shown_trajectory(*images[:2]))) as record:
        (one,) = record.trajectories()
    np.testing.assert_array_equal(one.images[0].pixels, images[0].pixels)


def test_changed_bytes_are_an_error_that_says_so(tmp_path, images):
    """Trap 18: a decoder that gives other pixels than those of the digest."""
    with written(tmp_path, shown_group(shown_trajectory(*images[:2]))) as record:
        (one,) = record.trajectories()
    with sqlite3.connect(tmp_path / "record.sqlite") as db:
        db.execute("UPDATE images SET data = ? WHERE digest = ?", (noise(9).data, images[0].digest))
    with pytest.raises(InputError, match="decodes to other pixels than those of its digest"):
        _ = one.images[0].pixels


def test_the_same_pixels_of_another_encoder_are_stored_once(tmp_path, images):
    """Trap 17."""
    import io

    first, second = io.BytesIO(), io.BytesIO()
    images[0].pillow().save(first, "PNG", compress_level=1)
    images[0].pillow().save(second, "PNG", compress_level=9, optimize=True)
    assert first.getvalue() != second.getvalue()
    one = shown_trajectory(Image.read(first.getvalue()), images[1])
    other = replace(shown_trajectory(Image.read(second.getvalue()), images[1]), id="seen/1", sample=1)
    with written(tmp_path, shown_group(one, other)) as record:
        assert record.query("SELECT count(*) FROM images") == [(2,)]


def test_a_missing_row_is_a_damaged_record(tmp_path, images):
    with written(tmp_path, shown_group(shown_trajectory(*images[:2]))) as record:
        (one,) = record.trajectories()
        with sqlite3.connect(tmp_path / "record.sqlite") as db:
            db.execute("DELETE FROM images")
        with pytest.raises(InputError, match="is damaged.*image .* is missing"):
            record.trajectories()
    with pytest.raises(InputError, match="has no image .* any more"):
        _ = one.images[0].data


def test_rolling_back_deletes_images_that_no_step_shows(tmp_path, images):
    one = shown_trajectory(images[0], images[1])
    later = shown_trajectory(images[0], images[2])
    written(tmp_path, shown_group(one), shown_group(later, step=1)).close()
    with RunRecord(tmp_path) as record:
        assert record.roll_back(1) == 1
        found = {digest for (digest,) in record.query("SELECT digest FROM images")}
        assert found == {images[0].digest, images[1].digest}
        assert record.query("SELECT count(*) FROM shown") == [(2,)]


def test_a_run_without_a_record_never_encodes_an_image(images, monkeypatch):
    """Trap 29: PNG is written for records, pages and servers alone."""
    made = []
    monkeypatch.setattr(Image, "_encode", lambda self: made.append(self) or b"")
    one = shown_trajectory(*images[:2])
    assert one.num_image_tokens == 6 and one.images[0].crop((0, 0, 5, 5)).pixels.shape == (5, 5, 3)
    assert not made
