"""Tasks of agents on executors and workers that are stopped and killed at random, and what became of each."""
