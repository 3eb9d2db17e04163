from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.group_records import with_rollouts
from helpers.image_records import noise
from helpers.vision_policy import vision_model

from handaxe.core.records import Author, Group, Message, Sampling, Task
from handaxe.core.requests import Attempt
from handaxe.doctor.token_checks import check_logps, check_mask
from handaxe.engines.local.engine import LocalEngine
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.load import load
from handaxe.rollouts import driver
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_rated


def test_sound_step_passes(made, played):
    mask = check_mask(played.groups, made["format"])
    assert (mask.level, mask.figures["share"]) == ("ok", mask.figures["trained"] / mask.figures["tokens"])
    assert mask.figures["trained"] == sum(one.num_tokens for one in played.rollouts)
    logps = check_logps(made["engine"], played.groups)
    assert logps.level == "ok" and logps.figures["max"] < 1e-4 and logps.figures["ratio"] == pytest.approx(1, abs=1e-5)
    assert "temperature 1 and 128 at temperature 0.7, top-p 0.9" in logps.found


def test_mask_over_text_of_a_tool_is_an_error(made, played, changed_attempt):
    def claim(one):
        sequence = one.sequences[0]
        author = np.where(sequence.author == Author.USER, np.int8(Author.POLICY), sequence.author)
        return replace(one, sequences=(replace(sequence, author=author), *one.sequences[1:]))

    found = check_mask(changed_attempt(played.groups, claim), made["format"])
    assert found.level == "error" and "sampled token" in found.found


def test_turn_that_differs_from_its_parsed_text_is_an_error(made, played, changed_attempt):
    def alter(one):
        first = replace(one.turns[0], parsed=replace(one.turns[0].parsed, raw="something else"))
        return replace(one, turns=(first, *one.turns[1:]))

    found = check_mask(changed_attempt(played.groups, alter), made["format"])
    assert found.level == "error" and "'something else'" in found.found


def test_small_share_of_trained_tokens_is_a_warning(made, played):
    groups = [replace(one, trained=np.zeros(len(one.group), bool)) for one in played.groups]
    assert check_mask(groups, made["format"]).found == "no token trains"
    few = [
        replace(
            one,
            advantages=replace(
                one.advantages,
                trains=tuple(tuple(np.arange(len(s)) == np.argmax(s.mask) for s in t.sequences) for t in one.group),
            ),
        )
        for one in played.groups
    ]
    found = check_mask(few, made["format"])
    assert found.figures["trained"] == len(played.rollouts)
    assert found.level == ("warning" if found.figures["share"] < 0.02 else "ok")


@pytest.fixture
def other():
    """Makes an engine with weights that differ from the weights of the run by noise."""

    def make(noise):
        model = load("tiny").model
        with torch.no_grad():
            for weight in model.module.parameters():
                weight += noise * torch.randn(weight.shape, generator=torch.Generator().manual_seed(1))
        return LocalEngine(model)

    return make


def test_sampler_with_other_weights_is_an_error(played, other):
    found = check_logps(other(0.03), played.groups)
    assert found.level == "error" and found.figures["mean"] > 0.02 and "other weights" in found.remedy


def test_sampler_in_a_coarser_format_is_a_warning(made, played, changed_attempt):
    """Log-probs of the sampler are rounded to bfloat16."""

    def rounded(one):
        def coarse(values):
            return torch.tensor(values).bfloat16().float().numpy()

        parts = [replace(s, logp=coarse(s.logp), behaviour_logp=coarse(s.behaviour_logp)) for s in one.sequences]
        return replace(one, sequences=tuple(parts))

    groups = played.groups
    for _ in range(len(groups)):
        groups = [*groups[1:], groups[0]]
        groups = changed_attempt(groups, rounded)
    found = check_logps(made["engine"], groups)
    assert found.figures["max"] > 1e-4
    groups = [
        with_rollouts(one, replace(one.group, trajectories=tuple(_moved(t, 5e-3) for t in one.played.group)))
        for one in groups
    ]
    found = check_logps(made["engine"], groups)
    assert found.level == "warning" and "add a correction" in found.remedy


def _moved(one, by):
    parts = [replace(s, logp=np.where(s.mask, s.logp - by, 0).astype(np.float32)) for s in one.sequences]
    return replace(one, sequences=tuple(parts))


class Undivided(LocalEngine):
    """Trainer that does not divide logits by the temperature."""

    def forward(self, batch, *, reference=False, names=("logp",)):
        batch = replace(batch, temperature_B=torch.ones_like(batch.temperature_B))
        return super().forward(batch, reference=reference, names=names)


def test_trainer_that_ignores_the_temperature_is_an_error_also_for_a_run_at_temperature_one(played):
    found = check_logps(Undivided(load("tiny").model), played.groups)
    assert found.level == "error" and found.figures["ratio"] == pytest.approx(1, abs=1e-4)


def test_truncated_sampling_is_reported_by_its_mean_ratio(made):
    from handaxe.doctor.trial_steps import restored_state, run_trial

    cut = {**made, "sampling": Sampling(top_p=0.6, max_tokens=24), "group_size": 2}
    with restored_state(made["engine"], (), [made["tasks"]]):
        groups = run_trial(cut, steps=1, groups=4).groups
    found = check_logps(made["engine"], groups)
    assert "temperature 1, top-p 0.6" in found.found and found.figures["mean"] < 1e-4
    assert found.figures["behaviour_ratio"] < 0.98 and found.level == "warning" and "correction" in found.remedy


def test_step_without_samples_is_a_warning(made):
    assert check_logps(made["engine"], []).found.startswith("cannot be checked")
    assert check_mask([], made["format"]).level == "warning"


def test_log_probs_of_rollouts_with_images_are_compared():
    engine = LocalEngine(vision_model(torch.float32))
    task = Task("t", (Message.of("user", "See", noise(0, 16, 16)),))
    format = Compact(engine.model.image_processor)
    attempts = [
        Attempt(task, tool_chat([]), format, Sampling(max_tokens=4), f"t/{k}", k, k, engine.max_length)
        for k in range(3)
    ]
    group = Group(task, tuple(one for (one,) in driver.run(attempts, linear(max_turns=1), engine)))
    found = check_logps(engine, [make_rated(group=group)])
    assert found.level == "ok" and found.figures["tokens"] > 12 and found.figures["max"] < 1e-3
