"""The in-memory twin of the broker: the same ports with the same behaviour, for tests and for trying things out."""
