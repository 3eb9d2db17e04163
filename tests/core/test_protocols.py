import inspect
import typing

from handaxe.core import model_api as networks
from handaxe.core import protocols as slots
from handaxe.curricula.in_order import InOrder
from handaxe.engines.local.engine import LocalEngine
from handaxe.models.chat_formats.compact import Compact
from handaxe.models.tiny import TinyModel
from handaxe.testing.scripted_engine import ScriptedEngine


def methods(protocol):
    return {
        name: member
        for name, member in vars(protocol).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def implements(cls, protocol):
    for name, wanted in methods(protocol).items():
        assert hasattr(cls, name), f"{cls.__name__} lacks {name}"
        has, want = inspect.signature(getattr(cls, name)).parameters, inspect.signature(wanted).parameters
        needed = [key for key, one in has.items() if key in want or one.default is one.empty]
        assert needed == list(want), f"{cls.__name__}.{name} takes {list(has)}, the role says {list(want)}"


def test_shipped_parts_have_the_signatures_of_their_protocols():
    for cls in (LocalEngine, ScriptedEngine):
        implements(cls, slots.Engine)
    implements(TinyModel, networks.Model)
    implements(Compact, slots.ChatFormat)
    implements(InOrder, slots.Curriculum)
    assert isinstance(InOrder.__new__(InOrder), slots.Stateful)


def test_every_role_is_exported_and_takes_one_or_two_arguments():
    mechanisms = {"Reward", "Credit", "AdvantageTransform", "Selector", "Loss"}
    roles = mechanisms | {"Curriculum", "Engine", "Env", "Judge", "Rollout"}
    assert roles <= set(slots.__all__) and len(slots.__doc__.splitlines()) < 12
    for name in mechanisms:
        arguments, _ = typing.get_args(getattr(slots, name))
        assert 1 <= len(arguments) <= 2, f"{name} takes what it works on and nothing else"
