import numpy as np
import pytest
import torch

from handaxe.core.errors import InputError
from handaxe.papers.dynaicl.count_controller import CountController, RunningBaseline, reinforce_loss

PROMPTS = np.eye(3)


def test_baseline_by_hand():
    baseline = RunningBaseline(rate=0.1)
    assert [baseline.update(reward) for reward in (1.0, 0.0, 2.0)] == pytest.approx([1.0, 0.9, 1.01])
    with pytest.raises(InputError, match="rate"):
        RunningBaseline(rate=0)


def test_reinforce_loss_by_hand_and_by_a_loop():
    found = reinforce_loss(torch.tensor([-1.0, -2.0]), torch.tensor([1.0, 0.0]), baseline=0.5)
    assert found.item() == pytest.approx(-0.25)
    rng = np.random.default_rng(0)
    logp_B, reward_B = -rng.random(9), rng.random(9)
    loop = 0.0
    for logp, reward in zip(logp_B, reward_B):
        loop -= (reward - 0.3) * logp / 9
    found = reinforce_loss(torch.from_numpy(logp_B), torch.from_numpy(reward_B), baseline=0.3)
    assert found.item() == pytest.approx(loop, abs=1e-9)


def test_the_gradient_is_reinforce_s_in_expectation():
    """Over all numbers, weighted by their probability, the gradient is that of the mean reward."""
    logit = torch.tensor([0.2, -0.1, 0.4], dtype=torch.float64, requires_grad=True)
    reward = torch.tensor([1.0, 0.0, 0.5], dtype=torch.float64)
    share = torch.softmax(logit, 0)
    (exact,) = torch.autograd.grad((share * reward).sum(), logit, retain_graph=True)
    total = torch.zeros(3, dtype=torch.float64)
    for k in range(3):
        loss = reinforce_loss(torch.log_softmax(logit, 0)[k : k + 1], reward[k : k + 1], baseline=0.7)
        total -= share[k].detach() * torch.autograd.grad(loss, logit)[0]
    assert torch.allclose(total, exact, atol=1e-9)


def test_labels_are_learned_and_the_expected_number_follows():
    controller = CountController(3, most=2)
    controller.teach(np.tile(PROMPTS, (8, 1)), [0, 1, 2] * 8, epochs=200)
    assert controller.expected(PROMPTS) == pytest.approx([0, 1, 2], abs=0.3)
    assert controller.sample(np.tile(PROMPTS, (4, 1))).count(2) >= 3
    assert controller.log_probs(PROMPTS).exp().sum(1).tolist() == pytest.approx([1, 1, 1])


def test_reinforce_moves_towards_the_number_of_the_largest_reward():
    controller, baseline = CountController(3, most=2, seed=1), RunningBaseline()
    wanted = [2, 0, 1] * 16
    prompts = np.tile(PROMPTS, (16, 1))
    for _ in range(60):
        counts = controller.sample(prompts)
        rewards = [float(one == best) for one, best in zip(counts, wanted)]
        mean = baseline.update(float(np.mean(rewards)))
        controller.reinforce(prompts, counts, rewards, baseline=mean, learning_rate=0.01)
    assert controller.expected(PROMPTS) == pytest.approx([2, 0, 1], abs=0.2)


def test_equal_seeds_give_equal_controllers():
    one, other = (CountController(3, most=4, seed=2) for _ in range(2))
    assert one.sample(PROMPTS) == other.sample(PROMPTS)
    assert np.array_equal(one.expected(PROMPTS), other.expected(PROMPTS))
