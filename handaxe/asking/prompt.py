"""Prompts of questions to language models, as versioned files.

handaxe/prompts/NAME.md                   "NAME"
handaxe/papers/PAPER/prompts/NAME.md      "PAPER/NAME"
NAME.terse.md beside either               the same question in few bytes, for models with a short context
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from handaxe.core.errors import InputError
from handaxe.core.images import PLACEHOLDER
from handaxe.core.records import Message

__all__ = ["Prompt", "find_prompt", "list_prompts", "parse_prompt"]

ROOT = Path(__file__).parent.parent
RULER = "+++"
FIELD = re.compile(r"\{\{([a-z_]+)\}\}")
ROLES = ("system", "user")
FENCE = "fence"
MARK = " [... {} characters left out ...] "
"""Stands for the middle of a long field."""
LEAST = 80
"""A field is never cut below this number of characters."""


@dataclass(frozen=True)
class Prompt:
    """A question with fields, see `parse_prompt`.

    id        name, such as "cm2/check"
    version   raised with every change of the text
    labels    answer -> its surface forms; () for a question that is answered by a text
    trusted   fields of the library and the task, inserted as they are
    quoted    fields of a policy or a tool, inserted as JSON strings
    prefix    begins the answer
    text      body after the front matter
    digest    SHA-256 of the file
    """

    id: str
    version: int
    labels: Mapping[str, tuple[str, ...]]
    trusted: tuple[str, ...]
    quoted: tuple[str, ...]
    prefix: str
    text: str
    digest: str

    @property
    def name(self) -> str:
        """Id and version, such as "cm2/check@1"."""
        return f"{self.id}@{self.version}"

    @property
    def weights(self) -> dict[str, float]:
        """Label -> share of the best answer: n / most for the numbers 0 to most, else 1 for the first label and 0.

        Example:
            labels yes and no -> 1 and 0; labels 0, 1 and 2 -> 0, 0.5 and 1
        """
        if all(label.isdecimal() for label in self.labels):
            most = max(map(int, self.labels), default=0) or 1
            return {label: int(label) / most for label in self.labels}
        return {label: float(k == 0) for k, label in enumerate(self.labels)}

    def render(self, fields: Mapping[str, str], *, cut: int = 0) -> tuple[Message, ...]:
        """The messages of a question.

        A quoted field is a JSON string on one line, so that its text cannot end the field; the fence holds eight digits
        of a digest of all fields.

        Args:
            fields: text of every field of the prompt, and no other.
            cut: characters to leave out in the middle of the longest quoted field.

        Raises:
            InputError: a field is missing or unknown.
        """
        if wrong := set(fields) ^ {*self.trusted, *self.quoted}:
            raise InputError(f"prompt {self.name} has the fields {', '.join((*self.trusted, *self.quoted))}: {wrong}")
        digest = hashlib.sha256(json.dumps(sorted(fields.items())).encode()).hexdigest()[:8]
        known = {**{name: fields[name] for name in self.trusted}, FENCE: f"--- data {digest} ---"}
        known |= {name: json.dumps(text, ensure_ascii=False) for name, text in self._shortened(fields, cut).items()}
        parts = re.split(r"^\{\{(system|user)\}\}\n", self.text, flags=re.MULTILINE)[1:]
        return tuple(
            Message(
                "system" if role == "system" else "user",
                FIELD.sub(lambda found: known[found[1]], body).strip().replace(PLACEHOLDER, " "),
            )
            for role, body in zip(parts[::2], parts[1::2], strict=True)
        )

    def _shortened(self, fields: Mapping[str, str], cut: int) -> dict[str, str]:
        own = {name: fields[name] for name in self.quoted}
        if cut and own:
            name = max(own, key=lambda one: len(own[one]))
            kept = min(len(own[name]), max(LEAST, len(own[name]) - cut))
            if left_out := len(own[name]) - kept:
                head, tail = own[name][: kept // 2], own[name][len(own[name]) - (kept - kept // 2) :]
                own[name] = head + MARK.format(left_out) + tail
        return own


def parse_prompt(text: str, *, source: str) -> Prompt:
    """Read a prompt file: TOML between two lines "+++", then parts {{system}} and {{user}} with fields {{NAME}}.

    Keys: id, version, trusted, quoted, and labels or nothing; prefix. Substitution has no logic and no nesting.

    Args:
        text: of the file.
        source: its path, for messages.

    Raises:
        InputError: a key is missing or unknown; a field is used and not listed, or listed and not used.

    Example:
        id = "step", labels = {yes = ["yes"], no = ["no"]}, quoted = ["turn"], and "{{user}} Is {{turn}} right?"
    """
    head, ruler, body = text.removeprefix(f"{RULER}\n").partition(f"\n{RULER}\n")
    if not text.startswith(f"{RULER}\n") or not ruler:
        raise InputError(f"{source} has no front matter: TOML between two lines {RULER}")
    try:
        found = tomllib.loads(head)
        made = Prompt(
            id=str(found.pop("id")),
            version=int(found.pop("version")),
            labels={name: tuple(forms) for name, forms in found.pop("labels", {}).items()},
            trusted=tuple(found.pop("trusted", ())),
            quoted=tuple(found.pop("quoted", ())),
            prefix=str(found.pop("prefix", "")),
            text=body,
            digest=hashlib.sha256(text.encode()).hexdigest(),
        )
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the front matter of {source} cannot be read: {error!r}") from error
    listed, used = {*made.trusted, *made.quoted}, set(FIELD.findall(body)) - {*ROLES, FENCE}
    if found or listed != used:
        raise InputError(
            f"{source}: keys {sorted(found)} are unknown, fields {sorted(used - listed)} are not listed and "
            f"{sorted(listed - used)} are not used"
        )
    if not re.search(r"^\{\{user\}\}\n", body, flags=re.MULTILINE) or any(not forms for forms in made.labels.values()):
        raise InputError(f"{source} needs a line {{{{user}}}}, and a surface form for each label")
    return made


def find_prompt(name: str, *, terse: bool = False) -> Prompt:
    """Read a prompt by its name, "NAME" or "PAPER/NAME", or by the path of a file that ends in .md.

    Args:
        name: see the module.
        terse: prefer the variant for a short context, where there is one.

    Raises:
        InputError: there is none; the message lists the prompts.
    """
    path = _path(name)
    short = path.with_suffix(".terse.md")
    chosen = short if terse and short.is_file() else path
    if not chosen.is_file():
        raise InputError(f"there is no prompt {name!r}; there are {', '.join(list_prompts())}, or give a file FILE.md")
    try:
        return parse_prompt(chosen.read_text(encoding="utf-8"), source=str(chosen))
    except UnicodeDecodeError as error:
        raise InputError(f"{chosen} is no UTF-8: {error}") from error


def list_prompts() -> list[str]:
    """Names of the prompts of the library, without the terse variants."""
    shared = [path.stem for path in sorted((ROOT / "prompts").glob("*.md"))]
    own = [f"{path.parts[-3]}/{path.stem}" for path in sorted((ROOT / "papers").glob("*/prompts/*.md"))]
    return [name for name in (*shared, *own) if not name.endswith(".terse")]


def _path(name: str) -> Path:
    if name.endswith(".md"):
        return Path(name)
    paper, slash, own = name.partition("/")
    if not re.fullmatch(r"[a-z0-9_]+(/[a-z0-9_]+)?", name):
        raise InputError(f"{name!r} is no name of a prompt: NAME, PAPER/NAME or the path of a file FILE.md")
    return ROOT / "papers" / paper / "prompts" / f"{own}.md" if slash else ROOT / "prompts" / f"{name}.md"
