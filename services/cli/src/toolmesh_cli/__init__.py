"""The toolmesh command: starts and drives the other services."""
