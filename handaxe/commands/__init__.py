"""Commands of the command line: a module per command, with main(arguments) -> exit code. See handaxe.cli."""

__all__: list[str] = []
