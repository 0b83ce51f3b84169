"""The real broker: NATS JetStream through nats-py. Only this package imports `nats`."""
