"""Words of a command line for the options of a part, such as a world, for commands that are printed to be copied."""

from collections.abc import Mapping
from typing import Any

from handaxe.methods.flags import dump_options, flag
from handaxe.methods.run_spec import NamedFactory

__all__ = ["part_words"]


def part_words(factory: NamedFactory, values: Mapping[str, Any], *, prefix: str) -> list[str]:
    """Return the words of the options that differ from their defaults.

    Args:
        factory: of the part.
        values: value of each option.
        prefix: of the flags, such as "world".

    Example:
        part_words(NamedFactory("jsonl", jsonl), {"file": "my shop.csv", ...}, prefix="world")
        -> ["--world.file", "my shop.csv"]
    """
    words = []
    for one, value in zip(factory.options(), dump_options(factory.options(), values).values(), strict=True):
        if values[one.name] == one.default:
            continue
        name = flag(f"{prefix}.{one.name}")
        if isinstance(value, bool):
            words.append(name if value else name.replace(f"--{prefix}.", f"--{prefix}.no-"))
        elif isinstance(value, list):
            words += [name, *map(str, value)]
        elif isinstance(value, dict):
            words += [name, *(str(item) for pair in value.items() for item in pair)]
        else:
            words += [name, str(value)]
    return words
