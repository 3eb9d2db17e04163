"""Replace links of pages to files outside the site by the file's name."""

import re
from pathlib import Path

from handaxe.commands.papers import read_entries
from handaxe.methods.catalog import HOME
from handaxe.view.role_tables import expand_markers

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)")


def on_page_markdown(markdown, page, files, **_):
    """Expand table markers; keep links to pages, assets and other sites."""
    if "<!-- " in markdown:
        markdown = expand_markers(markdown, read_entries(HOME.parent)[0])
    folder = Path(page.file.src_uri).parent

    def kept(match):
        target = match[2].partition("#")[0]
        if not target or "://" in match[2] or match[2].startswith("mailto:"):
            return match[0]
        found = files.get_file_from_path(_joined(folder, target))
        return match[0] if found is not None else f"`{match[1].strip('`')}`"

    return "".join(
        part if part.startswith("```") else LINK.sub(kept, part)
        for part in re.split(r"(```.*?```)", markdown, flags=re.S)
    )


def _joined(folder, target):
    """Return the path of a link within the site; "" outside."""
    parts = list(folder.parts)
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return ""
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
