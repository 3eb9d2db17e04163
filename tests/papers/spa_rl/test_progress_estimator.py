import math

import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.core.records import Scores
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.spa_rl.progress_estimator import progress
from handaxe.rewards.judged_steps import judged_steps
from handaxe.testing.make_records import make_group, make_rated, make_trajectory
from handaxe.training.loop.batch import Row, pad


def make_engine(*, critic=True, seed=0):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=seed)
    return LocalEngine(model, critic=critic)


CONTRACT = [{"engine": make_engine(), "learning_rate": 0.01}, {"engine": make_engine(), "epochs": 2}]
LAB = "the judge is untrained before a run"


class Says:
    """An engine whose critic says what it is told at each place of the only row."""

    pad_id = 0

    def __init__(self, *values):
        self._values = torch.tensor([values])

    def forward(self, batch, *, reference=False, names=("logp",)):
        assert not reference and list(names) == ["value"] and len(batch) == 1
        return {"value": self._values}


def ragged():
    """Attempts of one to four turns, in one sequence and in two."""
    layouts = [["UUt pp tTt p"], ["Utppp", "UttTtpp"], ["Utp"], ["UUUtpp t p t ppp t p"]]
    return make_group(trajectories=[make_trajectory(layouts=own, id=f"r{i}") for i, own in enumerate(layouts)])


def test_progress_equals_the_worked_example():
    """Values 0.1, 0.5, 0.4 at the ends of three turns of two tokens; what stands elsewhere is not read."""
    group = make_group(layouts=["Utpp tTt pp tTt pp".replace(" ", "")])
    (sequence,) = group[0].sequences
    values = np.full(len(sequence), 9.0)
    for turn, value in zip(group[0].turns, (0.1, 0.5, 0.4), strict=True):
        values[turn.stop - 1] = value
    judge = progress(engine=Says(*values))
    assert judge.score_steps(group)[0].tolist() == pytest.approx([0.1, 0.5, 0.4])
    assert judge.score(group).tolist() == pytest.approx([1.0])


def test_progress_equals_a_slow_loop():
    """The loss is the mean square of what its own scores miss, also for attempts of two rows."""
    judge = progress(engine=make_engine(), learning_rate=0.02)
    group, label_G = ragged(), np.array([1.0, 0.0, 0.5, 1.0])
    for _ in range(3):
        judge.fit([(group, Scores(label_G))])
    engine = judge._engine
    for one, said in zip(group, judge.score_steps(group), strict=True):
        for turn, value in zip(one.turns, said, strict=True):
            row = Row(one.sequences[turn.sequence], np.zeros(len(one.sequences[turn.sequence])), 0, 0)
            alone = engine.forward(pad([row], pad_id=engine.pad_id), names=("value",))["value"]
            assert value == pytest.approx(float(alone[0, turn.stop - 1]), abs=1e-5) and value != 0
    wanted = np.mean((judge.score(group) - label_G) ** 2)
    assert judge.fit([(group, Scores(label_G))])["loss"] == pytest.approx(wanted, rel=1e-4)


def test_unknown_outcomes_do_not_train():
    group = ragged()
    alone = make_group(trajectories=[group[0], group[3]])
    one, two = (progress(engine=make_engine(), learning_rate=0.02) for _ in range(2))
    found = one.fit([(group, Scores(np.array([1.0, np.nan, np.nan, 0.0])))])
    two.fit([(alone, Scores(np.array([1.0, 0.0])))])
    assert found["labels"] == 2
    np.testing.assert_allclose(one.score(group), two.score(group), atol=1e-6)
    before = one.score(group)
    assert one.fit([(group, Scores(np.full(4, np.nan)))]) == {"labels": 0.0}
    assert np.array_equal(one.score(group), before)


def test_progress_predicts_held_out_outcomes():
    """Every turn adds a quarter; the error on attempts that it sees for the first time falls below that of a judge
    which knows nothing but their mean."""
    rng = np.random.default_rng(0)
    judge = progress(engine=make_engine(), learning_rate=0.02)
    errors = []
    for step in range(30):
        count_G = rng.integers(1, 5, size=6)
        layouts = ["U" * int(rng.integers(1, 4)) + "t" + "tTt".join(["pp"] * int(n)) for n in count_G]
        group = make_group(layouts=layouts)
        found = judge.learn([make_rated(group=group, scores=Scores(count_G / 4))], step=step)
        errors.append((found["error"], found["spread"]))
    first, last = np.mean(errors[:3], axis=0), np.mean(errors[-5:], axis=0)
    assert last[0] < 0.5 * last[1] < first[0]


def test_progress_starts_as_a_twin_and_leaves_the_policy_unchanged():
    engine, group = make_engine(critic=False), ragged()
    judge = progress(learning_rate=0.02)
    assert judge.state_dict() == {"engine": None}
    with pytest.raises(InputError, match="no model"):
        judge.score(group)
    judge.begin(engine)
    assert not judge.score(group).any()
    before = [p.clone() for p in engine.model.module.parameters()]
    judge.fit([(group, Scores(np.ones(4)))])
    judge.begin(make_engine(seed=5))  # the second call does nothing
    assert judge.score(group).all()
    assert all(torch.equal(a, b) for a, b in zip(before, engine.model.module.parameters(), strict=True))
    assert judged_steps(judge=judge)(group).turns[0] == pytest.approx(judge.score_steps(group)[0])


def test_progress_reads_a_channel():
    group = ragged()
    judge, other = (progress(engine=make_engine(), channel=name, learning_rate=0.02) for name in ("won", None))
    won = np.array([1.0, 0.0, 0.0, 1.0])
    judge.fit([(group, Scores(np.zeros(4), channels={"won": won}))])
    other.fit([(group, Scores(won))])
    np.testing.assert_allclose(judge.score(group), other.score(group), atol=1e-7)
    with pytest.raises(InputError, match="no channel 'won'"):
        judge.fit([(group, Scores(np.zeros(4)))])


def test_progress_refuses_bad_arguments_and_engines():
    for wrong in ({"epochs": 0}, {"micro_batch_rows": 0}, {"learning_rate": -1.0}, {"clip_norm": 0.0}):
        with pytest.raises(InputError, match="clip_norm above 0"):
            progress(**wrong)
    with pytest.raises(InputError, match="cannot be twinned"):
        progress().begin(Says(0.0))
    with pytest.raises(InputError, match="value"):
        progress(engine=make_engine(critic=False)).score(ragged())
    assert math.isfinite(progress(engine=make_engine()).score(ragged()).sum())
