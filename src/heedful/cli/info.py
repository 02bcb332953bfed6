"""`heedful info`: what a bug report needs, ready to paste."""

import json

from heedful.cli import options
from heedful.cli.console import write_line


def info(as_json: options.Json = False) -> None:
    """Print versions, devices and folders, ready to paste into a report."""
    from heedful.tasks.environment import describe_environment

    facts = describe_environment()
    if as_json:
        write_line(json.dumps(facts))
        return
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        write_line(f"{name:<{width}}  {value}")
