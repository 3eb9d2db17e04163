"""Requests in prose with the tools that they need, and samples of a catalogue around them."""

from __future__ import annotations

import functools
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from handaxe.core.errors import InputError
from handaxe.ops.seeds import derive_seed
from handaxe.worlds.bfcl.matching import first_accepted
from handaxe.worlds.bfcl.tasks import all_tasks
from handaxe.worlds.toolbox.catalogue import Catalogue, ToolEntry, read_schemas
from handaxe.worlds.toolbox.questions import accepts, make_step
from handaxe.worlds.world import Split

__all__ = ["LabelledRequest", "function_catalogue", "labelled_requests", "sample_entries", "spread"]

CATEGORIES = (
    "simple_python", "multiple", "live_simple", "live_multiple", "parallel_multiple", "live_parallel_multiple",
)  # fmt: skip
"""Categories with arguments in JSON and calls of distinct functions."""
MOST_OF_TOOL = 2
"""Requests for one tool alone; the package has up to 94 for a function."""
LONGEST = 600
"""Character limit of a request."""


class LabelledRequest(NamedTuple):
    """Request of a user with the calls that it needs.

    steps: `worlds.toolbox.questions.make_step` of each call, under the names of `function_catalogue`. The query of a
    step is the request.
    """

    id: str
    text: str
    steps: tuple[Mapping[str, Any], ...]

    @property
    def needed(self) -> tuple[str, ...]:
        """Names of the needed tools, without duplicates."""
        return tuple(dict.fromkeys(step["name"] for step in self.steps))


@functools.lru_cache(maxsize=1)
def function_catalogue() -> Catalogue:
    """Return the catalogue with the first schema of each of the 1,853 functions of the package.

    Raises:
        InputError: a missing package (bfcl-eval; extras [search] and [mcp]).
    """
    first: dict[str, ToolEntry] = {}
    for entry in read_schemas():
        first.setdefault(entry.function, entry)
    return Catalogue(list(first.values()))


@functools.lru_cache(maxsize=2)
def labelled_requests(split: Split) -> tuple[LabelledRequest, ...]:
    """Read requests of one user message with accepted calls; halves by a digest of the id.

    Requests need one tool, or two to four different ones. At most two requests need the same tool alone. Requests of
    more than 600 characters, and requests whose calls the first schema of the function rejects, are left out.

    Args:
        split: train or test; the same tools may be needed in both.

    Returns:
        Requests in the package's order; ids and texts are unique.

    Example:
        "Find the sum of all the multiples of 3 and 5 between 1 and 1000. Also find the product of the first five prime
        numbers." needs ("math_toolkit_sum_of_multiples", "math_toolkit_product_of_primes")
    """
    if split not in ("train", "test"):
        raise InputError(f"requests have the splits train and test, not {split!r}")
    catalogue = function_catalogue()
    names = {entry.function: name for name, entry in catalogue.entries.items()}
    found: list[LabelledRequest] = []
    counts, texts = Counter[frozenset[str]](), set[str]()
    for category in CATEGORIES:
        for task in all_tasks(category):
            text = task.messages[0].content
            if len(task.messages) > 1 or len(text) > LONGEST or not text.strip() or text in texts:
                continue
            functions = frozenset(name for accepted in task.answer for name in accepted)
            if len(functions) == 1 and counts[functions] == MOST_OF_TOOL:
                continue
            steps = [_step(catalogue, names, accepted, task.metadata["functions"], text) for accepted in task.answer]
            if not steps or not all(steps):
                continue
            request = LabelledRequest(task.id, text, tuple(step for step in steps if step is not None))
            texts.add(text)
            counts[functions] += 1
            found.append(request)
    return tuple(one for one in found if (derive_seed("tool request", one.id) % 2 == 0) == (split == "test"))


def sample_entries(
    requests: Sequence[LabelledRequest], size: int, seed: int, *, among: Sequence[ToolEntry] | None = None
) -> list[ToolEntry]:
    """Sample tools of the catalogue: all needed ones, and random further ones.

    Args:
        requests: at least one.
        size: number of tools, from the number of needed ones to that of all.
        seed: of the further tools; a larger sample of the same seed holds every smaller one.
        among: tools that are sampled, with all needed ones; None: the catalogue.

    Returns:
        Entries in the order of their names.

    Raises:
        InputError: size out of range.
    """
    known = function_catalogue().entries if among is None else {entry.name: entry for entry in among}
    needed = {name for one in requests for name in one.needed}
    if not len(needed) <= size <= len(known):
        raise InputError(f"a sample has {len(needed)} needed to {len(known)} tools, not {size}")
    others = sorted(known.keys() - needed)
    random.Random(derive_seed("sampled tools", seed)).shuffle(others)
    return [known[name] for name in sorted([*needed, *others[: size - len(needed)]])]


def spread(requests: Sequence[LabelledRequest], count: int) -> list[LabelledRequest]:
    """Choose requests at equal distances, so that all categories of the package occur.

    Args:
        requests: in the package's order.
        count: most requests, 1 or more.

    Example:
        spread of 7 requests, count 3  ->  requests 0, 2 and 4
    """
    if count < 1:
        raise InputError(f"give 1 request or more, not {count}")
    return list(requests[:: max(1, len(requests) // count)][:count])


def _step(
    catalogue: Catalogue,
    names: Mapping[str, str],
    accepted: Mapping[str, Any],
    documents: Sequence[Mapping[str, Any]],
    text: str,
) -> dict[str, Any] | None:
    """The step of an accepted call; None if the catalogue's schema of the function rejects it."""
    ((function, parameters),) = accepted.items()
    name = names.get(function)
    if name is None:
        return None
    arguments = first_accepted(accepted, documents, None).arguments
    step = make_step(name, function, "", parameters, arguments, text)
    fits = accepts(step, catalogue.entries[name], arguments) and catalogue.call(name, arguments).status == "ok"
    return step if fits else None
