"""Who asks: the client and the request that work is done for, so that each gets its fair share of a model.

A client is known by its address: that of the connection or, where a proxy that is trusted stands between, the one the
proxy names. The key is everybody's, and tells nobody apart. Known to whatever runs for a request, without being handed
from function to function. Knows nothing of what is asked.
"""

import ipaddress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count

_LONGEST_ADDRESS = 64
_NETWORK_OF_ONE_CLIENT = 64  # bits: whoever has an IPv6 address has all that begin with these
_numbers = count(1)


@dataclass(frozen=True)
class Caller:
    """One request of one client."""

    client: str = ""
    request: int = 0


_current: ContextVar[Caller] = ContextVar("caller")
NOBODY = Caller()


def current_caller() -> Caller:
    """Return for whom this task works."""
    return _current.get(NOBODY)


def begin_request(client: str) -> None:
    """Note that this task works for a new request of a client."""
    _current.set(Caller(client, next(_numbers)))


def client_at(address: str | None) -> str:
    """Return the client at an address; those that cannot be told apart are one."""
    text = (address or "")[:_LONGEST_ADDRESS]
    if ":" not in text:
        return text
    try:
        found = ipaddress.IPv6Address(text.partition("%")[0])
    except ValueError:
        return text
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, _NETWORK_OF_ONE_CLIENT), strict=False).network_address)
