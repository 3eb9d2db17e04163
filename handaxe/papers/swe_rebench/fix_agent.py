"""Scripted agent of repair: recalls a function of its corpus, or searches an edit that passes a failing test."""

from __future__ import annotations

import random
from collections.abc import Collection

from handaxe.core.errors import InputError
from handaxe.papers.swe_rebench.mine_fixes import CUT, FixTask, function_text, run_tests
from handaxe.papers.swe_rebench.validate_fix import resolved
from handaxe.worlds.repair.expert import replace_row
from handaxe.worlds.repair.source import candidates, replace_token

__all__ = ["fix_agent"]


def fix_agent(task: FixTask, *, tries: int, seed: int, corpus: Collection[str] = ()) -> bool:
    """Play a task once, and decide the reward.

    An agent with the original function in its corpus restores the function. Otherwise single-token edits of the faulty
    function are tried in a drawn order, and the first edit that passes the shown test is submitted. The shown test is
    the first of `fail_to_pass`; other tests decide the reward and are hidden.

    Args:
        task: with a faulty function.
        tries: most edits, 1 or more.
        seed: of the order.
        corpus: code of known functions, as from `function_text`.

    Returns:
        Whether the submitted module passes all tests of the task; False without a submission.

    Raises:
        InputError: tries below 1.

    Example:
        fix_agent(task, tries=8, seed=0) may be False, and fix_agent(task, tries=8, seed=1) True

    Idea: an agent that knows the answer to a part of a benchmark shows the inflation by contamination.
    """
    if tries < 1:
        raise InputError(f"an agent tries 1 edit or more, not {tries}")
    source = task.source
    rows = source.mutated(task.edit)
    if function_text(task.function, source.rows) in corpus:
        return _is_resolved(task, source.rows)
    edits = candidates(task.function, rows)
    random.Random(seed).shuffle(edits)
    shown = task.tests.fail_to_pass[0]
    for edit in edits[:tries]:
        row = replace_token(rows[edit.line - 1], edit)
        assert row is not None, "the token was found in this line"
        changed = replace_row(rows, edit.line, row)
        if not run_tests(task.module, task.function, changed, [shown]).failed:
            return _is_resolved(task, changed)
    return False


def _is_resolved(task: FixTask, rows: tuple[str, ...]) -> bool:
    result = run_tests(task.module, task.function, rows)
    return result.error not in CUT and resolved(task.tests, result.failed)
