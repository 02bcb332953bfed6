"""The 8-bit CPU engine: Python, and the C++ that it compiles on first use."""
