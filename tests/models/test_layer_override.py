import pytest
import torch
from torch import nn

from handaxe.models.layer_override import checkpoint_layers, override_layers


def test_override_ends_with_its_context():
    layer = nn.Linear(2, 2)
    x = torch.ones(1, 2)
    plain = layer(x)
    with override_layers(layer, lambda original, x: original(x) + 1):
        assert torch.equal(layer(x), plain + 1)
        with override_layers(layer, lambda original, x: original(x) * 2):
            assert torch.equal(layer(x), (plain + 1) * 2), "the inner override calls the outer override"
        assert torch.equal(layer(x), plain + 1)
    assert torch.equal(layer(x), plain) and "forward" not in vars(layer)
    with pytest.raises(ZeroDivisionError), override_layers(layer, lambda original, x: 1 / 0):
        layer(x)
    assert torch.equal(layer(x), plain)


class CountingLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = nn.Linear(3, 3), 0

    def forward(self, x, *, power):
        self.calls += 1
        return torch.tanh(self.layer(x)) ** power


def test_checkpointed_layers_run_twice_with_an_equal_gradient():
    torch.manual_seed(0)
    layers = [CountingLayer(), CountingLayer()]
    x = torch.randn(4, 3)

    def gradient():
        for layer in layers:
            layer.zero_grad()
        layers[1](layers[0](x, power=2), power=3).sum().backward()
        return [p.grad.clone() for layer in layers for p in layer.parameters()]

    plain = gradient()
    assert [layer.calls for layer in layers] == [1, 1]
    with checkpoint_layers(layers):
        recomputed = gradient()
    assert [layer.calls for layer in layers] == [3, 3]
    assert all(torch.equal(a, b) for a, b in zip(plain, recomputed)) and "forward" not in vars(layers[1])
