import pytest
from helpers.reward_models import labelled_group

from handaxe.core.errors import InputError
from handaxe.core.heads import Head
from handaxe.core.protocols import StageContext
from handaxe.engines.local.engine import LocalEngine
from handaxe.judges.reward_model import reward_model
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.selection.pairs.ordered import ordered
from handaxe.testing.make_records import make_rated
from handaxe.training.stages.fit import fit


def policy():
    return LocalEngine(TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=96), seed=0))


def site(engine):
    return StageContext(engine, *[None] * 6)


def groups(site):
    """What any source returns; the labels are the scores."""
    del site
    return [make_rated(group=one, outcome=scores.outcome) for one, scores in map(labelled_group, range(6))]


def judge():
    return reward_model(pairs=ordered(), head=Head(), learning_rate=1e-2, epochs=20)


def test_the_judge_is_fitted_and_the_policy_stays():
    engine, one = policy(), judge()
    before = engine.start_digest()
    (row,) = fit(judge=one, source=groups)(site(engine))
    assert row["step"] == 0 and row["labels"] == 6 and engine.start_digest() == before
    for seed in range(6, 10):
        group, scores = labelled_group(seed)
        assert one.score(group).argmax() == scores.outcome.argmax()


def test_a_second_run_of_the_stage_fits_the_same_judge():
    """A resumed run fits again from the recorded groups."""
    found = []
    for _ in range(2):
        one = judge()
        fit(judge=one, source=groups)(site(policy()))
        found.append(one.score(labelled_group(9)[0]).tolist())
    assert found[0] == found[1]


def test_a_source_without_groups_is_refused():
    with pytest.raises(InputError, match="no scored group"):
        fit(judge=judge(), source=lambda site: [])(site(policy()))
