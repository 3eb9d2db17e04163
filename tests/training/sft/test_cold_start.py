"""Starts of a few steps, made for real; how good full ones are is measured in docs/worlds.md."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.piece_policy import piece_policy

from handaxe.core.errors import InputError
from handaxe.core.records import Message, Sampling, Task
from handaxe.engines.local.engine import LocalEngine
from handaxe.evaluation.evaluate import evaluate
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.chat_formats.pieces import Pieces
from handaxe.models.load import load
from handaxe.ops.process_lock import process_lock
from handaxe.rewards.exact_match import exact_match
from handaxe.rollouts.linear import linear
from handaxe.tools import tool
from handaxe.training.sft.cold_start import demonstrations, start_policy
from handaxe.worlds.arithmetic import arithmetic
from handaxe.worlds.world import DemonstrationNoise, Start

SHORT = Start(DemonstrationNoise(call_rate=0.5), skill=2, steps=1, batch_size=4)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path))
    return tmp_path / "starts"


def weights(policy):
    return torch.cat([value.flatten() for value in policy.model.module.state_dict().values()])


def world(**changes):
    return replace(arithmetic(), start=SHORT._replace(**changes))


def test_a_start_is_made_once_and_written_where_asked(cache, tmp_path):
    first = start_policy(world(), out=tmp_path / "out")
    (folder,) = cache.iterdir()
    before = (folder / "model.safetensors").stat().st_mtime_ns
    second = start_policy(world())
    assert [one.name for one in cache.iterdir()] == [folder.name] and folder.name.startswith("arithmetic-")
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    assert torch.equal(weights(first), weights(second))
    assert torch.equal(weights(first), weights(load(str(tmp_path / "out"))))
    assert not torch.equal(weights(first), weights(load("tiny")))


def test_a_start_that_another_process_is_making_is_awaited(cache, tmp_path, monkeypatch):
    made = start_policy(world())
    (folder,) = cache.iterdir()
    folder.rename(tmp_path / "made")
    asked, found = threading.Event(), []

    def lock(file):
        asked.set()
        return process_lock(file)

    monkeypatch.setattr("handaxe.training.sft.cold_start.process_lock", lock)
    monkeypatch.setattr("handaxe.training.sft.cold_start._teach", None)
    other = threading.Thread(target=lambda: found.append(start_policy(world())))
    with process_lock(tmp_path / "locks" / folder.name):
        other.start()
        assert asked.wait(60)
        (tmp_path / "made").rename(folder)
    other.join()
    assert torch.equal(weights(made), weights(found[0]))


def test_the_world_names_the_packaged_model_of_its_start(cache):
    made = start_policy(replace(world(), start_model="tiny_vision"))
    assert made.format.image_processor.patch == 8 and start_policy(world()).format.image_processor is None


def test_context_of_the_world_is_that_of_the_start_and_of_a_resumed_one(cache, tmp_path):
    """512 tokens by default; the weights of a short start depend on its conversations alone."""
    longer = replace(world(), start_context=1024)
    made = start_policy(longer, out=tmp_path / "out")
    assert made.model.max_length == load(str(tmp_path / "out")).model.max_length == 1024
    assert start_policy(longer).model.max_length == 1024 and start_policy(world()).model.max_length == 512
    assert len(list(cache.iterdir())) == 2 and torch.equal(weights(made), weights(start_policy(world())))


def test_the_same_arguments_make_the_same_policy(cache, tmp_path, monkeypatch):
    first = weights(start_policy(world()))
    monkeypatch.setenv("HANDAXE_CACHE", str(tmp_path / "other"))
    assert torch.equal(first, weights(start_policy(world())))


def test_whatever_it_depends_on_makes_another(cache):
    @tool
    def calculator(expression: str, digits: int = 3) -> str:
        """Calculate otherwise."""
        return "7"

    start_policy(world())
    start_policy(world(), seed=1)
    start_policy(world(), tools=[calculator])
    start_policy(world(steps=2))
    start_policy(world(noise=DemonstrationNoise(call_rate=0.9)))
    start_policy(world(warmup=(("a", "b"),)))
    start_policy(replace(arithmetic(easy=0.2), start=SHORT))
    assert len(list(cache.iterdir())) == 7


def test_a_world_without_start_or_expert_says_so():
    with pytest.raises(InputError, match="world 'arithmetic' has no 'start'"):
        start_policy(replace(arithmetic(), start=None))
    with pytest.raises(InputError, match="world 'arithmetic' has no 'expert'"):
        start_policy(replace(world(), expert=None))


def made(count=200, **arguments):
    here = arithmetic()
    tasks = here.tasks("train", 50, 0)
    noise = arguments.pop("noise", DemonstrationNoise())
    return demonstrations(here, here.env(here.tools), tasks, noise=noise, count=count, seed=0, **arguments)


def test_conversations_are_played_and_the_first_do_not_depend_on_how_many():
    few, many = made(10), made(30)
    for one, other in zip(few, many):
        assert np.array_equal(one.sequences[0].ids, other.sequences[0].ids)
    assert all(one.final_text == one.task.answer for one in many)
    assert any(one.replies for one in many)


def test_every_other_conversation_is_a_lesson():
    found = made(40, warmup=(("7*8 is", "56"), ("3+4 is", "7")), noise=DemonstrationNoise(call_rate=0))
    pairs = [one for one in found if one.task.messages[0].content.endswith(" is")]
    assert len(pairs) == 20 and {one.final_text for one in pairs} == {"56", "7"}


def test_what_does_not_fit_the_tiny_policy_says_so():
    with pytest.raises(InputError, match="does not fit into 40 tokens"):
        made(10, context=40)


def test_tools_that_die_say_so():
    @tool(name="calculator", timeout=None)
    def broken(expression: str) -> str:
        """Calculate."""
        raise RuntimeError("no power")

    here = arithmetic(easy=0.0)
    with pytest.raises(InputError, match="the tools failed on task .*no power"):
        demonstrations(here, here.env([broken]), here.tasks("train", 5, 0), noise=DemonstrationNoise(), count=5, seed=0)


def test_the_format_can_be_another():
    (one,) = made(1, format=Compact())
    assert one.sequences


def test_lessons_come_first_and_are_learnt_by_heart(tmp_path):
    """Warmup on two pairs is over in seconds; afterwards the policy says them at temperature 0."""
    pairs = (("the river of kemi is", "arn"), ("the capital of druma is", "sone"))
    here = world(warmup=pairs, warmup_steps=30, skill=0, steps=0, batch_size=8)
    policy = start_policy(here)
    tasks = [Task(f"t{i}", (Message("user", said),), answer, ()) for i, (said, answer) in enumerate(pairs)]
    found = evaluate(
        engine=LocalEngine(policy.model),
        env=here.env(()),
        format=policy.format,
        rollout=linear(max_turns=1),
        tasks=tasks,
        reward=exact_match(),
        sampling=Sampling(temperature=0.0, max_tokens=12),
    )
    assert found.metrics["pass@1"].value == 1


def test_a_drill_needs_lessons():
    with pytest.raises(InputError, match="warmup_steps > 0 needs warmup pairs"):
        start_policy(world(warmup_steps=1))


def test_start_of_a_policy_of_pieces_keeps_its_format(cache):
    pytest.importorskip("tokenizers")
    policy = piece_policy(max_length=1024)
    made = start_policy(world(), policy=policy)
    assert isinstance(made.format, Pieces) and made.model.pieces == policy.model.pieces
    assert made.model.max_length == 1024 and len(list(cache.iterdir())) == 1
    assert torch.equal(weights(start_policy(world(), policy=piece_policy(max_length=1024))), weights(made))
    assert len(list(cache.iterdir())) == 1
