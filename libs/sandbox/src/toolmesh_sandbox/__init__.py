"""Run an argv under a policy: backends, profiles, limits, workspaces, outputs."""
