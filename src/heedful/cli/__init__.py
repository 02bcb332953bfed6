"""The command line: one file for each verb, which parses, calls and prints. No torch until a verb needs it."""

from heedful.cli.main import main

__all__ = ["main"]
