"""What stages are made of: functions of the tasks, for `choose`."""

__all__: list[str] = []
