import numpy as np
import pytest

from handaxe.papers.rm_ensembles.rm_ensembles_best_of import KINDS, _figures, _Scored, order_agreement

TRUTH = np.array([1.0, 0.0, 0.0])


def test_order_agreement_by_hand():
    """Member 1 orders both pairs rightly, member 2 one of them, member 3 none: alike in 1, 0 and 1 of 2 pairs."""
    score_MG = np.array([[3, 1, 2], [2, 1, 3], [0, 1, 2]])
    assert order_agreement(score_MG, TRUTH) == pytest.approx((1 / 2 + 0 + 1 / 2) / 3)
    assert order_agreement(score_MG[:1].repeat(2, 0), TRUTH) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_order_agreement_equals_a_slow_loop(seed):
    rng = np.random.default_rng(seed)
    score_MG, truth_G = rng.normal(size=(4, 8)), rng.permutation([1, 1, 1, 0, 0, 0, 0, 0])
    alike = []
    for a in range(4):
        for b in range(a):
            for i in range(8):
                for j in range(8):
                    if truth_G[i] and not truth_G[j]:
                        alike.append((score_MG[a, i] > score_MG[a, j]) == (score_MG[b, i] > score_MG[b, j]))
    assert order_agreement(score_MG, truth_G) == pytest.approx(np.mean(alike), abs=1e-12)


def test_figures_by_hand():
    """Fine-tuning: both members choose the same wrong rollout. Pretraining: each a wrong one, and the mean the correct.

    At temperature 1.5 the members of both kinds contradict each other at this task, and agree at another one.
    """
    same = np.array([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]])
    other = np.array([[2.0, 3.0, -9.0], [2.0, -9.0, 3.0]])
    against = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])
    cold = {"t": _Scored(TRUTH, {"finetune": same, "pretrain": other})}
    hot = {
        "t": _Scored(TRUTH, {"finetune": against, "pretrain": against}),
        "u": _Scored(TRUTH, dict.fromkeys(KINDS, same)),
    }
    found = _figures(cold, hot)
    assert (found["best/finetune"], found["best/finetune/single"], found["gain/finetune"]) == (0.0, 0.0, 0.0)
    assert (found["best/pretrain"], found["best/pretrain/single"], found["gain/pretrain"]) == (1.0, 0.0, 1.0)
    assert found["gain/between"] == 1.0 and found["best/oracle"] == 1.0
    assert found["best/random"] == pytest.approx(1 / 3)
    assert (found["shared/finetune"], found["shared/pretrain"]) == (1.0, 0.0)
    assert (found["agree/finetune"], found["agree/pretrain"]) == (1.0, 0.0)
    assert found["agree/finetune/hot"] == found["agree/pretrain/hot"] == 0.5
    assert found["fall"] == pytest.approx(0.5) and found["agree/between"] == 0.0, "the fall is of task t alone"
