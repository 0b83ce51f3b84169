"""`toolmesh doctor`: checks of the machine and of the mesh that runs on it, each with its cure."""
