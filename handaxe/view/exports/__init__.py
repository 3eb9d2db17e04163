"""Writes trajectories of a run for other programs.

chosen       what is written of each, and those of the record that are wanted
jsonl        a line a trajectory, all of it, and back
dataset      a folder that the package datasets loads
inspect_log  a log that `inspect view` opens
"""
