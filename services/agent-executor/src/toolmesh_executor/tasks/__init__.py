"""Tasks of agents on the broker: queued, run by whichever executor is there, written down step by step."""
