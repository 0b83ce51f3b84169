"""The worker: finds tools, pulls invocations, runs each in a sandbox, returns results."""
