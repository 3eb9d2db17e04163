from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.image_records import noise, shown_trajectory
from helpers.vision_policy import vision_model

from handaxe.core.errors import InputError, TrainingError
from handaxe.core.records import (
    Advantages,
    Ending,
    Group,
    Message,
    ParsedTurn,
    RatedGroup,
    Sampling,
    Scores,
    Task,
    TokenSequence,
    Trajectory,
    Turn,
)
from handaxe.engines.local.engine import LocalEngine
from handaxe.testing.engine_case import example_loss
from handaxe.testing.make_records import make_rated, make_trajectory
from handaxe.testing.random_groups import random_group
from handaxe.training.loop.batch import make_batch, microbatches, minibatches

LETTERS = {"t": 0, "u": 1, "T": 2, "p": 3}
TASK = Task("t", (Message("user", "?"),))


def sequence(letters, turns, value=0.0):
    author = np.array([LETTERS[c] for c in letters], np.int8)
    mask = author == 3
    logp = np.where(mask, -0.5 - np.arange(len(letters)) / 10, 0).astype(np.float32)
    return TokenSequence(
        ids=np.arange(10, 10 + len(letters), dtype=np.int32),
        author=author,
        turn=np.array([-1 if c == "-" else int(c) for c in turns], np.int16),
        logp=logp,
        behaviour_logp=logp / 2,
        version=np.where(mask, 0, -1).astype(np.int32),
        features={"value": np.full(len(letters), value)},
    )


def trajectory(*sequences, sample=0):
    turns = []
    for s, one in enumerate(sequences):
        for k in np.unique(one.turn[one.mask]):
            span = np.flatnonzero(one.mask & (one.turn == k))
            turns.append(Turn(s, int(span[0]), int(span[-1]) + 1, ParsedTurn(""), "stop", Sampling(0.7), 0))
    return Trajectory(f"t/{sample}", TASK, sample, tuple(turns), sequences, Ending("completed"), TASK.messages)


def rated(trajectories, values, trained=None):
    tokens = tuple(
        tuple(np.where(s.mask, v, 0.0) for s in t.sequences) for t, v in zip(trajectories, values, strict=True)
    )
    scores = Scores(np.array(values))
    keep = np.ones(len(values), bool) if trained is None else np.array(trained)
    return RatedGroup.of(Group(TASK, tuple(trajectories)), scores, Advantages(tokens), trained=keep)


def example():
    """Three rollouts in two groups; the second rollout has two rows.

    row  authors   turn     rollout  trained tokens of the rollout
    0    utppTtp   --0000 1    0        3
    1    tpp       -00         1        3   (this row 2, the next 1)
    2    utp       --1         1        3
    3    up        -0          2        1
    """
    first = trajectory(sequence("utppTtp", "--00001"))
    second = trajectory(sequence("tpp", "-00", 2.0), sequence("utp", "--1", 3.0), sample=1)
    third = trajectory(sequence("up", "-0"))
    return [rated([first, second], [1.0, -1.0]), rated([third], [0.5])]


def test_the_table_of_the_docstring():
    batch = make_batch(example(), pad_id=9)
    assert batch.ids_BT.tolist()[1] == [10, 11, 12, 9, 9, 9, 9]
    assert batch.mask_BT.int().tolist() == [
        [0, 0, 1, 1, 0, 0, 1],
        [0, 1, 1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0, 0],
    ]
    assert batch.attend_BT.sum(1).tolist() == [7, 3, 3, 2]
    assert batch.rollout_B.tolist() == [0, 1, 1, 2] and batch.group_B.tolist() == [0, 0, 0, 1]
    assert batch.rollout_tokens_B.tolist() == [3, 3, 3, 1]
    assert batch.denominators == (7, 3, 5, 2, 4)
    assert batch.rollout_turns_B.tolist() == [2, 2, 2, 1]
    assert batch.adv_BT[2].tolist() == [0, 0, -1, 0, 0, 0, 0]
    assert torch.allclose(batch.temperature_B, torch.tensor(0.7))
    assert batch.extras["value"][2, :3].tolist() == [3, 3, 3]


def test_old_logp_is_the_trainers_where_it_was_recomputed():
    plain = make_batch(example(), pad_id=9)
    assert torch.allclose(plain.old_logp_BT, 2 * plain.behaviour_logp_BT)
    one = sequence("up", "-0")
    one = TokenSequence(**{**one.__dict__, "features": {"old_logp": np.array([0, -0.25])}})
    batch = make_batch([rated([trajectory(one)], [1.0])], pad_id=9)
    assert batch.old_logp_BT.tolist() == [[0, -0.25]]


def test_what_is_left_out_leaves_the_denominators_too():
    one, _ = example()
    batch = make_batch(
        [RatedGroup.of(one.group, one.scores, one.advantages, trained=np.array([False, True]))], pad_id=9
    )
    assert len(batch) == 2 and batch.denominators == (3, 1, 2, 1, 0)
    with pytest.raises(TrainingError, match="nothing to train on"):
        make_batch([RatedGroup.of(one.group, one.scores, one.advantages, trained=np.array([False, False]))], pad_id=9)


def test_micro_batches_share_the_denominators_and_lose_no_token():
    whole = make_batch(example(), pad_id=9)
    for rows in (1, 2, 3, 100):
        parts = microbatches(whole, rows)
        assert all(part.denominators == whole.denominators and len(part) <= max(rows, 2) for part in parts)
        assert sum(float((part.adv_BT * part.mask_BT).sum()) for part in parts) == pytest.approx(3 - 3 + 0.5)
        assert sum(int(part.mask_BT.sum()) for part in parts) == 7
        assert sum(1 in part.rollout_B for part in parts) == 1, "the two rows of rollout 1 stay together"
    assert microbatches(whole, 1)[0].ids_BT.shape == (1, 2), "the padding of longer rows is cut away"


def test_mini_batches_keep_rollouts_whole_and_count_anew():
    whole = make_batch(example(), pad_id=9)
    parts = minibatches(whole, 3, np.random.default_rng(0))
    assert sorted(tuple(part.rollout_B.unique().tolist()) for part in parts) == [(0,), (1,), (2,)]
    assert sorted(part.denominators.tokens for part in parts) == [1, 3, 3]
    again = minibatches(whole, 3, np.random.default_rng(0))
    assert [p.rollout_B.tolist() for p in parts] == [p.rollout_B.tolist() for p in again]
    assert minibatches(whole, 1, np.random.default_rng(0)) == [whole]
    assert len(minibatches(whole, 50, np.random.default_rng(0))) == 3


def test_returns_only_where_every_row_has_them():
    one, two = example()
    target = Advantages(one.advantages.tokens, one.advantages.tokens)
    with_returns = RatedGroup.of(one.group, one.scores, target, trained=one.trained)
    assert "returns" in make_batch([with_returns], pad_id=9).extras
    assert "returns" not in make_batch([with_returns, two], pad_id=9).extras


def with_trains(one, choose):
    """Whose tokens train as `choose(sequence)` says."""
    trains = tuple(tuple(choose(s) for s in t.sequences) for t in one.group)
    return replace(one, advantages=replace(one.advantages, trains=trains))


def ragged_groups():
    return [make_rated(group=random_group(seed), outcome=[1.0] * len(random_group(seed))) for seed in range(4)]


def test_to_train_every_token_is_to_say_nothing():
    plain = make_batch(ragged_groups(), pad_id=0)
    said = make_batch([with_trains(one, lambda s: np.ones(len(s), bool)) for one in ragged_groups()], pad_id=0)
    assert said.denominators == plain.denominators and said.extras.keys() == plain.extras.keys()
    for name, tensor in vars(plain).items():
        if isinstance(tensor, torch.Tensor):
            assert torch.equal(tensor, getattr(said, name)), name


@pytest.mark.parametrize("seed", range(5))
def test_what_does_not_train_leaves_mask_and_denominators(seed):
    """Against a slow loop over tokens, with an advantage of NaN where nothing trains."""
    rng = np.random.default_rng(seed)
    groups = [with_trains(one, lambda s: rng.random(len(s)) < 0.5) for one in ragged_groups()]
    rows, rollout, positive = [], 0, 0
    for one in groups:
        for i, own in enumerate(one.group):
            for s, row in enumerate(own.sequences):
                kept = [t for t in range(len(row)) if row.author[t] == 3 and one.advantages.trains[i][s][t]]
                one.advantages.tokens[i][s][~one.advantages.trains[i][s]] = np.nan
                positive += sum(one.advantages.tokens[i][s][t] > 0 for t in kept)
                if kept:
                    rows.append((rollout, kept, {int(row.turn[t]) for t in kept}))
            rollout += 1
    batch = make_batch(groups, pad_id=0)
    assert [(r, m.nonzero()[:, 0].tolist()) for r, m in zip(batch.rollout_B.tolist(), batch.mask_BT)] == [
        (r, kept) for r, kept, _ in rows
    ]
    turns = {r: set().union(*(found for other, _, found in rows if other == r)) for r, _, _ in rows}
    assert batch.rollout_turns_B.tolist() == [len(turns[r]) for r, _, _ in rows]
    counts = sum(len(kept) for _, kept, _ in rows), len(turns), sum(map(len, turns.values()))
    assert batch.denominators[:3] == counts and batch.denominators.positive == positive
    assert batch.adv_BT.isfinite().all() and not batch.adv_BT[~batch.mask_BT].any()


def test_forced_tokens_train_with_an_old_logp_only():
    forced = make_trajectory(layouts=["Utpf"], logp=[-1, -2])
    rated_ = make_rated(group=Group(forced.task, (forced,)), outcome=[1.0])
    with pytest.raises(InputError, match=r"FORCED tokens .* annotate=\(\"old_logp\",\)"):
        make_batch([rated_], pad_id=0)
    assert make_batch([with_trains(rated_, lambda s: ~s.forced)], pad_id=0).denominators.tokens == 1
    assert make_batch([rated_], pad_id=0, compares=False).denominators.tokens == 2
    annotated = make_trajectory(layouts=["Utpf"], logp=[-1, -2], features={"old_logp": [-0.5, -0.75]})
    batch = make_batch([make_rated(group=Group(forced.task, (annotated,)), outcome=[1.0])], pad_id=0)
    assert batch.old_logp_BT[batch.mask_BT].tolist() == [-0.5, -0.75]
    assert batch.behaviour_logp_BT[batch.mask_BT].tolist() == [-1, -2]


def piece_rollouts(batch, rows):
    return [part.rollout_B.tolist() for part in microbatches(batch, rows)]


def test_siblings_stay_together_and_a_large_group_is_split_evenly():
    def group(count, length):
        return rated(
            [trajectory(sequence("u" + "p" * length, "-" + "0" * length), sample=i) for i in range(count)],
            [1.0] * count,
        )

    batch = make_batch([group(3, 9), group(2, 4), group(3, 2), group(1, 6)], pad_id=0)
    # rollouts 0 1 2 | 3 4 | 5 6 7 | 8, from the shortest group to the longest
    assert piece_rollouts(batch, 4) == [[5, 6, 7], [3, 4, 8], [0, 1, 2]]
    assert piece_rollouts(batch, 2) == [[5, 6], [7], [3, 4], [8], [0, 1], [2]]
    large = make_batch([group(9, 3)], pad_id=0)
    assert [len(part) for part in microbatches(large, 8)] == [5, 4]


def test_rows_that_share_more_are_split_last():
    def one(letters, ids, sample):
        made = sequence(letters, "-" + "0" * (len(letters) - 1))
        return trajectory(TokenSequence(**{**made.__dict__, "ids": np.array(ids, np.int32)}), sample=sample)

    forks = [one("upp", [300, 7, 1], 0), one("upp", [300, 256, 1], 1), one("upp", [300, 7, 2], 2)]
    forks.append(one("upp", [300, 256, 2], 3))
    assert piece_rollouts(make_batch([rated(forks, [1.0] * 4)], pad_id=0), 2) == [[0, 2], [1, 3]]


def test_channels_of_advantages_become_extras_with_denominators_of_their_own():
    group = random_group(3, size=4)
    one = make_rated(group=group, outcome=[1, 0, 1, 0])
    only_first = tuple(
        tuple(np.where(s.mask, 2.0 if i == 0 else 0.0, 0.0) for s in t.sequences) for i, t in enumerate(group)
    )
    with_channel = replace(one, advantages=replace(one.advantages, channels={"second": only_first}))
    batch = make_batch([with_channel], pad_id=0)
    first_B = batch.rollout_B == 0
    assert torch.equal(batch.extras["advantage/second"][first_B], 2.0 * batch.mask_BT[first_B])
    assert not batch.extras["advantage/second"][~first_B].any()
    assert batch.channels["advantage/second"].rollouts == 1
    assert batch.channels["advantage/second"].tokens == group[0].num_tokens
    (piece,) = [p for p in minibatches(batch, 4, np.random.default_rng(0)) if 0 in p.rollout_B]
    assert piece.channels["advantage/second"] == piece.denominators._replace(positive=piece.denominators.tokens)
    both = make_batch([with_channel, one], pad_id=0)  # a group whose credit says nothing of it
    assert torch.equal(both.extras["advantage/second"][: len(batch)], batch.extras["advantage/second"])
    assert not both.extras["advantage/second"][len(batch) :].any()
    assert both.channels["advantage/second"] == batch.channels["advantage/second"]


# --- images --------------------------------------------------------------------------------------------------------


def image_groups():
    """Two groups: one with images in two of its three trajectories, one of text."""
    images = [noise(seed, 24, 8) for seed in range(5)]
    texts = [make_trajectory(id=f"text/{i}", sample=i) for i in range(2)]
    shown = [
        shown_trajectory(images[0], images[1], id="seen/0"),
        replace(shown_trajectory(images[0], images[2], hidden=images[3], id="seen/1"), sample=1),
        replace(shown_trajectory(images[4], images[4], id="seen/2"), sample=2),
    ]
    seen = make_rated(group=Group(shown[0].task, tuple(shown)), advantage=[1.0, -0.5, 0.3], trained=[True, True, False])
    return images, seen, make_rated(group=Group(texts[0].task, tuple(texts)), advantage=[1.0, -1.0])


def test_batch_has_the_images_of_trained_trajectories_once():  # trap 11
    images, seen, text = image_groups()
    batch = make_batch([text, seen], pad_id=256)
    assert batch.images == tuple(images[:3])
    assert make_batch([text], pad_id=256).images == ()
    parts = [*microbatches(batch, 1), *minibatches(batch, 2, np.random.default_rng(0))]
    assert all(part.images == batch.images for part in parts) and batch.map(lambda x: x).images == batch.images


@pytest.mark.exact
def test_losses_and_gradients_of_pieces_add_up_with_images_in_some_rows():  # traps 10 and 11
    _, seen, text = image_groups()
    batch = make_batch([text, seen], pad_id=256, dtype=torch.float64)
    results = []
    for parts in ([batch], microbatches(batch, 1), [batch.rows(torch.tensor([row])) for row in range(len(batch))]):
        engine = LocalEngine(vision_model())
        value = sum(engine.forward_backward(part, example_loss).value.item() for part in parts)
        parameters = dict(engine.model.module.named_parameters())
        assert parameters["vision.rows.weight"].grad.abs().max() > 0
        results.append((value, torch.cat([one.grad.flatten() for one in parameters.values() if one.grad is not None])))
    for value, gradient in results[1:]:
        assert value == pytest.approx(results[0][0], abs=1e-9)
        torch.testing.assert_close(gradient, results[0][1], rtol=0, atol=1e-8)
