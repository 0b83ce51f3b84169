"""The process contract: what a tool's process is given, and how what it leaves behind is read."""
