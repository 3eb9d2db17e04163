"""A user's folder of images with a CSV file: trained, resumed without the originals, and exported."""

import json
import shutil

import pytest
import torch
from helpers.image_records import noise
from helpers.vision_policy import CONFIG

from handaxe.cli import main
from handaxe.models.load import load
from handaxe.models.tiny import TinyModel
from handaxe.training.record.run_record import RunRecord
from handaxe.view.exports.jsonl import read_jsonl

SIZES = ["--groups", "2", "--group-size", "2", "--held-out", "2", "--max-tokens", "8", "--quiet"]


@pytest.fixture
def photos(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TinyModel.new(CONFIG, seed=1).save(tmp_path / "eyes")
    (tmp_path / "photos").mkdir()
    for k in range(12):
        (tmp_path / "photos" / f"{k}.png").write_bytes(noise(k, 16, 16).data)
    lines = ["file,question,answer", *(f"photos/{k}.png,Which?,{k}" for k in range(12))]
    (tmp_path / "photos.csv").write_text("\n".join(lines))
    return tmp_path


@pytest.mark.slow
def test_a_folder_of_images_with_a_csv_trains_resumes_and_exports(photos, capsys):
    world = ["--world", "jsonl", "--world.file", "photos.csv", "--world.image", "file", "--tools", "none"]
    assert main(["train", "grpo_no_kl", "--model", "eyes", *world, "--steps", "1", *SIZES, "--out", "run"]) == 0
    shutil.rmtree(photos / "photos")
    (photos / "photos.csv").unlink()
    assert main(["resume", "run", "--steps", "2", "--quiet"]) == 0
    with RunRecord.open(photos / "run") as record:
        recorded = record.trajectories()
    assert len(recorded) == 8 and all(one.num_image_tokens == 4 for one in recorded)
    assert main(["trajectories", "run", "--out", "out.jsonl", "--images", "images"]) == 0
    shown = {image.digest for one in recorded for image in one.images}
    assert {path.stem for path in (photos / "images").iterdir()} == shown
    line = json.loads((photos / "out.jsonl").read_text().splitlines()[0])
    assert 256 in line["sequences"][0]["ids"], "the placeholder of the policy's vocabulary"
    found = list(read_jsonl(photos / "out.jsonl"))
    assert sorted(one.trajectory.id for one in found) == sorted(one.id for one in recorded)
    assert main(["trajectories", "run", "--out", "x.eval", "--to", "inspect", "--images", "images"]) == 2
    assert "--images is for --to jsonl" in capsys.readouterr().err


def test_a_policy_without_vision_is_refused(photos, small_model, capsys):
    world = ["--world", "jsonl", "--world.file", "photos.csv", "--world.image", "file", "--tools", "none"]
    words = ["train", "grpo_no_kl", "--model", str(small_model), *world, "--steps", "1", *SIZES, "--out", "run"]
    assert main(words) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()[-1:]
    assert "image" in line, line
    print(line)


REWARD = """
from handaxe.rewards.answer_score import answer_score

odd_length = answer_score(scorer=lambda task, text: float(len(text) % 2))
"""


@pytest.mark.parametrize(("vision", "moves"), [("frozen", False), ("auto", True)])
def test_the_tower_stays_frozen_or_trained_over_a_resume(photos, vision, moves):
    (photos / "own_reward.py").write_text(REWARD)
    world = ["--world", "jsonl", "--world.file", "photos.csv", "--world.image", "file", "--tools", "none"]
    world += ["--world.score", "own_reward:odd_length"]
    words = ["train", "grpo_no_kl", "--model", "eyes", *world, "--vision", vision, "--steps", "1", *SIZES]
    assert main([*words, "--out", "run"]) == 0
    before, after = load("eyes").model.module.state_dict(), load("run").model.module.state_dict()
    assert main(["resume", "run", "--steps", "2", "--quiet"]) == 0
    last = load("run").model.module.state_dict()
    for first, second in ((before, after), (after, last)):
        moved = {name for name in first if not torch.equal(first[name], second[name])}
        assert moved and any(name.startswith("vision.") for name in moved) == moves


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--lora-vision"], "--lora-vision needs --lora RANK"),
        (["--lora", "2", "--vision", "trained"], "replace --vision trained by --lora-vision"),
        (["--model", "start", "--vision", "frozen"], "--model start trains all weights"),
    ],
)
def test_options_of_vision_that_do_not_fit_are_one_sentence(photos, words, message, capsys):
    world = ["--world", "plates", "--model", "eyes"]
    assert main(["train", "grpo_no_kl", *world, *words, "--out", "run"]) == 2
    assert message in " ".join(capsys.readouterr().err.split())
