import numpy as np
import pytest

from handaxe.core.protocols import StageContext
from handaxe.core.records import Scores, Task
from handaxe.papers.par import reference_scores
from handaxe.papers.par.reference_scores import ReferenceScores
from handaxe.rewards.outcome import outcome
from handaxe.testing.make_records import make_group, make_rated, make_task


def test_scores_are_kept_by_task_without_unscored_ones(monkeypatch):
    groups = [
        make_rated(group=make_group(layouts=["Utp"] * 3, task=make_task(id=name)), outcome=values)
        for name, values in (("a", [1.0, np.nan, 3.0]), ("b", [2.0, 2.0, 0.5]))
    ]
    monkeypatch.setattr(reference_scores, "played", lambda **chosen: lambda site: groups)
    known = ReferenceScores(score=outcome(lambda one: 1.0), tasks=2, count=3)
    assert known(Task("a", ())).tolist() == []
    (row,) = known.stage(StageContext(*[None] * 7))
    assert known(Task("a", ())).tolist() == [1.0, 3.0] and known(Task("b", ())).tolist() == [2.0, 2.0, 0.5]
    assert row["references"] == 5 and row["mean"] == pytest.approx(8.5 / 5)
    assert known(Task("c", ())).tolist() == [] and isinstance(groups[0].scores, Scores)
