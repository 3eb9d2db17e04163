from contextlib import suppress

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.cluster.engine import ClusterEngine
from handaxe.engines.local.engine import LocalEngine
from handaxe.methods.hardware import Machines, closing_engine, make_engine
from handaxe.models.tiny import TinyConfig, TinyModel

CONFIG = TinyConfig(vocab_size=24, width=8, layers=1, heads=1, max_length=20)


def test_servers_are_addresses_or_a_number():
    assert (Machines(servers=("2",)).start_servers, Machines(servers=("2",)).addresses) == (2, ())
    both = ("http://a:1", "http://b:1")
    assert (Machines(servers=both).start_servers, Machines(servers=both).addresses) == (0, both)
    shared = Machines(servers=("colocated",))
    assert (shared.start_servers, shared.addresses, shared.colocated, bool(shared)) == (1, (), True, True)
    assert not Machines() and Machines(trainers=1) and Machines(servers=("1",)) and not Machines(servers=("0",))


@pytest.mark.parametrize(
    "machines, words",
    [
        (Machines(trainers=-1), "--trainers -1"),
        (Machines(servers=("a", "b")), "--servers a: give addresses"),
        (Machines(servers=("colocated", "http://a:1")), "--servers colocated: give addresses"),
        (Machines(servers=("colocated",), ray="auto"), "leave --ray out"),
        (Machines(ray="auto"), "--trainers N"),
        (Machines(1, ("http://a:1",), "--enforce-eager"), "need servers to start"),
    ],
)
def test_contradicting_machines_raise(machines, words):
    with pytest.raises(InputError, match=words):
        machines.check()


def test_no_machines_give_a_local_engine():
    model = TinyModel.new(CONFIG)
    made = make_engine(LocalEngine, model, Machines(), {"max_rows": 3})
    assert isinstance(made, LocalEngine) and made.model is model and made.max_rows == 3


def test_options_of_one_process_reach_the_ranks(monkeypatch):
    seen = {}
    monkeypatch.setattr(ClusterEngine, "__init__", lambda self, load, **given: seen.update(given, load=load))
    model = TinyModel.new(CONFIG)
    options = {"weight_decay": 0.5, "device": "cpu", "critic": True}
    make_engine(LocalEngine, model, Machines(2, ("3",), "--seed 'a b'", "auto"), options)
    assert seen == {
        "load": model,
        "trainers": 2,
        "servers": (),
        "start_servers": 3,
        "server_options": ["--seed", "a b"],
        "colocate": False,
        "address": "auto",
        "weight_decay": 0.5,
        "device": "cpu",
        "critic": True,
    }
    with pytest.raises(InputError, match="leave --engine out"):
        make_engine(TinyModel, model, Machines(2), {})


def test_closing_engine_closes_after_an_error():
    closed = []

    class Closes:
        def close(self):
            closed.append(1)

    with closing_engine(object()):
        pass
    with suppress(KeyError), closing_engine(Closes()):
        raise KeyError
    assert closed == [1]
