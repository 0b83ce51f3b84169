"""What a tool author imports."""
