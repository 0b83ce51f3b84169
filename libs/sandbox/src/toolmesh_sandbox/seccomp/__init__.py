"""The system call filter: numbers, an assembler for classic BPF, and the rules."""
