"""Parts of stages: functions of tasks, for `choose`."""

__all__: list[str] = []
