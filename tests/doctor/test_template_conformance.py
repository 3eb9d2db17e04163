"""Conformance tables of templates that the page docs/chat_formats.md lists, and of broken templates."""

from pathlib import Path

import pytest
from helpers.model_families import FAMILIES, Unavailable, table_row

from handaxe.doctor.template_conformance import check_template
from handaxe.models.chat_formats.chat_template import ChatTemplate

pytestmark = pytest.mark.hf
PAGE = Path(__file__).parents[2] / "docs" / "chat_formats.md"


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_page_has_the_table_row_of_a_family(name):
    pytest.importorskip("transformers")
    try:
        row = table_row(name)
    except Unavailable as error:
        pytest.skip(str(error))
    assert row in PAGE.read_text(encoding="ascii").splitlines()


def found(small_llamas, change=lambda template: template):
    """Level and short result of each check, for the template of a small Llama."""
    from handaxe.models.load import load_template

    format = load_template(small_llamas / "0")
    tokenizer = format.origin.tokenizer
    tokenizer.chat_template = change(tokenizer.chat_template)
    return {one.finding.check: (one.finding.level, one.short) for one in check_template(ChatTemplate(tokenizer))}


def test_template_without_tools_passes_with_described_tools(small_llamas):
    checks = found(small_llamas)
    assert checks["tools"] == ("ok", "message") and checks["two calls"] == ("ok", "equal")
    assert {level for level, _ in checks.values()} == {"ok"}


def test_template_that_drops_thoughts_starts_a_new_sequence(small_llamas):
    content = "(m.content.split('</think>')[-1] if m.role == 'assistant' and not loop.last else m.content)"
    checks = found(small_llamas, lambda template: template.replace("m.content", content))
    assert checks["thought, call"] == checks["thought, answer"] == ("warning", "dropped, new sequence")
    assert checks["after a call"] == ("ok", "appends")


def test_template_that_drops_tool_results_is_an_error(small_llamas):
    content = "(m.content if '<tool_response>' not in m.content else 'hidden')"
    checks = found(small_llamas, lambda template: template.replace("m.content", content))
    assert checks["results"][0] == "error" and checks["after a call"] == ("error", "refused")


class Misparses(ChatTemplate):
    """Parses no calls."""

    def parse(self, ids, tools):
        parsed = super().parse(ids, tools)
        return type(parsed)(parsed.text, (), (), parsed.raw)


def test_format_that_loses_calls_is_an_error(small_llamas):
    from handaxe.models.load import load_template

    tokenizer = load_template(small_llamas / "0").origin.tokenizer
    checks = {one.finding.check: one for one in check_template(Misparses(tokenizer))}
    assert checks["one call"].short == "altered" and checks["cut calls"].short == "silent"
    assert checks["one call"].finding.level == checks["cut calls"].finding.level == "error"
