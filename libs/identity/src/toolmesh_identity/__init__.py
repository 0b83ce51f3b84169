"""Tokens, signatures over calls, sealing of secrets, and key files."""
