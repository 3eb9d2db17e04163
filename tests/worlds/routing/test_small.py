import time

import pytest
import torch

from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling
from handaxe.engines.local.engine import LocalEngine
from handaxe.tools.ask import sample_answer
from handaxe.worlds.routing import small as routing_small
from handaxe.worlds.routing.small import small_expert

LESSONS = (("sky", "blue"), ("grass", "green"), ("snow", "white"))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    return tmp_path


def test_small_expert_memorizes_its_pairs_and_is_cached(cache):
    policy = small_expert(LESSONS, steps=60, batch_size=8)
    speaker = AuxPolicy(LocalEngine(policy.model), policy.format, Sampling(temperature=0.0, max_tokens=8))
    assert [sample_answer(speaker, question, seed=0).text for question, _ in LESSONS] == [
        answer for _, answer in LESSONS
    ]
    (folder,) = (cache / "experts").iterdir()
    made = (folder / "model.safetensors").stat().st_mtime_ns
    time.sleep(0.01)
    small_expert(LESSONS, steps=60, batch_size=8)
    assert (folder / "model.safetensors").stat().st_mtime_ns == made


@pytest.mark.parametrize(("module", "name", "value"), [(torch, "__version__", "9.9.9"), (routing_small, "VERSION", 0)])
def test_another_version_is_trained_again(cache, monkeypatch, module, name, value):
    small_expert(LESSONS, steps=1, batch_size=2)
    monkeypatch.setattr(module, name, value)
    small_expert(LESSONS, steps=1, batch_size=2)
    assert len(list((cache / "experts").iterdir())) == 2


def test_other_pairs_have_another_cache_entry(cache):
    small_expert(LESSONS, steps=1, batch_size=2)
    small_expert(LESSONS[:2], steps=1, batch_size=2)
    small_expert(LESSONS, steps=1, batch_size=2, seed=1)
    assert len(list((cache / "experts").iterdir())) == 3
