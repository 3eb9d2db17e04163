"""What counts as the answer text of a trajectory: functions Trajectory -> str, for the `extract` argument of rewards.

Each returns "" when there is nothing to find, and "" is never a right answer.

Example:
    final text "so 3 apples\nAnswer: 7 pears"
    final_text -> "so 3 apples\nAnswer: 7 pears"    answer_line -> "7 pears"    last_number -> "7"
Idea: where the answer stands is a convention of the prompt, so it is chosen apart from how answers are compared.
"""

import json
import re
from collections.abc import Callable

from handaxe.core.records import Trajectory, Turn

__all__ = [
    "answer_line",
    "argument",
    "boxed",
    "final_text",
    "forged_call",
    "in_blocks",
    "last_number",
    "tagged",
    "written_text",
]

DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)"  # no \d: digits of other scripts are no number to what reads it next
NUMBER = re.compile(rf"(?<![\w.])[+-]?{DIGITS}(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|(?<![\w.])[+-]?\.[0-9]+")

CALL_TAG = re.compile(r"</?tool_call>")


def final_text(trajectory: Trajectory) -> str:
    """The last turn's text outside calls, without surrounding white space."""
    return trajectory.final_text.strip()


def answer_line(trajectory: Trajectory) -> str:
    """What follows the last "answer:" (any case) up to the end of its line."""
    found = re.findall(r"answer:[ \t]*([^\n]*)", trajectory.final_text, flags=re.IGNORECASE)
    return found[-1].strip() if found else ""


def last_number(trajectory: Trajectory) -> str:
    """The last number written, without thousands separators; "3.5e2", "-4" and "1,024" are numbers, "x2" is not."""
    found = NUMBER.findall(trajectory.final_text)
    return found[-1].replace(",", "") if found else ""


def boxed(trajectory: Trajectory) -> str:
    r"""The inside of the last closed \boxed{...}, braces balanced."""
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


def tagged(tag: str) -> Callable[[Trajectory], str]:
    """A function that finds the inside of the last closed <tag>...</tag> of all that the policy wrote."""
    pattern = re.compile(rf"<{re.escape(tag)}>((?:(?!<{re.escape(tag)}>).)*?)</{re.escape(tag)}>", flags=re.DOTALL)

    def extract(trajectory: Trajectory) -> str:
        found = pattern.findall(written_text(trajectory))
        return found[-1].strip() if found else ""

    return extract


def argument(tool: str, name: str) -> Callable[[Trajectory], str]:
    """A function that finds an argument of the last call of a tool that was carried out; other than text, its JSON.

    A call counts whose reply is "ok". It is meant for environments that a call ends; see envs.tool_chat's `final`.

    Example:
        answer(text="7"), then answer(text="8") that is refused; argument("answer", "text") -> "7"
    """

    def extract(trajectory: Trajectory) -> str:
        done = {reply.call_id for reply in trajectory.replies if reply.status == "ok"}
        found = [call.arguments.get(name, "") for call in trajectory.calls if call.name == tool and call.id in done]
        said = found[-1] if found else ""
        return (said if isinstance(said, str) else json.dumps(said)).strip()

    return extract


def written_text(trajectory: Trajectory) -> str:
    """All that the policy wrote, in one notation whatever the chat format.

    The calls of a turn stand after its text as one <tool_call> block with a JSON object a line. A malformed call
    leaves its block unclosed, as a check of tags should see it.
    """
    return "\n".join(_written(turn, turn.parsed.text.strip()) for turn in trajectory.turns)


def in_blocks(trajectory: Trajectory) -> str:
    """As `written_text`, with the text of each turn in an <answer> block: for formats whose answers have no tags.

    Example:
        a call, then "408" -> '<tool_call>\\n{...}\\n</tool_call>\\n<answer>408</answer>'
    """
    texts = [turn.parsed.text.strip() for turn in trajectory.turns]
    said = [f"<answer>{text}</answer>" if text else "" for text in texts]
    return "\n".join(_written(turn, text) for turn, text in zip(trajectory.turns, said, strict=True))


def forged_call(trajectory: Trajectory) -> bool:
    """Whether a tag of calls in `written_text` belongs to no well-formed call: either a call was malformed, and text
    that the policy writes later could close its open block, or the policy wrote the tag into its text.
    """
    return any(turn.parsed.errors or CALL_TAG.search(turn.parsed.text) for turn in trajectory.turns)


def _written(turn: Turn, text: str) -> str:
    parts = [text]
    if turn.parsed.calls or turn.parsed.errors:
        lines = [json.dumps({"name": c.name, "arguments": dict(c.arguments)}) for c in turn.parsed.calls]
        parts += ["<tool_call>", *lines] + ([] if turn.parsed.errors else ["</tool_call>"])
    return "\n".join(part for part in parts if part)
