"""Tools that the executor runs itself."""
