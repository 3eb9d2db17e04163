import time

import pytest
import torch

from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.tools.ask import answer_of
from handaxe.worlds.priced import small as priced_small
from handaxe.worlds.priced.small import small_expert

LESSONS = (("sky", "blue"), ("grass", "green"), ("snow", "white"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    return tmp_path


def test_it_knows_what_it_was_taught_and_is_made_once(cache):
    policy = small_expert(LESSONS, steps=60, batch_size=8)
    speaker = AuxPolicy(LocalEngine(policy.model), policy.format, Sampling(temperature=0.0, max_tokens=8))
    assert [answer_of(speaker, question, seed=0).text for question, _ in LESSONS] == [answer for _, answer in LESSONS]
    (folder,) = (cache / "experts").iterdir()
    made = (folder / "model.safetensors").stat().st_mtime_ns
    time.sleep(0.01)
    small_expert(LESSONS, steps=60, batch_size=8)
    assert (folder / "model.safetensors").stat().st_mtime_ns == made


@pytest.mark.parametrize(("module", "name", "value"), [(torch, "__version__", "9.9.9"), (priced_small, "TAUGHT", 0)])
def test_one_that_was_taught_by_other_code_is_not_taken(cache, monkeypatch, module, name, value):
    small_expert(LESSONS, steps=1, batch_size=2)
    monkeypatch.setattr(module, name, value)
    small_expert(LESSONS, steps=1, batch_size=2)
    assert len(list((cache / "experts").iterdir())) == 2


def test_other_lessons_are_another_expert(cache):
    small_expert(LESSONS, steps=1, batch_size=2)
    small_expert(LESSONS[:2], steps=1, batch_size=2)
    small_expert(LESSONS, steps=1, batch_size=2, seed=1)
    assert len(list((cache / "experts").iterdir())) == 3
