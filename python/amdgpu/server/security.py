"""Who may talk to the server: the names it is addressed by, the pages that ask, and the token.

- `Host`: a page of a stranger can point its own name at 127.0.0.1 (DNS rebinding); such requests carry the stranger's name and are refused.
- `Origin`: browsers send WebSockets across sites; only pages of this server, and those that were allowed, may.
- Token: compared in constant time; in `Authorization: Bearer`, in `?token=`, or in the auth sub-protocol of the Phoenix client.
  Wrong ones are counted by address: beyond ten, and one more every six seconds, the address is answered 429. The right token is let in all
  the same when it is too long to be guessed, so that nobody can lock others out who come from the same address.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import math
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from amdgpu.server.guesses import Guesses
from amdgpu.server.settings import Settings, is_loopback, is_strong

SUB_PROTOCOL = "phoenix"
AUTH_PREFIX = "base64url.bearer.phx."
DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class Refused(Exception):
    """A request that is not answered; `status` is that of HTTP, the text says why."""

    def __init__(self, status: int, reason: str, message: str, *, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_seconds = retry_seconds


class Guard:
    """Checks the requests of one server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._names = {"localhost", *map(str.lower, settings.allowed_hosts)}
        self._is_loopback = is_loopback(settings.host)
        if not self._is_loopback:
            self._names |= {socket.gethostname().lower(), settings.host.lower()}
        self._token = None if settings.token is None else settings.token.encode()
        self._is_strong = settings.token is not None and is_strong(settings.token)
        self._guesses = Guesses()

    def check_form(self, scope: Mapping[str, Any]) -> None:
        """Check what no honest client sends.

        Raises:
            Refused: The path has control characters, or there are several `Host` headers (RFC 9112, 3.2).
        """
        if any(character < " " or character == "\x7f" for character in scope["path"]):
            raise Refused(400, "invalid-message", f"the path {scope['path']!r} has control characters")
        count = sum(key == b"host" for key, _ in scope["headers"])
        if count > 1:
            raise Refused(400, "invalid-message", f"the request has {count} Host headers; HTTP allows one")

    def check_source(self, scope: Mapping[str, Any]) -> None:
        """Check `Host` and `Origin`.

        Raises:
            Refused: The request came under a strange name, or from a strange page.
        """
        host = header(scope, b"host") or ""
        name, _ = _split_host(host)
        if not self._is_own_name(name):
            raise Refused(
                403,
                "not-permitted",
                f"this server is not called {name!r}; start it with --allow-host {name or 'NAME'} if it is",
            )
        origin = header(scope, b"origin")
        if origin is not None and not self._is_own_page(origin, host):
            raise Refused(
                403,
                "not-permitted",
                f"pages of {origin!r} may not use this server; start it with --allow-origin {origin} if they may",
            )

    def check_token(self, scope: Mapping[str, Any]) -> None:
        """Check the token, where one is set.

        Raises:
            Refused: There is none, or another; or the address has guessed too often.
        """
        if self._token is None:
            return
        address = (scope.get("client") or ("", 0))[0]
        given = _tokens(scope)
        is_right = any(hmac.compare_digest(one, self._token) for one in given)
        wait = self._guesses.wait_seconds(address)
        if wait > 0 and given and not (is_right and self._is_strong):
            message = f"too many wrong tokens from {address}; the next one is looked at in {math.ceil(wait)} s"
            raise Refused(429, "not-permitted", message, retry_seconds=wait)
        if is_right:
            return
        if given:
            self._guesses.note_wrong(address)
        raise Refused(
            401,
            "not-permitted",
            "this server asks for its token: Authorization: Bearer TOKEN, ?token=TOKEN, or the Phoenix client's authToken",
        )

    def _is_own_name(self, name: str) -> bool:
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        # A number is nobody's name: no server of names can point it here.
        return address.is_loopback or not self._is_loopback

    def _is_own_page(self, origin: str, host: str) -> bool:
        if origin in self._settings.allowed_origins:
            return True
        try:
            page = urlsplit(origin)
            port = page.port
        except ValueError:
            return False
        if page.scheme not in ("http", "https") or not page.hostname:
            return False
        name, own_port = _split_host(host)
        default = DEFAULT_PORTS[page.scheme]
        return (page.hostname.lower(), port or default) == (name, own_port or default)


def header(scope: Mapping[str, Any], name: bytes) -> str | None:
    """A header of an ASGI scope."""
    value: bytes | None = next((value for key, value in scope["headers"] if key == name), None)
    return None if value is None else value.decode("latin-1")


def offered_protocols(scope: Mapping[str, Any]) -> list[str]:
    """The WebSocket sub-protocols that a client offers."""
    value = header(scope, b"sec-websocket-protocol") or ""
    return [entry.strip() for entry in value.split(",") if entry.strip()]


def query(scope: Mapping[str, Any]) -> dict[str, str]:
    """The query of a request; the last of several values counts."""
    pairs = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=100)
    return {key: values[-1] for key, values in pairs.items()}


def _tokens(scope: Mapping[str, Any]) -> list[bytes]:
    found = []
    scheme, _, bearer = (header(scope, b"authorization") or "").partition(" ")
    if scheme.lower() == "bearer":
        found.append(bearer.strip().encode())
    try:
        given = query(scope).get("token")
    except ValueError:
        given = None
    if given is not None:
        found.append(given.encode("utf-8", "replace"))
    for protocol in offered_protocols(scope):
        if protocol.startswith(AUTH_PREFIX):
            text = protocol.removeprefix(AUTH_PREFIX)
            try:
                found.append(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            except (binascii.Error, ValueError):
                continue
    return found


def _split_host(host: str) -> tuple[str, int | None]:
    """Name and port of a `Host` header; the name is empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.username is not None or parts.path or parts.query or parts.fragment:
            return "", None
        return (parts.hostname or "").lower(), parts.port
    except ValueError:
        return "", None
