"""Constants of the method codedance, read by the tests of every method (tests/papers)."""

ABOUT_REWARDS = True
DEAD_PARTS = {"steps", "whole/bonus/worth/otherwise", "whole/bonus/worth/then", "whole/correct"}
