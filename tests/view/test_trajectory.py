import io
import re
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from handaxe.core.errors import Retry
from handaxe.core.records import Author, Message, Sampling, Task, ToolCall
from handaxe.core.requests import Attempt
from handaxe.envs.tool_chat import tool_chat
from handaxe.models.chat_formats.compact import Compact
from handaxe.rollouts.driver import run
from handaxe.rollouts.linear import linear
from handaxe.testing.make_records import make_trajectory
from handaxe.testing.scripted_engine import ScriptedEngine
from handaxe.tools import tool
from handaxe.view.trajectory import pieces, token_table, trajectory_panel

HOSTILE = "\x1b[31mred\x1b[0m [bold]b[/bold] \x1b]8;;file:///x\x07 <END>\u202e\u200b\r\nnext\x9b2J"
FORMAT = Compact()


@tool
def look(query: str) -> str:
    """Look something up.

    Args:
        query: what.
    """
    if query == "bad":
        raise Retry("say what you want")
    return HOSTILE


@pytest.fixture(scope="module")
def trajectory():
    """Three turns: a refused call, a call of a hostile tool, and an answer."""
    task = Task("a[red]task", (Message("user", "What\x07?"),))
    env = tool_chat([look])
    _, schemas = env(task).start()
    script = [ToolCall("look", {"query": "bad"}), ToolCall("look", {"query": "thing"}), "caf\u00e9"]
    engine = ScriptedEngine(FORMAT, script, tools=schemas)
    one = Attempt(task=task, env=env, format=FORMAT, sampling=Sampling(), id="t", sample=2, seed=0, context=4096)
    ((trajectory,),) = run([one], linear(max_turns=3), engine, workers=1)
    return trajectory


def show(renderable, *, colour=True, width=100):
    console = Console(
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        width=width,
        file=io.StringIO(),
        record=True,
    )
    console.print(renderable)
    return console.export_text(styles=colour)


def panel(trajectory, advantage=None, **more):
    advantages = None if advantage is None else [np.where(s.mask, advantage, 0.0) for s in trajectory.sequences]
    return trajectory_panel(trajectory, decode=FORMAT.decode, advantages=advantages, **more)


def test_panel_shows_turns_in_order(trajectory):
    text = show(panel(trajectory, 0.5, outcome=1.0, channels={"answer": 1.0}), colour=False)
    order = ["a[red]task, sample 3", "prompt", "look bad", "+0.500", "look retry", "reply", "look thing", "caf\u00e9"]
    order += ["outcome 1.000", "answer 1.000", "2 calls"]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_panel_names_the_roles_of_turns(trajectory):
    named = replace(trajectory, notes={"roles": ["planner", "\x1b[31m[red]", "caller"]})
    rows = show(panel(named), colour=False).splitlines()
    assert any("planner" in row for row in rows) and any(r"\x1b[31m[red]" in row for row in rows)
    assert "planner" not in show(panel(trajectory), colour=False)


def test_panel_without_colours_has_no_control_characters(trajectory):
    text = show(panel(trajectory, 0.5), colour=False)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e]", text)
    assert "\\x1b[31mred\\x1b[0m [bold]b[/bold]" in text.replace("\n", "")
    assert "\\u202e\\u200b\\r\\n" in text and "\\x9b2J" in text


def test_panel_with_colours_has_only_colour_codes(trajectory):
    text = show(panel(trajectory, 0.5))
    assert "\x1b[" in text
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert "file:///x" in re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\n", "")


def test_tokens_are_shaded_by_the_sign_of_their_advantage(trajectory):
    up, down, zero, unknown = (show(panel(trajectory, value)) for value in (0.5, -0.5, 0.0, None))
    call = "look thing"
    lines = {k: next(x for x in v.splitlines() if call in x) for k, v in zip("udzn", (up, down, zero, unknown))}
    assert "48;2;0;150;0m" in lines["u"] and "48;2;180;0;0m" in lines["d"]
    assert "48;2" not in lines["z"] and "48;2" not in lines["n"]
    assert "not scored" in unknown and "+0.000" in zero


def test_advantage_that_varies_within_a_turn_is_a_range(trajectory):
    values = np.zeros(len(trajectory.sequences[0]))
    first = trajectory.turns[0]
    values[first.start : first.stop] = np.linspace(-1, 1, first.stop - first.start)
    text = show(trajectory_panel(trajectory, decode=FORMAT.decode, advantages=[values]), colour=False)
    assert "-1.000" in text and "..+1.000" in text


def test_long_tool_output_is_cut_with_a_mark(trajectory):
    text = show(panel(trajectory, max_chars=40), colour=False)
    assert "left out" in text and "red\\x1b[0m [bold]" not in text


def test_token_table_lists_sampled_tokens(trajectory):
    sequence = trajectory.sequences[0]
    table = token_table(sequence, decode=FORMAT.decode, advantages=np.where(sequence.mask, 0.25, 0.0))
    assert table.row_count == trajectory.num_tokens
    assert "+0.250" in show(table, colour=False)
    everything = token_table(sequence, decode=FORMAT.decode, policy_only=False)
    assert everything.row_count == len(sequence)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", show(everything, colour=False))


def test_token_table_computes_the_mask_once(trajectory, monkeypatch):
    """Once per token would take five minutes for four million tokens."""
    looked = []
    monkeypatch.setattr(
        type(trajectory.sequences[0]), "mask", property(lambda self: looked.append(1) or self.author == 3)
    )
    for policy_only in (True, False):
        token_table(trajectory.sequences[0], decode=FORMAT.decode, policy_only=policy_only)
    assert len(looked) == 2


def test_pieces_keep_characters_whole():
    ids = list("a\u00e9\u65e5".encode())
    found = list(pieces(ids, FORMAT.decode))
    assert [(one.text, one.start, one.stop) for one in found] == [("a", 0, 1), ("\u00e9", 1, 3), ("\u65e5", 3, 6)]


def test_pieces_of_invalid_bytes_end():
    ids = [255] * 6
    found = list(pieces(ids, FORMAT.decode))
    assert found[0].start == 0 and found[-1].stop == 6
    assert all(a.stop == b.start for a, b in zip(found, found[1:]))


def test_forced_and_expert_tokens_have_other_colours():
    one = make_trajectory(layouts=["Ut pffp tx p"], logp=[-1, -9, -9, -2, -3])
    (row,) = one.sequences
    ids = np.frombuffer(b"ut" + b"abcd" + b"tx" + b"e", np.uint8).astype(np.int32)
    one = replace(one, sequences=(replace(row, ids=ids),))
    plain, shaded = show(panel(one)), show(panel(one, 0.5))
    assert "\x1b[1;35mbc\x1b[0m" in plain and "\x1b[34mx\x1b[0m" in plain and "\x1b[1ma\x1b[0m" in plain
    assert "\x1b[1;35;48;2;0;150;0mbc\x1b[0m" in shaded
    assert "-1.500" in plain  # of a and d: b and c were not the policy's to draw
    lines = show(token_table(row, decode=FORMAT.decode), colour=False).splitlines()
    forced = [line for line in lines if re.match(r"\s+3\s", line)]
    assert len(forced) == 1 and "-9.000" in forced[0] and "0.000" not in forced[0].replace("-9.000", "")


def test_legend_names_the_authors_of_the_trajectory():
    everybody = show(panel(make_trajectory(layouts=["Ut pf tTx p"])))
    codes = set(re.findall(r"\x1b\[([0-9;]+)m", everybody))
    assert {"90", "36", "33", "1", "1;35", "34"} <= codes
    assert all(f" {author.name.lower()} " in everybody for author in Author)
    policy = show(panel(make_trajectory(layouts=["Ut p"])))
    assert " policy " in policy and " forced " not in policy and " tool " not in policy
