"""Tests of the mixture: stored once, equal ids after encoding, long sequences left out, copying lessons."""

import re
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.records import Message
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.pieces import Pieces, learn_pieces
from handaxe.training.sft import small_mixture
from handaxe.training.sft.cold_start import demonstrations
from handaxe.training.sft.small_mixture import SETTINGS, Setting, encode, load_demonstrations, lookup, texts

pytest.importorskip("tokenizers")
CALLS = Setting("calls", "calls", {"easy": 0.5}, 6)


def test_names_of_settings_are_distinct_and_lessons_come_first():
    names = [one.name for one in SETTINGS]
    assert len(set(names)) == len(names)
    assert {one.name for one in SETTINGS if not one.world} == set(small_mixture.LESSONS)
    assert all(one.early for one in SETTINGS if not one.world)


def test_demonstrations_are_made_once(tmp_path, monkeypatch):
    made = load_demonstrations(CALLS, tmp_path)
    assert len(made) == 6 and made.mask_N.any() and not made.mask_N.all()
    monkeypatch.setattr(small_mixture, "demonstrations", None)  # a second call reads the file
    again = load_demonstrations(CALLS, tmp_path)
    assert all(np.array_equal(a, b) for a, b in zip(vars(made).values(), vars(again).values(), strict=True))
    assert [file.suffix for file in tmp_path.iterdir()] == [".npz"]


def test_encoded_demonstrations_equal_those_played_with_pieces(tmp_path):
    made = load_demonstrations(CALLS, tmp_path)
    format = Pieces(learn_pieces(texts(made), size=300))
    world = CALLS.make()
    tasks = world.tasks("train", 6, 0)
    played = demonstrations(world, world.env(world.tools), tasks, count=6, seed=0, format=format, context=1 << 20)
    encoded = encode(made, format, context=4096)
    assert len(encoded) == len(played)
    for number, one in enumerate(played):
        ids, mask = encoded[number]
        assert ids.tolist() == one.sequences[0].ids.tolist() and mask.tolist() == one.sequences[0].mask.tolist()


def test_sequences_beyond_the_context_are_left_out(tmp_path):
    made = load_demonstrations(replace(CALLS, world="arithmetic"), tmp_path)
    format = Pieces('{"pattern": ".", "merges": []}')
    longest = int(made.lengths().max())
    assert len(encode(made, format, context=longest)) == 6
    assert len(encode(made, format, context=longest - 1)) == 6 - int((made.lengths() == longest).sum())


def test_texts_are_distinct_and_bounded(tmp_path):
    made = load_demonstrations(Setting("lookups", count=5), tmp_path)
    found = list(texts(made))
    assert len(set(found)) == len(found) and "" not in found
    assert sum(len(text.encode()) for text in texts(made, most=50)) <= 50
    assert all(Compact().decode(made[0][0]).count(text) for text in found[:1])


@pytest.mark.parametrize("seed", range(20))
def test_lookup_answers_with_the_value_of_the_asked_name(seed):
    messages = lookup(seed)
    assert [one.role for one in messages] == ["user", "assistant"] * (len(messages) // 2)
    lines = dict(re.split(": | is | -> |=", line) for line in messages[0].content.split("\n")[:-1])
    for asked, answer in zip(messages[::2], messages[1::2], strict=True):
        assert answer == Message("assistant", lines[asked.content.split("\n")[-1].removesuffix("?")])
