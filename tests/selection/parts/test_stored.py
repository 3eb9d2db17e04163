from dataclasses import replace

import numpy as np
import pytest
from helpers.image_records import noise, shown_group, shown_trajectory
from safetensors.numpy import load_file

from handaxe.core.errors import InputError
from handaxe.core.records import Branch, Disposition, RatedGroup
from handaxe.core.validation import check_group
from handaxe.credit.group_norm import group_norm
from handaxe.selection.parts.stored import dump, load, stored_reward, stored_sibling, swap_in
from handaxe.testing.make_records import make_group, make_rated, make_scores, make_trajectory
from handaxe.testing.random_groups import random_group, random_scores
from handaxe.training.record.checkpoint import Checkpoints


def rated(seed=0, features=()):
    group = random_group(seed, size=3, features=features)
    scores = replace(
        random_scores(group, seed),
        channels={"a": np.array([1.0, 2.0, 3.0])},
        turn_channels={"b": tuple(np.ones(len(one.turns)) for one in group)},
    )
    return RatedGroup.of(group, scores, group_norm()(group, scores))


class Holder:
    def __init__(self, one=None):
        self.one = one

    def state_dict(self):
        return dump(self.one)

    def load_state_dict(self, state):
        self.one = load(state)


def test_stored_sibling_keeps_scores_features_and_log_probs():
    one = rated(features=("value",))
    for i in range(3):
        own = stored_sibling(one, i)
        assert own.group[0].id == one.group[i].id and own.group.step == one.group.step
        assert own.scores.outcome.tolist() == [one.scores.outcome[i]]
        assert own.scores.channels["a"].tolist() == [i + 1.0]
        assert stored_reward(own) == pytest.approx(one.scores.outcome[i] + one.scores.turns[i].sum())
        assert stored_reward(own, channel="a") == i + 1
        for now, then in zip(own.group[0].sequences, one.group[i].sequences, strict=True):
            np.testing.assert_array_equal(now.features["old_logp"], then.logp)
            assert set(now.features) == {"value", "old_logp"}


def test_stored_sibling_keeps_a_measured_old_logp_and_adds_none_to_forced_tokens():
    measured = make_trajectory(features={"old_logp": -2.0})
    forced = make_trajectory(layouts=["Ut fp"])
    one = make_rated(group=make_group(trajectories=[measured, forced]))
    (sequence,) = stored_sibling(one, 0).group[0].sequences
    np.testing.assert_array_equal(sequence.features["old_logp"][sequence.mask], -2.0)
    assert "old_logp" not in stored_sibling(one, 1).group[0].sequences[0].features


def test_stored_sibling_of_a_fork_has_no_branch():
    group = make_group(size=2)
    fork = replace(group[1], branch_of=Branch(group[0].id, 0, 3))
    one = make_rated(group=replace(group, trajectories=(group[0], fork)))
    assert stored_sibling(one, 1).group[0].branch_of is None


@pytest.mark.parametrize("seed", range(4))
def test_dump_and_load_round_trip_through_a_checkpoint(seed, tmp_path, world):
    one = stored_sibling(rated(seed, features=("value",)), seed % 3)
    state = dump(one)
    np.testing.assert_equal(dump(load(state)), state)
    saved, back = Checkpoints(tmp_path), Holder()
    saved.save(1, world.make_engine(), {"holder": Holder(one)})
    saved.load(world.make_engine(), {"holder": back})
    np.testing.assert_equal(dump(back.one), state)
    for now, then in zip(back.one.group[0].sequences, one.group[0].sequences, strict=True):
        assert now.ids.dtype == then.ids.dtype and now.logp.dtype == then.logp.dtype
    assert back.one.group[0].turns == one.group[0].turns and back.one.group.task == one.group.task


def test_swap_in_replaces_a_sibling_and_its_scores():
    one, other = rated(0), rated(1)
    stored = stored_sibling(other, 2)
    changed = swap_in(one, 1, stored, id="new", by="success_replay")
    group, scores = changed.group, changed.scores
    check_group(group)
    assert [t.id for t in group] == [one.group[0].id, "new", one.group[2].id]
    assert group[1].sample == 1 and group[1].sequences is stored.group[0].sequences
    assert scores.outcome.tolist() == [one.scores.outcome[0], other.scores.outcome[2], one.scores.outcome[2]]
    assert scores.channels["a"].tolist() == [1, 3, 3] and scores.turns[1] is other.scores.turns[2]
    assert scores.eligible.tolist() == [one.scores.eligible[0], other.scores.eligible[2], one.scores.eligible[2]]
    assert one.scores.outcome[1] != scores.outcome[1]
    dropped = (Disposition("dropped", "success_replay"),)
    assert changed.played.group is one.group and changed.played.dispositions == ((), dropped, ())


def test_swap_in_rejects_a_trajectory_of_another_reward():
    stored = stored_sibling(make_rated(group=make_group(size=1), scores=make_scores([1.0], channels={"x": [1.0]})), 0)
    with pytest.raises(InputError, match="same reward"):
        swap_in(make_rated(), 0, stored, id="new", by="success_replay")


def test_images_are_stored_once_and_text_only_state_has_none():
    images = [noise(k) for k in range(3)]
    one = RatedGroup.of(*shown_rated(shown_trajectory(*images[:2], hidden=images[2])))
    state = dump(one)
    assert sorted(image.digest for image in state["images"]) == sorted(image.digest for image in images)
    assert "images" not in dump(stored_sibling(rated(), 0))
    back = load(state).group[0]
    assert back.images == one.group[0].images and back.notes == one.group[0].notes


def test_images_in_a_checkpoint_need_no_run_record(world, tmp_path):
    images = [noise(k) for k in range(2)]
    first, second = (RatedGroup.of(*shown_rated(shown_trajectory(*images, id=f"seen/{k}"))) for k in (0, 1))
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, world.make_engine(), {"a": Holder(first), "b": Holder(second)})
    names = load_file(tmp_path / "step-000001" / "arrays.safetensors").keys()
    assert sorted(name for name in names if name.startswith("images/")) == sorted(f"images/{i.digest}" for i in images)
    back = {"a": Holder(), "b": Holder()}
    checkpoints.load(world.make_engine(), back)
    found = back["b"].one.group[0]
    assert found.id == "seen/1" and found.messages == second.group[0].messages
    np.testing.assert_array_equal(found.images[1].pixels, images[1].pixels)
    np.testing.assert_array_equal(found.sequences[0].ids, second.group[0].sequences[0].ids)


def shown_rated(trajectory):
    """Group, scores and advantages of one trajectory."""
    found = shown_group(trajectory)
    return found.group, found.scores, found.advantages
