import asyncio
from types import SimpleNamespace

from handaxe.tools.mcp_limits import MAX_BASE64, MAX_PARTS, CappedStream


class OneMessage:
    def __init__(self, **result):
        self.result = result

    async def receive(self):
        return SimpleNamespace(message=SimpleNamespace(result=self.result))


def received(**result):
    stream = OneMessage(**result)
    asyncio.run(CappedStream(stream).receive())
    return stream.result


def test_data_beyond_the_limit_is_replaced_by_its_kind():
    part = {"type": "image", "data": "A" * (MAX_BASE64 // 2), "mimeType": "image/png"}
    blob = {"type": "resource", "resource": {"uri": "a://b", "blob": "A" * 400, "mimeType": "video/mp4"}}
    text = {"type": "text", "text": "a"}
    assert received(content=[part, text, part])["content"] == [part, text, part]
    cut = received(content=[part, part, blob, text, 3])["content"]
    assert cut == [part, part, {"type": "text", "text": "[video/mp4, 300 bytes, left out]"}, text, 3]
    assert len(received(content=[text] * (MAX_PARTS + 5))["content"]) == MAX_PARTS + 1
