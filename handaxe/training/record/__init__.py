"""The record of a run: everything that was generated, scored, trained and measured, in one SQLite file.

schema      its tables, and how those of older formats become them
groups      what a step leaves of a group
writing, reading      a group as rows, and back
run_record  the file: steps, metrics, evaluations, events
"""

from handaxe.training.record.run_record import RunRecord

__all__ = ["RunRecord"]
