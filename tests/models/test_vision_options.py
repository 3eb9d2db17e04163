"""Names of trained parameters for each choice of `vision`, `lora` and `lora_vision`."""

from dataclasses import replace

import pytest
from helpers.vision_families import EACH_FAMILY, own_model
from helpers.vision_policy import CONFIG

from handaxe.core.errors import InputError
from handaxe.models.load import check_options, load
from handaxe.models.tiny import TinyModel
from handaxe.models.vision_options import check_vision


def trained(model):
    return {name for name, parameter in model.module.named_parameters() if parameter.requires_grad}


@pytest.mark.hf
@pytest.mark.parametrize("family", EACH_FAMILY)
def test_trained_names_are_those_of_the_options(family, tmp_path):
    pytest.importorskip("transformers")
    own_model(family).save(tmp_path)
    plain = load(tmp_path).model
    behind = set(plain.vision.parameters)
    everything = {name for name, _ in plain.module.named_parameters()}
    assert trained(plain) == trained(load(tmp_path, vision="frozen").model) == everything - behind
    full = load(tmp_path, vision="trained").model
    reached = {name for name in behind if full.vision.parameters[name].requires_grad}
    assert trained(full) == (everything - behind) | reached and len(reached) > 0.7 * len(behind)
    adapted, both = (load(tmp_path, lora=2, lora_vision=wide).model for wide in (False, True))
    assert trained(adapted) < trained(both) and all("lora_" in name for name in trained(both))
    assert not any(f"base_model.model.{name.partition('.lora_')[0]}.weight" in behind for name in trained(adapted))
    inside = {
        name.removeprefix("base_model.model.").partition(".lora_")[0] for name in trained(both) - trained(adapted)
    }
    assert inside and inside <= {name.rpartition(".")[0] for name in behind}
    both.save(tmp_path / "adapter")
    assert trained(load(tmp_path / "adapter").model) == trained(both), "a saved adapter trains where it was trained"
    with pytest.raises(InputError, match="has an adapter, which decides what trains: remove lora_vision=True"):
        load(tmp_path / "adapter", lora_vision=True)


def test_tower_of_a_tiny_model_is_trained_or_frozen(tmp_path):
    TinyModel.new(CONFIG).save(tmp_path)
    free, fixed = (trained(load(tmp_path, vision=vision).model) for vision in (None, "frozen"))
    assert free == trained(load(tmp_path, vision="trained").model) and load(tmp_path).model.trains_vision
    assert {name for name in free if name.startswith("vision.")} == free - fixed != set()
    TinyModel.new(replace(CONFIG, patch=0)).save(tmp_path / "text")
    with pytest.raises(InputError, match='reads no images: remove vision="trained"'):
        load(tmp_path / "text", vision="trained")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lora": True, "vision": "trained", "lora_vision": False}, 'replace vision="trained" by lora_vision=True'),
        ({"lora": False, "vision": None, "lora_vision": True}, "lora_vision=True needs an adapter"),
        ({"lora": False, "vision": "thawed", "lora_vision": False}, "unknown vision 'thawed'"),
    ],
)
def test_options_that_exclude_each_other_are_one_sentence(options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        check_vision(**options)
    with pytest.raises(InputError, match=message):
        check_options(tmp_path, **options | {"lora": int(options["lora"])})
