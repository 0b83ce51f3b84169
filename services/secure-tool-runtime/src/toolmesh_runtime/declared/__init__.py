"""Declared tools: commands of an agent folder, each told of by one TOML file."""
