"""Auxiliary policies named on the command line and by methods."""

import pytest

from handaxe.core.errors import InputError
from handaxe.engines.local.engine import LocalEngine
from handaxe.engines.openai.engine import OpenAICompatible
from handaxe.methods.aux_policies import aux_sources, check_aux_policies, load_aux_policies
from handaxe.models.chat_formats.compact import Compact
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.training.loop.aux_trainer import AuxTrainer

ROLES = {"executor": "rule", "verifier": "self"}


def sources(*entries, roles=ROLES, playable=("executor", "verifier")):
    return aux_sources(entries, roles=roles, playable=playable, world="agents")


def test_sources_load_models_and_models_of_chat_servers(world):
    found = load_aux_policies(
        {"user": "tiny", "critic": "http://127.0.0.1:9/v1#small"},
        engine=world.make_engine(),
        format=Compact(),
        max_tokens=7,
    )
    assert isinstance(found["user"].engine, LocalEngine) and isinstance(found["critic"].engine, OpenAICompatible)
    assert [one.sampling.max_tokens for one in found.values()] == [7, 7]
    found["critic"].engine.close()


def test_the_policy_its_start_and_a_trained_copy(world):
    engine = world.make_engine()
    trainer = AuxTrainer("judge", credit=world.centred, loss=world.reinforce, learning_rate=0.1)
    named = {"now": "self", "start": "self@start", "judge": "trained"}
    found = load_aux_policies(named, engine=engine, format=Compact(), max_tokens=7, learners=(trainer,))
    assert found["now"].engine is engine and found["judge"].engine is trainer.engine
    own = [found[name].engine for name in ("start", "judge")]
    assert engine not in own and own[0] is not own[1]
    assert all(world.same(world.weights(one), world.weights(engine)) for one in own)
    with pytest.raises(InputError, match="ScriptedEngine has no twins, so --user self@start"):
        load_aux_policies({"user": "self@start"}, engine=ScriptedEngine(Compact(), []), format=Compact(), max_tokens=7)


@pytest.mark.parametrize(
    "entries, words",
    [
        (["user"], "write NAME=MODEL"),
        (["=tiny"], "write NAME=MODEL"),
        (["user=http://127.0.0.1:9/v1"], "ADDRESS#MODEL"),
        (["user=tiny", "user=tiny"], "two entries are named 'user'"),
        (["user=tinny"], "tinny"),
    ],
)
def test_malformed_entry_raises_with_the_form(entries, words):
    with pytest.raises(InputError, match=words):
        check_aux_policies(entries)


def test_roles_of_a_method_join_the_entries():
    assert sources("user=smollm2") == {"user": "smollm2", "verifier": "self"}
    assert sources("executor=tiny") == {"executor": "tiny", "verifier": "self"}


@pytest.mark.parametrize(
    "given, words",
    [
        ({"playable": ("executor",)}, "--verifier self: world agents has no verifier that a model could play"),
        ({"roles": {"executor": "tinny"}}, "tinny"),
        ({"roles": {"executor": "http://127.0.0.1:9/v1"}}, "--executor"),
    ],
)
def test_a_role_without_its_source_raises(given, words):
    with pytest.raises(InputError, match=words):
        sources(**given)


def test_a_role_named_twice_raises():
    with pytest.raises(InputError, match="--verifier self and --aux-policies verifier=tiny name one role"):
        sources("verifier=tiny")
