"""The agent loop: model turns, tool calls, and the record of both."""
