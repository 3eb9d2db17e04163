import math

import torch

from handaxe.core.batch import LossOut
from handaxe.engines.local.nonfinite import explain_gradient, explain_loss, nonfinite_names


def test_explain_loss_names_metrics_rows_and_rollouts(batch_from_rows):
    batch = batch_from_rows([[1, 2], [1, 2], [1, 2]])
    batch.rollout_B[:] = torch.tensor([5, 6, 7])
    logp = torch.zeros(3, 2)
    logp[:, 0] = math.nan  # off the mask, not reported
    logp[2, 1] = -math.inf
    batch.adv_BT[0, 1] = math.nan
    batch.extras["returns"] = torch.tensor([[math.nan, 0], [0, math.nan], [0, 0]])
    message = explain_loss(batch, logp, LossOut(torch.tensor(math.nan), {"ratio": math.inf, "fine": 1.0}))
    assert message == (
        "the loss is nan; not finite: metrics ratio; logp in rows 2 (rollouts 7); adv in rows 0 (rollouts 5); "
        "returns in rows 1 (rollouts 6)"
    )


def test_explain_loss_reports_finite_inputs(batch_from_rows):
    batch = batch_from_rows([[1, 2]])
    message = explain_loss(batch, torch.zeros(1, 2), LossOut(torch.tensor(math.inf), {}))
    assert message == "the loss is inf, though all inputs are finite"


def test_explain_gradient_names_parameters():
    names = nonfinite_names([("good", torch.ones(2)), ("bad", torch.tensor([1.0, math.nan]))])
    assert explain_gradient(names, math.nan) == "the gradient norm is nan in bad"
    assert "overflows" in explain_gradient([], math.inf)


def test_explain_gradient_shortens_long_lists():
    many = nonfinite_names((f"p{i}", torch.full((1,), math.nan)) for i in range(11))
    assert explain_gradient(many, math.nan).endswith("p7 and 3 more")
