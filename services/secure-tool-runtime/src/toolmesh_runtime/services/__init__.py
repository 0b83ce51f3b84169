"""Declared tools that an HTTP endpoint of the application answers, in place of a command."""
