"""Agents as people configure them: `loading` reads a file, `agent` and the entry modules say what may stand in it."""
