import datetime

import pytest

from handaxe.core.records import Message, ToolCall, ToolSchema
from handaxe.models.chat_formats.harmony_calls import HarmonyCalls
from handaxe.models.chat_formats.placeholders import Placeholders
from handaxe.models.chat_formats.safe_encoder import SafeEncoder
from handaxe.models.chat_formats.template_rendering import Style, TemplateRendering

pytestmark = pytest.mark.hf
SHOWN = "{{ strftime_now('%Y') }}{% for m in messages %}|{{ m | tojson }}{% endfor %}{{ tools | tojson }}"
CHAT = [
    Message("system", "rule"),
    Message("user", "1+1?"),
    Message("assistant", "<think>\nhm\n</think>\n\n", (ToolCall("add", {"a": 1}, "c0"),)),
    Message("tool", "2", call_id="c0", name="add"),
    Message("tool", "malformed call"),
]
TOOL = ToolSchema("add", "Add.", {"type": "object"})


def rendered(tokenizer, style):
    encoder = SafeEncoder(tokenizer)
    rendering = TemplateRendering(Shown(tokenizer), encoder, {}, datetime.date(2031, 1, 1))
    placeholders = Placeholders(encoder, CHAT, [TOOL])
    text = rendering.render(placeholders, CHAT, [TOOL], style, header=True)
    return "".join(part.text for part in placeholders.parts(text))


class Shown:
    """A tokenizer whose template shows the messages as JSON."""

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer

    def __getattr__(self, name):
        return getattr(self._tokenizer, name)

    def get_chat_template(self, tools=None):
        return SHOWN


def test_style_decides_the_form_of_messages(smollm2_tokenizer):
    plain = Style(HarmonyCalls(), native=True)
    text = rendered(smollm2_tokenizer, plain)
    assert text.startswith("2031|") and '"arguments": {"a": 1}' in text and '"role": "system"' in text
    assert text.count('"role": "tool"') == 2 and "<think>" in text
    forms = plain._replace(arguments="text", thought="thinking", orphans="user", system="user", described=True)
    text = rendered(smollm2_tokenizer, forms)
    assert '"arguments": "{\\"a\\": 1}"' in text and '"thinking": "hm"' in text and "<think>" not in text
    assert text.count('"role": "tool"') == 1 and '"role": "system"' not in text
    assert "You may call tools" in text and text.endswith("null")
