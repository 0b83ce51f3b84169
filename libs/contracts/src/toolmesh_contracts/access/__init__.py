"""Who may do what: the files that say it, and the scopes that follow for one identity."""
