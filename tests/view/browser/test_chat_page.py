"""The page of `handaxe chat --web` in a real Chromium, with hostile replies of a tool."""

import pytest
from helpers.chat_page import TOKEN, chat_page

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address():
    with chat_page() as found:
        yield found


def test_page_shows_text_calls_and_replies_as_text(address, look, tmp_path):
    looker = look(address)
    page = looker.page
    page.goto(f"{address}#{TOKEN}")
    page.wait_for_selector("#title:not(:text-is('chat'))")  # the content security policy forbids wait_for_function
    assert page.inner_text("#title") == "tiny <b>run</b>" and TOKEN not in page.url
    page.fill("#question", "12*34=?")
    page.press("#question", "Enter")
    page.wait_for_selector("main[aria-busy=false] .policy")
    assert "12*34=?" in page.inner_text(".user")
    assert 'calculator({"expression": "12*34"})' in page.inner_text(".call")
    reply = page.inner_text(".reply")
    assert "<script>window.hacked=1</script>" in reply and "reply: ok" in reply
    assert "RIGHT-TO-LEFT OVERRIDE" in page.inner_html(".reply") and "\u202e" not in page.inner_html(".reply")
    assert page.locator("#log img, #log script, #log b").count() == 0
    page.screenshot(path=str(tmp_path / "chat.png"), full_page=True)
    page.click("#new")
    page.wait_for_selector("#log:empty", state="attached")


def test_page_without_token_shows_the_refusal(address, chromium):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector(".failed")
    assert "wants a header Authorization" in page.inner_text("#log")
    context.close()
