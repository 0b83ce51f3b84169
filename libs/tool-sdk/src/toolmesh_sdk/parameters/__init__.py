"""The types of a tool's parameters: each knows its JSON Schema and builds the typed value from what the model sent."""
