import itertools

import pytest

pytest.importorskip("sklearn")

from handaxe.core.errors import InputError
from handaxe.worlds.parts.table_data import table_data
from handaxe.worlds.parts.table_pipelines import (
    HOMES,
    STAGES,
    TableChoice,
    build_pipeline,
    fit_quietly,
    pipeline_source,
    zoo,
)


def test_the_source_matches_the_docstring_example():
    chosen = TableChoice("standard", "all", "svm", "middle")
    assert pipeline_source(chosen, regression=False) == "SimpleImputer(), StandardScaler(), SVC(C=1)"
    assert pipeline_source(TableChoice(), regression=True) == "SimpleImputer(), Ridge(alpha=1)"


@pytest.mark.parametrize("regression", [False, True])
def test_the_source_of_every_pipeline_names_the_steps_that_are_built(regression):
    """The text of a step is its name and the parameters that differ from the defaults, as scikit-learn prints them."""
    for options in itertools.product(*STAGES.values()):
        choice = TableChoice(*options)
        built = build_pipeline(choice, regression=regression)
        source = pipeline_source(choice, regression=regression)
        names = [type(step).__name__ for _, step in built.steps]
        assert [part.split("(")[0] for part in source.split("), ")] == names and set(names) <= set(HOMES)
        for part, (_, step) in zip(source.split("), "), built.steps, strict=True):
            for pair in filter(None, part.split("(")[1].rstrip(")").split(", ")):
                key, value = pair.split("=")
                assert str(step.get_params()[key]) == value


def test_pipelines_predict_with_missing_cells():
    own = table_data("wine", number=0, rows=90)
    fitted = fit_quietly(build_pipeline(TableChoice("standard"), regression=False), own.train_X, own.train_y)
    assert (fitted.predict(own.public_X) == own.public_y).mean() > 0.7


def test_the_zoo_has_distinct_pipelines():
    assert len(set(zoo())) == 30 and all(getattr(one, stage) in STAGES[stage] for one in zoo() for stage in STAGES)


def test_unknown_options_raise():
    with pytest.raises(InputError, match="model is one of linear"):
        build_pipeline(TableChoice(model="oak"), regression=False)
