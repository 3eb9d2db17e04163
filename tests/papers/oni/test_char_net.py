import numpy as np
import pytest
import torch

from handaxe.papers.oni.char_net import LENGTH, PAD, WIDTH, CharNet


def slow_score(net, text):
    own = {name: value.numpy() for name, value in net.state_dict().items()}
    ids = list(text.encode()[:LENGTH]) + [PAD] * (WIDTH - 1)
    best = None
    for place in range(max(1, len(ids) - WIDTH + 1)):
        window = ids[place : place + WIDTH] + [PAD] * (WIDTH - len(ids[place : place + WIDTH]))
        out = own["bias"] + sum(own["kernel"][:, :, j] @ own["embedding"][one] for j, one in enumerate(window))
        best = np.maximum(out, 0) if best is None else np.maximum(best, out)
    return float(best @ own["last"] + own["constant"][0])


@pytest.mark.parametrize("seed", [0, 1])
def test_char_net_equals_a_slow_loop_whatever_stands_beside(seed):
    net, texts = CharNet(seed=seed), ["a1 +key", "w", "", "walls f2r1 locked", "x" * 300]
    together = net.scores(texts)
    for text, score in zip(texts, together, strict=True):
        assert score == pytest.approx(slow_score(net, text), abs=1e-9)
        assert net.scores([text])[0] == pytest.approx(score, abs=1e-9)
    assert net.scores([]).shape == (0,)


def test_fit_lowers_the_loss_and_state_restores_the_net():
    net, texts = CharNet(), ["a1 +key", "walls"]
    target = torch.tensor([2.0, -2.0], dtype=torch.float64)
    losses = [net.fit([(texts, lambda score: ((score - target) ** 2).mean())] * 5) for _ in range(6)]
    assert losses[-1] < 0.5 * losses[0] and net.fit([]) == 0
    copy = CharNet(seed=3)
    copy.load_state_dict(net.state_dict())
    assert copy.scores(texts).tolist() == net.scores(texts).tolist()
