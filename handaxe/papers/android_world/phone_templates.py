"""Templates of tasks on a phone: add, change and delete a row, and composites of two or three apps."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, Field

from handaxe.papers.android_world.phone import APPS, Phone
from handaxe.papers.android_world.task_template import Params, TaskTemplate, composite_score

__all__ = ["CompositeParams", "PhonePart", "TEMPLATES", "part_success"]

MOST_ROWS = 9
COMPLEXITY = {"add": 0.4, "set": 0.6, "delete": 0.6}
"""One step to open the app, two to scroll to the last screen, one for the change, and one for the answer."""


class PhonePart(BaseModel):
    """Change of a row: action, app, key, new value (not of delete), and rows before."""

    action: str = Field(pattern="^(add|set|delete)$")
    app: str = Field(pattern="^(contacts|events|notes|settings)$")
    key: str = Field(pattern="^[0-9]{3}$")
    value: str = Field(pattern="^[0-9]{4}$")
    rows: list[tuple[str, str]] = Field(min_length=1, max_length=MOST_ROWS)


class CompositeParams(BaseModel):
    """Parts of a task in different apps, and the text of each."""

    parts: list[PhonePart] = Field(min_length=1, max_length=len(APPS))
    text: str


def part_success(phone: Phone, part: Mapping[str, Any]) -> float:
    """Compare an app with the required rows: 1 if equal as a set, so that every other row is as before.

    Example:
        rows (512, 1111) and (513, 2222), set 512 to 5526: 1 for (512, 5526) and (513, 2222), 0 for any other rows

    Paper: arXiv:2405.14573 (AndroidWorld), success decided by the state of an app.
    Differs: other rows count, too.
    """
    before = [tuple(row) for row in part["rows"]]
    kept = [row for row in before if part["action"] == "add" or row[0] != part["key"]]
    wanted = kept if part["action"] == "delete" else [*kept, (part["key"], part["value"])]
    return float(sorted(phone.rows(part["app"])) == sorted(wanted))


def _draw_part(rng: random.Random, action: str, app: str) -> dict[str, Any]:
    count = rng.randint(1, MOST_ROWS)
    drawn = [str(one) for one in rng.sample(range(100, 1000), count + 1)]
    keys = drawn[:count]
    fresh = drawn[-1] if action == "add" else rng.choice(keys)
    rows = [(key, str(rng.randrange(1000, 10_000))) for key in keys]
    return {"action": action, "app": app, "key": fresh, "value": str(rng.randrange(1000, 10_000)), "rows": rows}


def _words(part: Mapping[str, Any]) -> str:
    ending = "" if part["action"] == "delete" else f" {part['value']}"
    return f"{part['app']} {part['action']} {part['key']}{ending}"


def _template(name: str, actions: Sequence[str], complexity: float) -> TaskTemplate[Phone]:
    """Make a template with a part for each action, in different apps."""

    def draw(rng: random.Random) -> Params:
        apps = rng.sample(APPS, len(actions))
        parts = [_draw_part(rng, action, app) for action, app in zip(actions, apps, strict=True)]
        return {"parts": parts, "text": "; ".join(_words(part) for part in parts)}

    def initialize(phone: Phone, params: Params) -> None:
        phone.clear()
        for part in params["parts"]:
            phone.fill(part["app"], part["rows"])

    return TaskTemplate(
        name=name,
        template="{text}",
        schema=CompositeParams,
        draw=draw,
        initialize=initialize,
        is_successful=lambda phone, params: composite_score([part_success(phone, one) for one in params["parts"]]),
        tear_down=lambda phone, params: phone.clear(),
        complexity=complexity,
    )


TEMPLATES: dict[str, TaskTemplate[Phone]] = {
    **{action: _template(action, [action], complexity) for action, complexity in COMPLEXITY.items()},
    "add_delete": _template("add_delete", ["add", "delete"], 0.9),
    "set_add_delete": _template("set_add_delete", ["set", "add", "delete"], 1.3),
}
"""Templates by name."""
