"""Run record: all rollouts, scores, training data and metrics of a run, in one SQLite file.

schema            tables, and upgrades of older formats
groups            final state of a group
writing, reading  conversion of a group to rows, and back
run_record        the file: steps, metrics, evaluations, events
"""

from handaxe.training.record.run_record import RunRecord

__all__ = ["RunRecord"]
