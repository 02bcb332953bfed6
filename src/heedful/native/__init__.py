"""The 8-bit engine for CPUs: C++ in this folder, compiled on first use, and its doorway for Python."""
