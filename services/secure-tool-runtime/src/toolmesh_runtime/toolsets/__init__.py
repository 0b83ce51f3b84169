"""Toolset folders: finding tools, asking them for their schemas, and noticing changes."""
