"""Tasks of judges: candidates of other worlds' tasks, and the verdict of the oracle."""
