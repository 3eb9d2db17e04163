import torch
from torch import nn

from handaxe.engines.local.modules import (
    buffers,
    copy_model,
    eval_mode,
    frozen_copy,
    moment_shapes,
    moments,
    set_moments,
    value_head,
)


def test_eval_mode_restores_the_mode_of_each_submodule(learned):
    module = learned().module.train()
    module["drop"].eval()
    try:
        with eval_mode(module):
            assert not any(part.training for part in module.modules())
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    assert module.training and module["head"].training and not module["drop"].training


def test_a_copy_shares_untrained_parameters_alone(learned):
    model = learned()
    model.module["head"].requires_grad_(False)
    copied = copy_model(model)
    named = dict(model.module.named_parameters())
    for name, p in copied.module.named_parameters():
        assert torch.equal(p, named[name]) and p.requires_grad == named[name].requires_grad
        assert (p is named[name]) == name.startswith("head.")
    assert copied.module["head"] is not model.module["head"]


def test_frozen_copy_shares_no_trained_parameters(learned):
    model = learned()
    copy = frozen_copy(model)
    assert not any(p.requires_grad for p in copy.module.parameters()) and not copy.module.training
    with torch.no_grad():
        for p in model.module.parameters():
            p.add_(1)
    pairs = zip(copy.module.parameters(), learned().module.parameters())
    assert all(torch.equal(a, b) for a, b in pairs)


def test_value_head_is_zero_and_leaves_the_random_state():
    before = torch.get_rng_state()
    head = value_head(3, torch.float64, torch.device("cpu"))
    assert torch.equal(torch.get_rng_state(), before)
    assert head(torch.ones(2, 3, dtype=torch.float64)).tolist() == [[0], [0]]


def test_buffers_are_the_persistent_buffers(learned):
    module = learned().module
    module.register_buffer("scratch", torch.ones(1), persistent=False)
    assert list(buffers("w.", module)) == ["w.scale"]
    tied = nn.ModuleDict({"a": nn.Linear(2, 2, bias=False), "b": nn.Linear(2, 2, bias=False)})
    tied["b"].weight = tied["a"].weight
    assert buffers("w.", tied) == {}


def test_moments_round_trip_by_name():
    def steps(named, optimizer, count):
        for _ in range(count):
            sum((p**3).sum() for p in named.values()).backward()
            optimizer.step()
            optimizer.zero_grad()

    def make():
        named = {"x": nn.Parameter(torch.tensor([1.0, 2.0])), "y": nn.Parameter(torch.tensor([[3.0]]))}
        return named, torch.optim.AdamW(named.values(), lr=0.1)

    (one, first), (two, second) = make(), make()
    assert moments(first, one) == {}
    steps(one, first, 3)
    found = {k: v.clone() for k, v in moments(first, one).items()}
    assert {k: (v.shape, v.dtype) for k, v in found.items()} == {
        k: (v.shape, v.dtype) for k, v in moment_shapes(one).items()
    }
    steps(two, second, 1)  # state to be replaced
    with torch.no_grad():
        for name, p in two.items():
            p.copy_(one[name])
    set_moments(second, two, found)
    steps(one, first, 2)
    steps(two, second, 2)
    assert all(torch.equal(one[name], two[name]) for name in one)
    set_moments(second, two, {})
    assert moments(second, two) == {}
