"""A small run whose policy is trained on the steps' scores of a judge that learns beside it; a child process may be
killed in it at any instant, also in the middle of the judge's update."""

import time
from pathlib import Path

import torch

from handaxe.credit.leave_one_out import leave_one_out
from handaxe.judges.implicit_prm import implicit_prm
from handaxe.papers.istar.right_against_wrong import right_against_wrong
from handaxe.rewards.judged_steps import judged_steps
from handaxe.rewards.weighted import weighted
from handaxe.training.loop.train import train
from helpers import training_world as world

KINDS = {
    "pairs": {"reference": "sampler", "pairs": right_against_wrong(above=0.3), "aggregate": "mean"},
    "outcomes": {"reference": "frozen", "above": 0.3},
}


def parts(kind, **changes):
    """The judge, and the arguments of a run with it."""
    judge = implicit_prm(beta=0.5, channel="small", learning_rate=0.01, **KINDS[kind])
    both = {"small": (1.0, world.small_bytes), "steps": (20.0, judged_steps(judge=judge))}
    fixed = {"reward": weighted(both), "credit": leave_one_out(), "learners": [judge], "micro_batch_rows": 64}
    return judge, world.arguments(**fixed | changes)


def tensors(judge):
    return judge.state_dict()["engine"]["tensors"]


def resume(folder, kind, steps, pause):
    """Go on with the run in `folder` and leave the weights of both there. The pause is in the judge's loss."""
    torch.set_num_threads(1)
    out = Path(folder)
    engine = world.make_engine()
    judge, arguments = parts(kind, engine=engine, steps=steps, out=out, resume=True, checkpoint_every=2)
    inner = judge._loss

    def slow(policy, batch):
        time.sleep(pause)
        return inner(policy, batch)

    judge._loss = slow
    result = train(**arguments)
    if not result.stopped:
        torch.save([world.weights(engine), tensors(judge)], out / "final.pt")
