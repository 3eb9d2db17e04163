"""What the command line does: one file a command, each with main(arguments) -> exit code. See handaxe.cli."""

__all__: list[str] = []
