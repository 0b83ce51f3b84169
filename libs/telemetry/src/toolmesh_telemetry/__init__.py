"""Logs, metrics, trace ids, health endpoints and redaction."""
