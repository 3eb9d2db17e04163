import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.models.tiny import TinyConfig, TinyModel
from handaxe.papers.tool_gen.tool_tokens import add_tool_tokens


def small():
    return TinyModel.new(TinyConfig(vocab_size=270, width=8, layers=1, heads=2, max_length=32), seed=9)


def test_rows_are_means_of_the_spelling():
    model = small()
    with torch.no_grad():
        model.module.embed.weight[3, :2] = torch.tensor([1.0, 3.0])
        model.module.embed.weight[4, :2] = torch.tensor([3.0, 1.0])
    grown = add_tool_tokens(model, [[3, 4], [4]])
    assert grown.vocab_size == 272 and model.vocab_size == 270
    assert grown.module.embed.weight[270, :2].tolist() == [2.0, 2.0]
    assert torch.equal(grown.module.embed_before.weight[271], model.module.embed_before.weight[4])


def test_logits_of_old_ids_are_unchanged():
    model, ids = small(), torch.arange(10)[None]
    grown = add_tool_tokens(model, [[3, 4]], start="random", seed=1)
    old, new = (one.module.head(one.module.hidden(ids)) for one in (model, grown))
    torch.testing.assert_close(new[..., :270], old, rtol=0, atol=1e-6)


def test_random_rows_depend_on_the_seed_and_a_copy_is_independent():
    rows = [add_tool_tokens(small(), [[1]], start="random", seed=seed).module.embed.weight[-1] for seed in (1, 1, 2)]
    assert torch.equal(rows[0], rows[1]) and not torch.equal(rows[0], rows[2])
    model = small()
    copy = add_tool_tokens(model, [])
    with torch.no_grad():
        copy.module.embed.weight.zero_()
    assert copy.vocab_size == 270 and model.module.embed.weight.abs().sum() > 0


@pytest.mark.parametrize("spelling", [[], [270], [-1]])
def test_bad_spellings_raise(spelling):
    with pytest.raises(InputError, match="each below 270"):
        add_tool_tokens(small(), [spelling])
