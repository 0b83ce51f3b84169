"""Messages, manifests, scopes and names that every part of toolmesh shares."""
