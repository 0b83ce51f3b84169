"""What a call's arguments must be, by the tool's own schema, before its process starts."""
