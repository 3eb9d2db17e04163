"""Exports trajectories of a run for other programs.

chosen       trajectories of a record, with scores and advantages
jsonl        JSON lines, one per trajectory, complete; and back
dataset      folder for the package datasets
inspect_log  log for `inspect view`
"""
