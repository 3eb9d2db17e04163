"""Contract of engines: `check_engine(make_engine, make_model, ...)`.

The engine's results are compared with a loop over single rows without padding, one token at a time, in plain torch.

Shapes: B rows, T tokens, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from handaxe.core.errors import InputError
from handaxe.core.model_api import Model, VisionModel
from handaxe.core.protocols import Engine, Streams
from handaxe.core.records import Sampling
from handaxe.core.requests import Sample
from handaxe.testing import engine_images, engine_streams, engine_training
from handaxe.testing.engine_case import (
    EngineCase,
    assert_close,
    assert_raises,
    completed_batch,
    example_batch,
    example_requests,
    oracle_measures,
)

__all__ = ["check_engine"]


def check_engine(
    make_engine: Callable[[], Engine],
    make_model: Callable[[], Model],
    *,
    folder: Path,
    tolerance: float = 1e-5,
    gradient: Callable[[Engine], Mapping[str, Tensor]] | None = None,
    weights: Callable[[Engine], Mapping[str, Tensor]] | None = None,
    reference: bool = False,
    kill: Callable[[Engine], None] | None = None,
) -> list[str]:
    """Check the contract of `core.protocols.Engine`, of `Stream` for an engine with `Streams`, and of images for a
    `core.model_api.VisionModel` (`testing.engine_images`).

    Args:
        make_engine: makes a new engine with version 0, equal weights at each call, without weight decay. Several are
            live at a time. Engines with a `close` are closed after each check.
        make_model: makes a new model in plain torch with those weights, for comparison.
        folder: an empty folder for checkpoints.
        tolerance: absolute and relative, on log-probs, losses and gradients (gradients relative to the largest entry).
        gradient: reads the gradient accumulated by `forward_backward`, by the names of
            `model.module.named_parameters()`. None for an engine that cannot show it.
        weights: reads the weights by the same names, for such an engine: after one AdamW step they must have moved by
            the learning rate against the sign of the oracle's gradient. Without both, the loss and the norm of the
            gradient are still checked.
        reference: the engine keeps a reference model.
        kill: kills a sampler of an engine that samples in other processes; None for an engine that samples itself.

    Returns:
        The names of the checks, all passed.

    Raises:
        AssertionError: with the engine's result and the expected one.
    """
    made: list[Engine] = []

    def make() -> Engine:
        made.append(make_engine())
        return made[-1]

    case = EngineCase(make, make_model, folder, tolerance, gradient, weights, reference, kill)
    checks: list[Callable[[EngineCase], None]] = [
        _measures,
        _hidden_states,
        _sampled_logp,
        _seeds,
        _endings,
        _greedy,
        _limits,
    ]
    checks += [engine_training.check_gradient, engine_training.check_splits, engine_training.check_step]
    checks += [engine_training.check_bad_loss, engine_training.check_checkpoint]
    checks += [engine_training.check_damaged_checkpoint]
    if reference:
        checks.append(engine_training.check_reference)
    if isinstance(make(), Streams):
        checks += [engine_streams.check_joining, engine_streams.check_interrupting, engine_streams.check_prefixes]
        checks += [engine_streams.check_new_weights, engine_streams.check_refusals]
        checks += [engine_streams.check_lost_sampler] if kill is not None else []
    checks += _image_checks(make_model(), streams=isinstance(make(), Streams))
    for check in checks:
        try:
            check(case)
        finally:
            while made:
                _close(made.pop())
    return [check.__name__.lstrip("_").removeprefix("check_") for check in checks]


def _image_checks(model: Model, *, streams: bool) -> list[Callable[[EngineCase], None]]:
    """Checks of a model with vision; none for another model."""
    if not isinstance(model, VisionModel):
        return []
    checks: list[Callable[[EngineCase], None]] = [
        engine_images.check_image_measures,
        engine_images.check_image_sampling,
    ]
    checks += [engine_images.check_image_gradient, engine_images.check_image_refusals]
    checks += [engine_images.check_image_checkpoint]
    return [*checks, engine_images.check_image_prefixes, engine_images.check_image_weights] if streams else checks


def _close(engine: Engine) -> None:
    if callable(end := getattr(engine, "close", None)):
        end()


# --- measuring and sampling --------------------------------------------------------------------------------------


def _measures(case: EngineCase) -> None:
    engine, batch = case.make_engine(), example_batch(case.make_model(), padding=3)
    want = oracle_measures(case.make_model(), batch)
    everything, nothing = replace(batch, mask_BT=batch.attend_BT), torch.zeros_like(batch.mask_BT)
    for what, masked in (("", batch), (" of every token", everything), (" of none", replace(batch, mask_BT=nothing))):
        got = engine.forward(masked, names=tuple(want))
        assert set(got) == set(want), f"forward returned {set(got)} for names {set(want)}"
        for name in want:
            expected = torch.where(masked.mask_BT, want[name].detach(), 0.0)
            assert_close(f"forward's {name}{what}", got[name], expected, case.tolerance)
    one, other = (engine.forward(batch, names=("logp",))["logp"] for _ in range(2))
    assert torch.equal(one, other), "two forwards of the same batch differ: is dropout on?"


class _Norms(NamedTuple):
    """Cumulative norms of hidden states, so that the result depends on order and row."""

    name: str = "norms"

    def __call__(self, hidden_PD: torch.Tensor) -> torch.Tensor:
        return hidden_PD.double().norm(dim=-1).cumsum(0)


def _hidden_states(case: EngineCase) -> None:
    engine, model = case.make_engine(), case.make_model()
    batch = example_batch(case.make_model(), padding=3)
    got = engine.forward(batch, names=("logp", _Norms()))
    assert set(got) == {"logp", "norms"}, f"forward returned {set(got)} for logp and a measure of hidden states"
    assert_close("forward's logp beside norms", got["logp"], engine.forward(batch)["logp"], case.tolerance)
    want = torch.zeros(batch.ids_BT.shape, dtype=torch.float64)
    model.module.eval()
    for row in range(len(batch)):
        ids_1T = batch.ids_BT[row : row + 1, batch.attend_BT[row]].to(next(model.module.parameters()).device)
        with torch.no_grad():
            hidden_TD = model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool))[0].double().cpu()
        column_P = batch.mask_BT[row].nonzero()[:, 0]
        want[row, column_P] = hidden_TD[column_P].norm(dim=-1).cumsum(0)
    assert bool(torch.equal(got["norms"] != 0, batch.mask_BT)), "a measure of hidden states covers other tokens"
    largest = float(want.max())
    assert_close("a measure of hidden states", got["norms"] / largest, want / largest, case.tolerance)


def _sampled_logp(case: EngineCase) -> None:
    for sampling in (Sampling(max_tokens=6), Sampling(temperature=0.7, max_tokens=6), Sampling(0.7, 0.8, 5, 6)):
        engine = case.make_engine()
        requests = example_requests(case.make_model(), sampling)
        completions = engine.sample(requests)
        want = oracle_measures(case.make_model(), completed_batch(requests, completions))["logp"]
        for row, (request, done) in enumerate(zip(requests, completions)):
            lengths = {len(part) for part in (done.ids, done.logp, done.behaviour_logp, done.version)}
            assert lengths == {len(done.ids)} and done.ids, f"a completion has arrays of lengths {lengths}"
            span = slice(len(request.ids), len(request.ids) + len(done.ids))
            what = f"logp sampled at temperature {sampling.temperature}, top_p {sampling.top_p}"
            assert_close(what, torch.tensor(done.logp), want[row, span].detach(), case.tolerance)
            behaviour = torch.tensor(done.behaviour_logp)
            assert bool((behaviour >= torch.tensor(done.logp) - case.tolerance).all()), "behaviour_logp is below logp"
            assert bool((behaviour <= case.tolerance).all()), "behaviour_logp is above 0"
            if sampling.top_p == 1:
                assert_close("behaviour_logp without cuts", behaviour, torch.tensor(done.logp), case.tolerance)


def _seeds(case: EngineCase) -> None:
    engine = case.make_engine()
    requests = example_requests(case.make_model(), Sampling(max_tokens=8))
    together = [done.ids for done in engine.sample(requests)]
    backwards = [done.ids for done in engine.sample(requests[::-1])][::-1]
    alone = [engine.sample([request])[0].ids for request in requests]
    assert together == backwards, "the order of the requests changed what was sampled"
    assert together == alone, "what is sampled together changed what was sampled"
    longer = [r._replace(sampling=replace(r.sampling, max_tokens=10)) for r in requests]
    begun = [done.ids[:8] for done in engine.sample(longer)]
    assert together == begun, "more room changed the first tokens"
    others = [done.ids for done in engine.sample([r._replace(seed=r.seed + 1000) for r in requests])]
    assert together != others, "the seed changes nothing"


def _endings(case: EngineCase) -> None:
    engine = case.make_engine()
    requests = example_requests(case.make_model(), Sampling(max_tokens=8))
    for request, whole in zip(requests, engine.sample(requests)):
        assert (len(whole.ids), whole.finish) == (8, "length"), "nothing stops it, so it must run to its length"
        last = whole.ids[5]
        cut = whole.ids[: whole.ids.index(last) + 1]
        ends = {"stop": request._replace(stop=frozenset({last})), "header": request._replace(header=frozenset({last}))}
        for name, ending in ends.items():
            done = engine.sample([ending])[0]
            assert (done.ids, done.finish) == (cut, name), f"id {last} must be kept and end it as {name}: {done}"
        both = engine.sample([request._replace(stop=frozenset({last}), header=frozenset({last}))])[0]
        assert both.finish == "stop", "an id that is both stop and header counts as stop"
        one = engine.sample([request._replace(sampling=Sampling(max_tokens=1), stop=frozenset({whole.ids[0]}))])[0]
        assert (one.ids, one.finish) == (whole.ids[:1], "stop"), "a stop id at the limit is a stop"


def _greedy(case: EngineCase) -> None:
    engine, model = case.make_engine(), case.make_model()
    model.module.eval()
    requests = example_requests(model, Sampling(temperature=0, max_tokens=5))
    device = next(model.module.parameters()).device
    for request, done in zip(requests, engine.sample(requests)):
        ids = list(request.ids)
        for token, logp, behaviour in zip(done.ids, done.logp, done.behaviour_logp):
            ids_1T = torch.tensor([ids], device=device)
            with torch.no_grad():
                hidden_1TD = model.hidden(ids_1T, torch.ones_like(ids_1T, dtype=torch.bool))
                logp_V = model.head(hidden_1TD[0, -1]).double().log_softmax(-1)
            assert logp_V[token] >= logp_V.max() - case.tolerance, f"greedy took {token}, {logp_V.argmax()} is likelier"
            assert_close(
                "a greedy token's logp (temperature 1)", torch.tensor(logp), logp_V[token].cpu(), case.tolerance
            )
            assert behaviour == 0, "greedy draws from a point mass, its behaviour_logp is 0"
            ids.append(token)


def _limits(case: EngineCase) -> None:
    engine, model = case.make_engine(), case.make_model()
    ids = [t % model.vocab_size for t in range(model.max_length)]
    request = Sample(ids[: model.max_length - 2], Sampling(max_tokens=8), seed=1, stop=frozenset())
    short = request._replace(ids=ids[:2])
    done, other = engine.sample([request, short])
    assert (len(done.ids), done.finish) == (2, "length"), "max_tokens must be cut to the room that is left"
    assert len(other.ids) == 8, "a neighbour without room cut another request short"
    refused = {
        "a prompt as long as the context": ids,
        "no prompt": [],
        "an id beyond the vocabulary": [model.vocab_size],
    }
    for what, bad in refused.items():
        both = [short, request._replace(ids=bad)]
        message = assert_raises(InputError, partial(engine.sample, both), what)
        assert "request 1" in message, f"the error must name request 1: {message}"
    assert engine.sample([]) == [], "no request, no completion"
