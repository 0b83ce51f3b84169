"""Every message of the wire contract as a struct; `toolmesh_contracts.wire` reads and writes them."""
