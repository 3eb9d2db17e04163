"""Fine-tuning on lessons: tokens that train, figures, a killed pipeline, and nothing to learn."""

import json
from dataclasses import replace

import numpy as np
import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.synthesis import pipelines
from handaxe.synthesis.context import PipelineContext
from handaxe.synthesis.lesson import CALCULATOR
from handaxe.synthesis.teach_synthesized import teach_synthesized
from handaxe.training.stages.context import make_site
from handaxe.worlds.arithmetic import arithmetic

HARD = arithmetic(easy=0.0)


class Watched(LocalEngine):
    """Keeps what it is given to learn from."""

    def forward_backward(self, batch, loss):
        self.__dict__.setdefault("seen", []).append(batch)
        return super().forward_backward(batch, loss)


def site(world, **options):
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2, max_length=160), seed=0)
    return make_site(engine=Watched(model), format=world.FORMAT, env=HARD.env(HARD.tools), **options)


def lessons(world):
    def pipeline(site):
        at = PipelineContext(world, "", site.env, HARD.tasks("test", 20, 0))
        return pipelines.solutions(at, batch=16)

    return pipeline


def stage(count, *, world=HARD, **options):
    return teach_synthesized(pipeline=lessons(world), tool=CALCULATOR, count=count, **options)


def test_calls_and_answers_train_and_replies_do_not(world, tmp_path):
    here = site(world, out=tmp_path)
    (row,) = stage(2)(here)
    (batch,), found = here.engine.seen, {}
    for ids, mask in zip(batch.ids_BT.numpy(), batch.mask_BT.numpy(), strict=True):
        places = np.flatnonzero(mask)
        starts = places[np.flatnonzero(np.diff(places, prepend=-9) > 1)]
        stops = places[np.flatnonzero(np.diff(places, append=10**6) > 1)] + 1
        said = [world.FORMAT.decode(ids[a:b].tolist()) for a, b in zip(starts, stops, strict=True)]
        found[said[0]] = said[1:]
    rows = [json.loads(line) for line in (tmp_path / "synthesis" / "tasks.jsonl").read_text().splitlines()]
    assert found == {
        f"<CALL>calculator {row['lesson'][0][1]}<CALL_END><END>": [f"{row['answer']}<END>"] for row in rows
    }
    assert {name: row[name] for name in ("proposed", "made", "calls", "corrected", "asks", "fit", "lessons")} == {
        "proposed": 16, "made": 2, "calls": 1, "corrected": 0, "asks": 0, "fit": 2, "lessons": 2,
    }  # fmt: skip


def test_epochs_and_batches(world):
    assert len(stage(6, epochs=3, batch_size=4, learning_rate=0.01)(site(world))) == 6


@pytest.mark.parametrize("nothing", [{"count": 0}, {"count": 4, "epochs": 0}])
def test_nothing_to_learn_changes_nothing_and_needs_no_solutions(world, nothing):
    here = site(world)
    assert stage(**nothing, world=replace(HARD, solution=None))(here) == [] and here.engine.version == 0


def test_a_killed_pipeline_continues_from_its_ledger(world, tmp_path, monkeypatch):
    """The kill is an error of the second play of the stage, after the pipeline is done."""
    from handaxe.synthesis import teach_synthesized as module

    first = stage(3)(site(world, out=tmp_path / "whole"))
    with monkeypatch.context() as patch:
        patch.setattr(module, "teach", lambda **options: lambda site: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            stage(3)(site(world, out=tmp_path / "killed"))
    assert stage(3)(site(world, out=tmp_path / "killed")) == first
    for name in ("tasks.jsonl", "provenance.jsonl", "card.json"):
        files = [tmp_path / folder / "synthesis" / name for folder in ("whole", "killed")]
        assert files[0].read_bytes() == files[1].read_bytes()


def test_wrong_input(world):
    with pytest.raises(InputError, match="give 0 or more of each"):
        stage(-1)
    easy = arithmetic(easy=1.0)
    with pytest.raises(InputError, match="no lesson that fits: 64 nothing worth a call"):
        stage(4, world=easy)(site(world))
