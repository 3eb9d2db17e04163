"""Texts and images of an MCP server's results.

Kept: users train on tools of MCP servers.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from handaxe.core.errors import InputError
from handaxe.core.image_decoding import LIMITS
from handaxe.core.images import Image

try:
    import mcp_types as types
except ImportError as error:
    raise InputError("MCP needs its SDK: install it with pip install 'handaxe[mcp]'") from error

__all__ = ["read_content", "write_content"]


def read_content(result: types.CallToolResult, *, max_images: int) -> Any:
    """Read the texts and images of a result for the policy, one below the other. Without content, read the structured
    content as JSON.

    Images are image parts, and embedded resources of an image type. An image that `Image.read` refuses, images beyond
    `max_images`, audio and other resources are named in words, by kind, address and size.

    Args:
        result: of a call, from an untrusted server.
        max_images: most images that are decoded, >= 0.

    Returns:
        The text; or, with images, a list of texts and images.
    """
    parts = list[str | Image]()
    left = max_images
    for block in result.content:
        part = _read_block(block, left > 0)
        left -= isinstance(part, Image)
        parts.append(part)
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    if left == max_images:
        return "\n".join(part for part in parts if isinstance(part, str))
    return [piece for number, part in enumerate(parts) for piece in (("\n", part) if number else (part,))]


def write_content(parts: Sequence[str | Image]) -> list[Any]:
    """Write texts and images as parts of a result, in order."""
    return [
        types.TextContent(type="text", text=part)
        if isinstance(part, str)
        else types.ImageContent(type="image", data=base64.b64encode(part.data).decode(), mime_type=part.media_type)
        for part in parts
    ]


def _read_block(block: Any, decode: bool) -> str | Image:
    match block:
        case types.TextContent(text=text):
            return text
        case types.ImageContent(data=data, mime_type=kind):
            return _read_image(data, f"{kind[:80]}, {_size(data)} bytes", decode)
        case types.AudioContent(data=data, mime_type=kind):
            return f"[{kind[:80]}, {_size(data)} bytes]"
        case types.ResourceLink(uri=uri):
            return f"[resource {str(uri)[:300]}]"
        case types.EmbeddedResource(resource=resource):
            kind = resource.mime_type or "resource"
            name = f"{kind[:80]} {str(resource.uri)[:300]}"
            if kind.startswith("image/") and isinstance(resource, types.BlobResourceContents):
                return _read_image(resource.blob, f"{name}, {_size(resource.blob)} bytes", decode)
            return f"[{name}]"
    return f"[{type(block).__name__}]"


def _read_image(data: str, name: str, decode: bool) -> str | Image:
    """Decode base64 to an image; return its name in words for unreadable data."""
    if not decode:
        return f"[{name}]"
    if _size(data) > LIMITS.bytes:
        return f"[{name}, not shown: more than {LIMITS.bytes} bytes]"
    try:
        encoded = base64.b64decode(data, validate=True)
    except ValueError:
        return f"[{name}, damaged base64]"
    try:
        return Image.read(encoded)
    except InputError as error:
        return f"[{name}, not shown: {str(error)[:300]}]"


def _size(data: str) -> int:
    """Bytes of base64 text."""
    return len(data) * 3 // 4
