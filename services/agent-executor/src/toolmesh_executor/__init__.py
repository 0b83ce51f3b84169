"""Which tools an agent has, and signed dispatch of the remote ones."""
