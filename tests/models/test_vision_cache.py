import pytest
import torch
from helpers.vision_families import EACH_FAMILY, GRIDS, A, B, C, conversation, own_model, read_row, relative

from handaxe.core.model_api import Copying, Reading

pytestmark = pytest.mark.hf
pytest.importorskip("transformers")


def logits(model, ids):
    return model.head(read_row(model, ids))


@pytest.fixture(params=EACH_FAMILY)
def case(request):
    """Model, ids of a conversation, and logits without a cache."""
    model = own_model(request.param, trained=False)
    ids = conversation(request.param, A, B)[1]
    with torch.inference_mode():
        yield model, ids, logits(model, ids)


def write(slots, ids, place, *, slot=0):
    """Logits after the token at a place, written to a slot beside skipped ones."""
    skipped = [[0]] * slot
    return slots.write([*skipped, [ids[place]]], [*[-1] * slot, ids[place - 1]], [*[-1] * slot, place])[slot]


def test_cached_turns_equal_the_whole_row_also_in_a_moved_slot(case):
    model, ids, want = case
    slots = model.slots()
    slots.reserve(2, 8)
    slots.reserve(2, len(ids))
    start = ids.index(B.ids(1)[0]) - 9
    found = {start - 1: slots.read([Reading(1, ids[:start], 0, (B, A))], [])[0]}
    for place in range(start, start + 9):
        found[place] = write(slots, ids, place, slot=1)
    slots.put(0, 0, slots.take(1, 0, start + 9))
    found[len(ids) - 4] = slots.read([Reading(0, ids[:-3], start + 9, (A, B))], [])[0]
    for place in range(len(ids) - 3, len(ids)):
        found[place] = write(slots, ids, place)
    assert relative(torch.stack([*found.values()]), want[[*found]]) < 1e-6


def test_rows_of_unequal_length_share_and_copy_their_beginning(case):
    model, ids, want = case
    other = conversation(model.image_processor.family, A, C)[1]
    shared = next(k for k, (a, b) in enumerate(zip(ids, other)) if a != b)
    slots = model.slots()
    slots.reserve(3, max(len(ids), len(other)))
    rows = [Reading(0, ids, 0, (A, B)), Reading(2, other, shared, (A, C)), Reading(1, [5, 6, 7], 0)]
    found = slots.read(rows, [Copying(0, 2, 0, shared)])
    wanted = [want[-1], logits(model, other)[-1], logits(model, [5, 6, 7])[-1]]
    assert relative(found, torch.stack(wanted)) < 1e-6
    more = slots.write([[9], [9], [9]], [ids[-1], 7, other[-1]], [len(ids), 3, len(other)])
    wanted = [logits(model, [*row, 9])[-1] for row in (ids, [5, 6, 7], other)]
    assert relative(more, torch.stack(wanted)) < 1e-6


@pytest.mark.parametrize("family", [name for name in GRIDS if name == "qwen2_5_vl"] + [
    pytest.param(name, marks=pytest.mark.slow) for name in GRIDS if name != "qwen2_5_vl"])  # fmt: skip
def test_positions_one_by_one_give_other_logits(family):
    model = own_model(family, trained=False)
    ids = conversation(family, A, C)[1]
    slots = model.slots()
    slots.reserve(1, len(ids) + 1)
    slots.read([Reading(0, ids, 0, (A, C))], [])
    with torch.inference_mode():
        right = logits(model, [*ids, 9])[-1]
        slots._next[0, 0, len(ids) - 1, 0] = len(ids)
        assert relative(slots.write([[9]], [ids[-1]], [len(ids)])[0], right) > 1e-4


def test_prompts_cut_at_every_place_equal_the_whole_row(case):
    model, ids, want = case
    if model.whole_images:
        pytest.skip("the engine never cuts an image of this model")
    slots = model.slots()
    slots.reserve(1, len(ids))
    for place in range(1, len(ids) - 1, 3):
        slots.read([Reading(0, ids[:place], 0, (A, B))], [])
        assert relative(slots.read([Reading(0, ids, place, (A, B))], [])[0], want[-1]) < 1e-6
