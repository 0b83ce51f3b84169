"""A tool on its author's machine: described, checked and run as a worker would, without a broker."""
