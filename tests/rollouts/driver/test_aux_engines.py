"""Engines besides the policy's: how they are spoken to, and that nothing of theirs is taken for the policy's."""

from dataclasses import replace

import pytest

from handaxe.core.errors import InputError
from handaxe.core.protocols import AuxPolicy
from handaxe.core.records import Sampling
from handaxe.core.requests import AuxChat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver.aux_engines import (
    NO_AUX_POLICIES,
    aux_chats,
    check_policy_trajectories,
    nested_aux_trajectories,
)
from handaxe.testing.make_records import make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine


def test_aux_chats_have_their_own_format_and_context():
    engine, chat, sampling = ScriptedEngine(Compact(), lambda text, turn: "yes"), Compact(), Sampling(max_tokens=7)
    assert aux_chats({"user": AuxPolicy(engine, chat, sampling)}) == {
        "user": AuxChat(chat, sampling, engine.max_length)
    }
    assert aux_chats(NO_AUX_POLICIES) == {}
    with pytest.raises(InputError, match="needs a name"):
        aux_chats({"": AuxPolicy(engine, chat, sampling)})


def test_a_trajectory_of_an_aux_policy_is_an_error():
    own = make_trajectory(texts=["a"])
    check_policy_trajectories([own, own])
    with pytest.raises(InputError, match=r"auxiliary policy 'user', which would be scored.*`Trajectory.aux_turns`"):
        check_policy_trajectories([own, replace(own, by="user")])


def test_nested_aux_trajectories_are_found():
    inner, outer = (replace(make_trajectory(texts=["a"]), id=name, by=name) for name in ("user", "solver"))
    own = replace(make_trajectory(texts=["a"]), aux_turns=(replace(outer, aux_turns=(inner,)),))
    assert [one.id for one in nested_aux_trajectories(own)] == ["solver", "user"] and nested_aux_trajectories(
        inner
    ) == []
