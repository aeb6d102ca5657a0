"""Under which addresses a server is reached."""

from __future__ import annotations

import socket

WILDCARDS = {"0.0.0.0": (socket.AF_INET, "127.0.0.1", "192.0.2.1"), "::": (socket.AF_INET6, "::1", "2001:db8::1")}  # noqa: S104  (compared, not bound)


def hosts(host: str) -> list[str]:
    """The addresses to go to for one to listen at: itself, or for a wildcard those of this machine, loopback first.

    Nothing is sent: connecting a datagram socket to an address for documentation (RFC 5737, RFC 3849) only asks which way it would take.
    """
    wildcard = WILDCARDS.get(host.strip("[]"))
    if wildcard is None:
        return [host]
    family, loopback, elsewhere = wildcard
    found = [loopback]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((elsewhere, 9))
            found.append(probe.getsockname()[0])
        except OSError:
            pass
    try:
        named = socket.getaddrinfo(socket.gethostname(), None, family, socket.SOCK_STREAM)
    except OSError:
        named = []
    found += [str(address[0]) for *_, address in named]
    outside = [name for name in dict.fromkeys(found) if not name.startswith("127.") and name != "::1"]
    return [loopback, *outside]
