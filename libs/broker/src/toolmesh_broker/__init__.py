"""NATS JetStream as toolmesh uses it: queues, replies, ledger, catalog, payloads, the embedded server."""
