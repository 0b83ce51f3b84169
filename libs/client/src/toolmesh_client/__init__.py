"""Call a tool, follow its statuses, get its result, cancel it."""
