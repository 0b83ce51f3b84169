"""`python -m toolmesh_cli`, the same as the command `toolmesh`."""

from toolmesh_cli.start import start

start()
