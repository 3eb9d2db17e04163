"""A chat page in a thread, with a tool whose replies are hostile text."""

import contextlib
import threading
import time

from handaxe.chat import web_page
from handaxe.chat.use import use
from handaxe.core.errors import Failed
from handaxe.tools import tool

TOKEN = "a-token-of-sixteen-letters"
HOSTILE = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>\u202e\x1b[31m 408"


@tool
def calculator(expression: str) -> str:
    """Return hostile text.

    Args:
        expression: of numbers.
    """
    if expression == "99-98":
        raise Failed("no such number")
    return HOSTILE


@contextlib.contextmanager
def serving(assistant, events):
    import uvicorn

    app = web_page.chat_page_app(assistant, events, title="tiny <b>run</b>", token=TOKEN)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    (port,) = {one.getsockname()[1] for part in server.servers for one in part.sockets}
    try:
        yield f"http://localhost:{port}/"
    finally:
        server.should_exit = True
        thread.join(timeout=30)


@contextlib.contextmanager
def chat_page():
    """Serve a conversation with the tiny policy; the address."""
    events = web_page.ChatEvents()
    with (
        use("tiny", [calculator], watch=events.watch, on_text=events.on_text) as assistant,
        serving(assistant, events) as found,
    ):
        yield found
