"""Images of a run in the data of the pages, over HTTP, in a report and in the terminal."""

import io
import json
import re
from dataclasses import replace

import pytest
from helpers.image_records import noise, shown_group, shown_trajectory
from rich.console import Console

from handaxe.core.errors import InputError
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny_image_processor import TinyImageProcessor
from handaxe.training.record.run_record import RunRecord
from handaxe.view.api import ViewApi
from handaxe.view.record_search import Where, search
from handaxe.view.report_file import write_report
from handaxe.view.trajectory import pieces, token_table, trajectory_panel
from handaxe.view.web import view_app

SOURCE = noise(0, 320, 240)
PART = SOURCE.crop((10, 5, 30, 25))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of two rollouts with the same images, of which one is in metadata."""
    folder = tmp_path_factory.mktemp("shown")
    one = shown_trajectory(SOURCE, PART, hidden=noise(2))
    with RunRecord(folder / "run") as record:
        record.write_step(0, [shown_group(one, replace(one, id="seen/1", sample=1))], {"reward": 1.0})
    return folder


@pytest.fixture
def answers(folder, decoder):
    found = ViewApi(folder, decoder)
    yield found
    found.close()


def numbers(value):
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from numbers(item)
    elif isinstance(value, int | float):
        yield value


def test_a_rollout_has_an_element_for_each_run_of_image_tokens(answers):
    """Trap 13: ids of image tokens are never numbers of JSON."""
    one = answers.answer("rollout", {"run": "run", "id": "1"})
    (row,) = one["sequences"]
    assert [piece for piece in row["text"] if len(piece) == 3] == [["", 3, SOURCE.digest], ["", 3, PART.digest]]
    assert row["id"][1:4] == row["id"][8:11] == [None] * 3 and sum(size for _, size, *_ in row["text"]) == 13
    assert all(abs(number) < 2**53 for number in numbers(json.loads(json.dumps(one))))
    assert one["images"][SOURCE.digest] == {"width": 320, "height": 240}
    assert one["task"]["messages"][0]["content"] == "What stands in [image 320x240]?"
    assert one["turns"][0]["replies"][0]["images"] == [PART.digest]
    cut = one["turns"][0]["calls"][0]["cut"]
    assert cut["image"] == SOURCE.digest and cut["box"] == pytest.approx([10 / 320, 5 / 240, 30 / 320, 25 / 240])
    assert one["env"]["kept"][0] == f"[image 40x30 {noise(2).digest}]"
    assert answers.answer("step", {"run": "run", "step": "0"})["groups"][0]["question"].endswith("[image 320x240]?")


def test_a_policy_of_patches_tells_the_place_of_every_token(folder):
    """320 by 240 pixels in patches of 30 by 30: 11 columns, of which the last ends outside, and 8 rows. A patch of a
    part of 20 by 20 pixels ends outside of it."""
    answers = ViewApi(folder, lambda run: Compact(TinyImageProcessor(30)).decode)
    images = answers.answer("rollout", {"run": "run", "id": "1"})["images"]
    answers.close()
    grid = {"first": 0, "rows": 8, "columns": 11, "width": 30 / 320, "height": 30 / 240}
    assert images[SOURCE.digest] == {"width": 320, "height": 240, "grid": grid}
    assert images[PART.digest]["grid"] == {"first": 0, "rows": 1, "columns": 1, "width": 1.5, "height": 1.5}
    answers = ViewApi(folder, lambda run: Compact(TinyImageProcessor(8)).decode)
    assert "grid" not in answers.answer("rollout", {"run": "run", "id": "1"})["images"][SOURCE.digest], "too large"
    answers.close()


def test_bytes_are_sent_by_digest_with_their_kind(folder, decoder):
    TestClient = pytest.importorskip("starlette.testclient").TestClient
    with TestClient(view_app(folder, decoder), base_url="http://localhost") as client:
        found = client.get(f"/image/{SOURCE.digest}?run=run")
        assert found.status_code == 200 and found.content == SOURCE.data
        assert found.headers["content-type"] == "image/png" and found.headers["x-content-type-options"] == "nosniff"
        assert "img-src 'self'" in found.headers["content-security-policy"]
        for path in (f"{'0' * 64}?run=run", "x?run=run", f"{SOURCE.digest}?run=gone", f"..%2F{SOURCE.digest}?run=run"):
            assert client.get(f"/image/{path}").status_code == 404


def test_images_of_another_kind_are_not_sent(tmp_path, decoder):
    with RunRecord(tmp_path / "run") as record:
        record.write_step(0, [shown_group(shown_trajectory(SOURCE, PART))], {})
        record._db.execute("UPDATE images SET kind = 'text/html'")
    answers = ViewApi(tmp_path, decoder)
    with pytest.raises(InputError, match="has no such image"):
        answers.image({"run": "run"}, SOURCE.digest)
    answers.close()


def embedded(file):
    return re.findall(r'<script type="text/plain" id="data:image/run/(\w+)">(data:image/png;base64,[\w+/=]+)<', file)


def test_a_report_holds_images_up_to_the_limit_smallest_first(folder, decoder, tmp_path):
    write_report(folder, tmp_path / "whole.html", decoder)
    found = dict(embedded((tmp_path / "whole.html").read_text()))
    assert found == {SOURCE.digest: SOURCE.data_url, PART.digest: PART.data_url}
    write_report(folder, tmp_path / "small.html", decoder, image_megabytes=len(PART.data_url) / 1e6)
    assert [digest for digest, _ in embedded((tmp_path / "small.html").read_text())] == [PART.digest]
    write_report(folder, tmp_path / "none.html", decoder, image_megabytes=0)
    assert not embedded((tmp_path / "none.html").read_text())


@pytest.mark.parametrize(
    ("word", "count"), [("What", 2), ("seven", 2), ("images", 0), (SOURCE.digest[:6], 0), ("320", 0)]
)
def test_a_search_reads_no_digest_as_text(folder, word, count):
    with RunRecord.open(folder / "run") as record:
        assert len(search(record, Where(text=word))) == count


def printed(renderable):
    out = io.StringIO()
    Console(file=out, width=200, color_system=None).print(renderable)
    return out.getvalue()


def test_the_terminal_names_an_image_by_size_digest_and_tokens(folder):
    with RunRecord.open(folder / "run") as record:
        one = record.trajectories()[0]
    text = printed(trajectory_panel(one, decode=Compact().decode))
    assert f"[image 320x240 {SOURCE.digest[:6]}, 3 tokens]" in text
    assert f"[image 20x20 {PART.digest[:6]}, 3 tokens]" in text
    table = printed(token_table(one.sequences[0], decode=Compact().decode, policy_only=False))
    assert table.count("image") == 6 and "46116860" not in table


def test_pieces_split_at_images_and_keep_characters_whole():
    ids = [*"a\u00e9".encode(), *SOURCE.ids(2), *SOURCE.ids(2), *"\u00e9".encode()]
    found = [(one.text, one.start, one.stop, one.image) for one in pieces(ids, Compact().decode)]
    key = SOURCE.key
    assert found == [
        ("a", 0, 1, None), ("\u00e9", 1, 3, None), ("", 3, 5, key), ("", 5, 7, key), ("\u00e9", 7, 9, None),
    ]  # fmt: skip
