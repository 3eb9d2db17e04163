"""Answer text of a trajectory: functions Trajectory -> str, for the `extract` argument of rewards.

Each returns "" without a match, and "" is never a correct answer.

Example:
    final text "so 3 apples\nAnswer: 7 pears"
    final_text -> "so 3 apples\nAnswer: 7 pears"    answer_line -> "7 pears"    last_number -> "7"
Idea: the place of the answer is a convention of the prompt, separate from the comparison of answers.
"""

import json
import re
from collections.abc import Callable

from handaxe.core.records import Trajectory, Turn

__all__ = [
    "answer_blocks",
    "answer_line",
    "boxed",
    "call_argument",
    "final_text",
    "has_forged_call",
    "last_number",
    "tag_content",
    "written_text",
]

DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"  # no \d: later readers accept ASCII digits only
NUMBER = re.compile(rf"(?<![\w.])[+-]?{DIGITS}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|(?<![\w.])[+-]?\.[0-9]+")

CALL_TAG = re.compile(r"</?tool_call>")


def final_text(trajectory: Trajectory) -> str:
    """The last turn's text outside calls, without surrounding white space."""
    return trajectory.final_text.strip()


def answer_line(trajectory: Trajectory) -> str:
    """The text after the last "answer:" (any case) up to the end of the line."""
    found = re.findall(r"answer:[ \t]*([^\n]*)", trajectory.final_text, flags=re.IGNORECASE)
    return found[-1].strip() if found else ""


def last_number(trajectory: Trajectory) -> str:
    """The last number, without thousands separators; "3.5e2", "-4" and "1,024" are numbers, "x2" is not."""
    found = NUMBER.findall(trajectory.final_text)
    return found[-1].replace(",", "") if found else ""


def boxed(trajectory: Trajectory) -> str:
    r"""The content of the last closed \boxed{...}, braces balanced."""
    text, mark = trajectory.final_text, "\\boxed{"
    begin = text.rfind(mark)
    while begin >= 0:
        depth = 1
        for stop in range(begin + len(mark), len(text)):
            depth += {"{": 1, "}": -1}.get(text[stop], 0)
            if depth == 0:
                return text[begin + len(mark) : stop].strip()
        begin = text.rfind(mark, 0, begin)
    return ""


def tag_content(tag: str) -> Callable[[Trajectory], str]:
    """Return an extractor of the last closed <tag>...</tag> in the policy's text."""
    pattern = re.compile(rf"<{re.escape(tag)}>((?:(?!<{re.escape(tag)}>).)*?)</{re.escape(tag)}>", flags=re.DOTALL)

    def extract(trajectory: Trajectory) -> str:
        found = pattern.findall(written_text(trajectory))
        return found[-1].strip() if found else ""

    return extract


def call_argument(tool: str, name: str) -> Callable[[Trajectory], str]:
    """Return an extractor of an argument of the last executed call of a tool, as JSON unless text.

    A call counts if its reply is "ok". For environments that a call ends; see `final` of envs.tool_chat.

    Example:
        answer(text="7"), then answer(text="8") that is refused; call_argument("answer", "text") -> "7"
    """

    def extract(trajectory: Trajectory) -> str:
        done = {reply.call_id for reply in trajectory.replies if reply.status == "ok"}
        found = [call.arguments.get(name, "") for call in trajectory.calls if call.name == tool and call.id in done]
        value = found[-1] if found else ""
        return (value if isinstance(value, str) else json.dumps(value)).strip()

    return extract


def written_text(trajectory: Trajectory) -> str:
    """All text of the policy in a single notation for all chat formats.

    The calls of a turn follow its text as one <tool_call> block with a JSON object a line. A malformed call leaves its
    block unclosed, so that a check of tags finds it.
    """
    return "\n".join(_written(turn, turn.parsed.text.strip()) for turn in trajectory.turns)


def answer_blocks(trajectory: Trajectory) -> str:
    """As `written_text`, with the text of each turn in an <answer> block: for formats without answer tags.

    Example:
        a call, then "408" -> '<tool_call>\\n{...}\\n</tool_call>\\n<answer>408</answer>'
    """
    texts = [turn.parsed.text.strip() for turn in trajectory.turns]
    blocks = [f"<answer>{text}</answer>" if text else "" for text in texts]
    return "\n".join(_written(turn, text) for turn, text in zip(trajectory.turns, blocks, strict=True))


def has_forged_call(trajectory: Trajectory) -> bool:
    """Return True if `written_text` has a call tag without a well-formed call: a malformed call, whose open block later
    text could close, or a tag in the policy's own text.
    """
    return any(turn.parsed.errors or CALL_TAG.search(turn.parsed.text) for turn in trajectory.turns)


def _written(turn: Turn, text: str) -> str:
    parts = [text]
    if turn.parsed.calls or turn.parsed.errors:
        lines = [json.dumps({"name": c.name, "arguments": dict(c.arguments)}) for c in turn.parsed.calls]
        parts += ["<tool_call>", *lines] + ([] if turn.parsed.errors else ["</tool_call>"])
    return "\n".join(part for part in parts if part)
