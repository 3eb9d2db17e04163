"""The models that ship offer what an engine needs of one."""

import inspect

import pytest

from handaxe.core import model_api as networks
from handaxe.models.huggingface import AdaptedModel, HuggingFaceModel
from handaxe.models.tiny import TinyConfig, TinyModel


@pytest.mark.parametrize("kind", [TinyModel, HuggingFaceModel, AdaptedModel])
def test_every_model_has_the_methods_of_the_protocol(kind):
    wanted = {name for name, value in vars(networks.Model).items() if inspect.isfunction(value)} - {"__init__"}
    assert {name for name in wanted if not name.startswith("_")} <= set(dir(kind))


def test_only_adapted_models_are_adapter_models():
    assert issubclass(AdaptedModel, networks.AdapterModel)
    assert not issubclass(HuggingFaceModel, networks.AdapterModel)


def test_shipped_models_support_trees_linear_heads_and_recomputation():
    model = TinyModel.new(TinyConfig(width=16, layers=1, heads=2))
    for kind in (networks.TreeModel, networks.LinearHeadModel, networks.RecomputingModel):
        assert isinstance(model, kind)
    for kind in (networks.TreeModel, networks.LinearHeadModel):
        assert issubclass(HuggingFaceModel, kind)
