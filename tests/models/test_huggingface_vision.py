import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers.vision_families import (
    EACH_FAMILY,
    FAST,
    A,
    B,
    C,
    conversation,
    own_model,
    read_row,
    relative,
    rows_with_images,
    shared,
    whole_call,
)

from handaxe.core.errors import CheckpointError, InputError
from handaxe.core.model_api import AdapterModel, CachedModel, Model, TreeModel, VisionModel
from handaxe.core.records import Message
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.huggingface_vision import AdaptedVisionModel, HuggingFaceVisionModel
from handaxe.models.load import dummy_policy, load, load_format
from handaxe.ops.token_trees import build_forest, make_pack
from handaxe.testing.engine_contract import check_engine
from handaxe.testing.vision_models import VISION_FAMILIES

pytestmark = pytest.mark.hf
transformers = pytest.importorskip("transformers")
CHAT = [Message.of("user", "Look: ", A, " what?")]


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_logits_equal_those_of_transformers(family):
    model = own_model(family, trained=False)
    assert all(isinstance(model, protocol) for protocol in (VisionModel, TreeModel, CachedModel))
    text, ids = conversation(family, A, B)
    made = whole_call(family, text, [A, B])
    if family == "llava_onevision":  # which counts the tokens of an image by the number of images
        assert made["input_ids"].shape[1] == len(ids)
    with torch.no_grad():
        want = model.module(**made).logits[0]
        assert relative(model.head(read_row(model, ids)), want) < 1e-6


def tree_of(rows):
    trees = build_forest([np.array(row) for row in rows])
    pack = make_pack(trees, range(len(trees.roots_R)), torch.device("cpu"))
    return replace(pack, images=(C, A, B)), [torch.from_numpy(n[: len(row)]) for row, n in zip(rows, trees.node_BT)]


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_trees_and_padded_rows_equal_rows(family):
    model, rows = own_model(family, trained=False), rows_with_images(family)
    assert model.reads_trees()
    pack, nodes = tree_of(rows)
    width = max(map(len, rows))
    padded = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    with torch.no_grad():
        tree = model.hidden_tree(pack)
        wide = model.hidden(padded, padded > 0, (A, B, C))
        for number, (row, node_T) in enumerate(zip(rows, nodes)):
            alone = read_row(model, row)
            assert relative(tree[node_T], alone) < 1e-6
            assert relative(wide[number, : len(row)], alone) < 1e-6
    assert len(pack) < 0.6 * sum(map(len, rows)), "rows share their beginnings"


def gradient(model, read):
    """Gradient of a number that all hidden states of all rows decide, by parameter name."""
    weights = torch.randn(model.hidden_size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    model.module.zero_grad(set_to_none=True)
    sum((hidden @ weights).tanh().sum() for hidden in read()).backward()
    return {name: p.grad.clone() for name, p in model.module.named_parameters() if p.grad is not None}


def gap(found, wanted):
    """Over all parameters together: some have a gradient of 0 in exact arithmetic."""
    off, norm = (sum(float(each.pow(2).sum()) for each in parts)
                 for parts in ((found[n] - wanted[n] for n in found), (wanted[n] for n in found)))  # fmt: skip
    return (off / norm) ** 0.5


@pytest.mark.parametrize("family", EACH_FAMILY)
def test_gradients_of_trees_and_rows_agree_with_a_trained_and_a_frozen_tower(family):
    model, rows = own_model(family), rows_with_images(family)
    pack, nodes = tree_of(rows)

    def by_tree():
        hidden = model.hidden_tree(pack)
        return [hidden[node_T] for node_T in nodes]

    wanted = gradient(model, lambda: [read_row(model, row) for row in rows])
    found = gradient(model, by_tree)
    trained = {name for name, p in model.vision.parameters.items() if p.requires_grad}
    assert trained <= found.keys() == wanted.keys() and gap(found, wanted) < 1e-6
    model.checkpointing = True
    assert gap(gradient(model, by_tree), wanted) < 1e-6
    model.checkpointing = False
    model.vision.train(False)
    frozen = gradient(model, by_tree)
    assert not trained & frozen.keys() and gap(frozen, wanted) < 1e-6


@pytest.fixture(scope="module", params=EACH_FAMILY)
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    own_model(request.param).save(folder)
    return folder


def read_chat(policy):
    return read_row(policy.model, policy.format.start(CHAT, ()).ids)


def test_saved_model_loads_with_its_processor_and_format(folder):
    policy = load(folder, dtype="float64")
    assert isinstance(policy.model, VisionModel) and policy.format.image_processor is policy.model.image_processor
    assert not policy.model.trains_vision and load(folder, vision="trained").model.trains_vision
    ids = policy.format.start(CHAT, ()).ids
    assert load_format(folder).start(CHAT, ()).ids == ids == dummy_policy(folder).format.start(CHAT, ()).ids
    family = policy.model.image_processor.family
    with torch.no_grad():
        assert relative(read_chat(policy), read_row(own_model(family), ids)) < 1e-6


def test_adapter_is_on_the_language_model_alone(folder, tmp_path):
    policy = load(folder, lora=2, dtype="float64")
    model = policy.model
    assert isinstance(model, AdaptedVisionModel | HuggingFaceVisionModel) and isinstance(model, AdapterModel)
    language = {id(p) for p in model.vision.language.parameters()}
    trained = {n: p for n, p in model.module.named_parameters() if p.requires_grad}
    assert trained and all("lora" in name and id(p) in language for name, p in trained.items())
    assert not model.trains_vision
    with torch.no_grad():
        before = read_chat(policy)
        for parameter in trained.values():
            parameter += 0.1
        after = read_chat(policy)
    model.save(tmp_path / "adapter")
    model.save_merged(tmp_path / "merged")
    loaded = load(tmp_path / "adapter")
    with torch.no_grad():
        assert relative(read_chat(loaded), after) < 1e-6 < 1e-3 < relative(before, after)
        with loaded.model.without_adapter():
            assert relative(read_chat(loaded), before) < 1e-6
        assert relative(read_chat(load(tmp_path / "merged", dtype="float64")), after) < 1e-6


def test_adapter_on_the_tower_is_asked_for(folder):
    model = load(folder, lora=2, lora_vision=True).model
    assert model.trains_vision
    features = model.image_features([A])[0][0]
    with torch.no_grad():
        for parameter in model.vision.parameters.values():
            parameter += 0.1 if parameter.requires_grad else 0.0
        changed = model.image_features([A])[0][0]
        with model.without_adapter():
            assert relative(model.image_features([A])[0][0], features) < 1e-5
        assert relative(changed, features) > 1e-3
        assert relative(model.image_features([A])[0][0], changed) == 0


def test_names_of_an_adapter_are_of_the_language_model(folder):
    model = load(folder, lora={"r": 2, "target_modules": ["q_proj"]}).model
    names = {n for n, p in model.module.named_parameters() if p.requires_grad}
    assert len(names) == 2 * 3 and all("q_proj" in name and "vision" not in name for name in names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lora": 2, "vision": "trained"}, 'replace vision="trained" by lora_vision=True'),
        ({"lora_vision": True}, "lora_vision=True needs an adapter"),
        ({"vision": "thawed"}, "unknown vision 'thawed'"),
    ],
)
def test_options_that_do_not_fit_are_one_sentence(tmp_path, options, message):
    own_model("qwen2_5_vl").save(tmp_path)
    with pytest.raises(InputError, match=message):
        load(tmp_path, **options)


def test_vision_options_of_a_text_model_are_one_sentence(tmp_path):
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    shared("qwen2_5_vl").tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match='reads no images: remove vision="trained"'):
        load(tmp_path, vision="trained")


@pytest.mark.parametrize(
    ("family", "reason"), [("mllama", "no token stands for them"), ("paligemma", "no turn can be added")]
)
def test_families_that_cannot_be_trained_are_refused(family, reason, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": family}))
    with pytest.raises(InputError, match=f"family {family}, which is not supported: .*{reason}; use one of qwen2_vl"):
        load(tmp_path)


def test_other_processor_settings_than_those_of_the_run_are_an_error(tmp_path):
    from handaxe.models.chat_formats.saved_format import read_format, save_format

    own_model("qwen2_5_vl").save(tmp_path / "model")
    policy = load(tmp_path / "model")
    save_format(tmp_path, policy.format)
    file = tmp_path / "model" / "processor_config.json"
    settings = json.loads(file.read_text())
    settings["image_processor"]["size"]["longest_edge"] = 1568
    file.write_text(json.dumps(settings))
    with pytest.raises(CheckpointError, match=r"image_processor\.size .*12544.* and not .*1568"):
        save_format(tmp_path, load_format(tmp_path / "model"))
    with pytest.raises(CheckpointError, match=r"image_processor\.size"):
        load(tmp_path / "model", format=read_format(tmp_path))


def test_twin_of_an_engine_shares_the_processor_and_no_features():
    engine = LocalEngine(own_model("qwen2_5_vl"))
    twin = engine.twin()
    assert twin.model.image_processor is engine.model.image_processor
    assert twin.model.vision.base is twin.model.module is not engine.model.module


@pytest.mark.slow
@pytest.mark.parametrize(("family", "trained"), [*((name, True) for name in VISION_FAMILIES), (FAST[0], False)])
def test_engine_contract(family, trained, tmp_path):
    def make_model() -> Model:
        return own_model(family, trained=trained)

    checks = check_engine(lambda: LocalEngine(make_model()), make_model, folder=tmp_path)
    assert {"image_gradient", "image_checkpoint", "image_prefixes", "image_weights"} <= set(checks)


@pytest.mark.slow
def test_images_read_whole_are_never_cut_by_chunks(tmp_path):
    assert "gemma3" in FAST

    def make_model() -> Model:
        return own_model("gemma3")

    def make_engine():
        return LocalEngine(make_model(), prefill_chunk=5, prefix_cache_tokens=20)

    assert "image_prefixes" in check_engine(make_engine, make_model, folder=tmp_path)
