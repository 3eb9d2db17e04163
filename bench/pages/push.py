"""Seconds of a push of weights to a vLLM server."""

from typing import Any

from pages.tables import spread, table


def section(found: dict[str, Any]) -> str:
    """Milliseconds by size of model."""
    text = (
        "A push to a vLLM server from one rank on the same machine, on the CPU: weights are gathered, written to "
        "memory as safetensors, read by the server, and its log-probs of a fixed row compared. Milliseconds, median "
        "and range of "
        f"{found['rounds']} pushes, on {found['cores']} cores. Command, in the environment of `make test-vllm`: "
        f"`python bench/push.py --rounds {found['rounds']} --widths 64 256 512`.\n"
    )
    rows = [
        [
            f"{size['parameters'] / 1e6:.1f}M",
            f"{size['megabytes']:.0f}",
            spread([1000 * one for one in size["seconds"]], 0),
        ]
        for size in found["sizes"]
    ]
    return f"{text}\n{table(['parameters', 'megabytes', 'push'], rows)}"
