"""Helpers of several rewards: checks, answer extraction, references, schedules of weights, scoring of groups."""
