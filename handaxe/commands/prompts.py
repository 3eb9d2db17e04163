"""`handaxe prompts`: list the prompts of judges, or print one."""

from dataclasses import dataclass

import tyro
from rich.box import SIMPLE_HEAD

from handaxe.asking.prompt import find_prompt, list_prompts
from handaxe.commands.output import console
from handaxe.view.escape_markup import escaped_text
from handaxe.view.fitted_table import FittedTable

__all__ = ["PromptsOptions", "main"]


@dataclass(frozen=True)
class PromptsOptions:
    """List the prompts of the library, or print a prompt.

    Args:
        name: of a prompt, such as check, or the path of a file of your own, which is checked.
        terse: print the variant for models with a short context.
    """

    name: tyro.conf.Positional[str] = ""
    terse: bool = False


def main(arguments: list[str]) -> int:
    """List or print; returns the exit code."""
    options = tyro.cli(PromptsOptions, args=arguments, prog="handaxe prompts")
    terminal = console()
    if options.name:
        prompt = find_prompt(options.name, terse=options.terse)
        terminal.print(f"{prompt.name}, sha256 {prompt.digest[:12]}", markup=False)
        terminal.print(f"labels: {', '.join(prompt.labels) or 'none, the answer is a text'}", markup=False)
        terminal.print(f"fields: {', '.join(prompt.trusted)}; quoted: {', '.join(prompt.quoted)}", markup=False)
        terminal.print()
        for line in prompt.text.strip().splitlines():
            terminal.print(escaped_text(line), soft_wrap=True)
        return 0
    table = FittedTable(box=SIMPLE_HEAD)
    for name in ("prompt", "version", "labels", "fields", "terse"):
        table.add_column(name)
    for name in list_prompts():
        prompt, short = find_prompt(name), find_prompt(name, terse=True)
        fields = ", ".join((*prompt.trusted, *prompt.quoted))
        has_terse = "yes" if short.id != prompt.id else "no"
        table.add_row(name, str(prompt.version), ", ".join(prompt.labels), fields, has_terse)
    terminal.print(table)
    return 0
