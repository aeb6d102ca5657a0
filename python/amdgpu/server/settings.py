"""What a server is started with, and every limit it keeps."""

from __future__ import annotations

import ipaddress
import secrets
import ssl
from dataclasses import dataclass, field, replace

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.telemetry.metrics_page import DEFAULT_HISTOGRAM_SERIES, MAX_HISTOGRAM_SERIES

DEFAULT_PORT = 4000
LARGEST_PORT = 65_535
COMPATIBLE = ("amd", "dcgm")
TOKEN_BYTES = 24
# A token that a person chose: at ten guesses a minute for each address even dictionaries of words do not get through 16 characters.
MIN_TOKEN = 16
MIN_DIFFERENT = 8
# Files of five minutes: a month of them is read in seconds.
MAX_HISTORY_HOURS = 720


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what clients may cause; each is there so that no client can take more than its share.

    Attributes:
        frame_bytes: Longest WebSocket message of a client; a longer one closes the socket (code 1009) before it is read.
        text_bytes: Longest message in text; JSON of more would hold up the event loop. Arrays travel in binary.
        sockets: WebSocket connections at a time.
        channels: Channels of a socket, as Phoenix has it.
        messages_per_second: Past this rate the server reads a socket more slowly; nothing is lost.
        calls_in_flight: Calls of `gpu:api` that one socket may have unanswered.
        idle_seconds: A socket that says nothing for so long is closed, as Phoenix does; clients send a heartbeat every 30 s.
        close_seconds: How long a closing socket may take to send what is left.
        source_bytes: Longest source of `kernel:compile`.
        compile_seconds: Longest compilation; then its process is ended, and the call answered with an error.
        compile_bytes: Memory that a process may take for what it compiles.
        compilers: Processes that compile at a time.
        execution_seconds: Longest run of a kernel.
        call_bytes: Memory of all arrays of one call.
        kernels: Compiled kernels kept; the one that was used longest ago goes first.
        network_bytes: Parameters of all networks that are kept; the one that was used longest ago goes first.
        workers: Threads that run kernels, products and networks.
        waiting_calls: Calls that wait for such a thread.
        control_messages: Replies and other messages that must not be lost, waiting for one socket; when there are more it is closed.
        control_bytes: The same in bytes.
        event_messages: Batches of events waiting for one socket; the oldest goes first.
        history_points: Points of one history answer.
    """

    frame_bytes: int = 16 << 20
    text_bytes: int = 1 << 20
    sockets: int = 64
    channels: int = 100
    messages_per_second: float = 200.0
    calls_in_flight: int = 8
    idle_seconds: float = 60.0
    close_seconds: float = 5.0
    source_bytes: int = 256 << 10
    compile_seconds: float = 30.0
    compile_bytes: int = 1 << 30
    compilers: int = 4
    execution_seconds: float = 30.0
    call_bytes: int = 256 << 20
    kernels: int = 256
    network_bytes: int = 1 << 30
    workers: int = 4
    waiting_calls: int = 32
    control_messages: int = 1024
    control_bytes: int = 32 << 20
    event_messages: int = 64
    history_points: int = 100_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How a server is run.

    Attributes:
        host: Address to listen at.
        port: Port; 0 takes a free one.
        token: What clients must show; None has one made up (`with_token`), unless `allow_anonymous`.
        allow_anonymous: No token is asked for: every user of this machine can read command lines, kernel sources and figures.
            On loopback only, and not with `allow_execute`.
        allow_execute: Whether clients may run kernels.
        compat: Names at /metrics: None for amdgpu's own, "amd" or "dcgm" for those of AMD's and NVIDIA's exporters.
        allowed_hosts: Further names that requests may address this server by.
        allowed_origins: Further web pages (`http://name:port`) that may talk to it.
        rate_hz: Frames a second while programs have something to tell; never more.
        idle_rate_hz: Frames a second while they have not: as often as the fastest sensors are read, so that no value is left out.
        certificate: File with the certificate (PEM, with those that vouch for it) that makes the server speak TLS: https and wss.
        key: File with its private key; None when the certificate's file has it.
        history_hours: How long the history of sensors and programs is kept in files, with pyarrow; 0 writes none.
        histogram_series: Series that each histogram of /metrics may name; those past it are counted as `other`.
        limits: Bounds on what clients may cause.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    # Not shown where settings are printed.
    token: str | None = field(default=None, repr=False)
    allow_anonymous: bool = False
    allow_execute: bool = False
    compat: str | None = None
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    certificate: str | None = None
    key: str | None = None
    rate_hz: float = 60.0
    idle_rate_hz: float = 10.0
    history_hours: float = 6.0
    histogram_series: int = DEFAULT_HISTOGRAM_SERIES
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self._check_types()
        self._check_token()
        self._check_rest()

    def _check_types(self) -> None:
        arguments.text("serve", "host", self.host, "an address")
        arguments.count("serve", "port", self.port, 0, LARGEST_PORT)
        for name in ("allow_anonymous", "allow_execute"):
            arguments.truth("serve", name, getattr(self, name))
        if self.token is not None and not isinstance(self.token, str):
            # What was given may be most of a secret: it is not shown.
            raise InvalidTypeError(f"serve: the token is of type {type(self.token).__name__}; a text is expected")
        if self.compat is not None:
            arguments.choice("serve", "compat", self.compat, COMPATIBLE)
        for name in ("certificate", "key"):
            if getattr(self, name) is not None:
                arguments.path("serve", name, getattr(self, name))
        for name in ("rate_hz", "idle_rate_hz", "history_hours"):
            arguments.number("serve", name, getattr(self, name))
        arguments.count("serve", "histogram_series", self.histogram_series, 1, MAX_HISTOGRAM_SERIES)

    def _check_token(self) -> None:
        if self.token is not None and not (self.token and self.token.isascii() and self.token.isprintable()):
            raise InvalidArgumentError("the token is empty or has other than printable ASCII characters")
        if self.allow_anonymous and self.is_exposed:
            raise InvalidArgumentError(
                "a server that other machines reach, or that runs kernels, needs a token: leave out allow_anonymous (--no-token)"
            )
        if self.allow_anonymous and self.token is not None:
            raise InvalidArgumentError("there is a token, and allow_anonymous (--no-token), which asks for none")
        if self.token is not None and self.is_exposed and not is_strong(self.token):
            raise InvalidArgumentError(
                f"the token is too easy to guess for a server that other machines reach or that runs kernels: give at least {MIN_TOKEN} "
                f"characters, {MIN_DIFFERENT} of them different, or none to have one made up"
            )

    def _check_rest(self) -> None:
        if self.key is not None and self.certificate is None:
            raise InvalidArgumentError("there is a key without a certificate; TLS needs --certificate FILE too")
        if self.certificate is not None:
            _check_certificate(self.certificate, self.key)
        if not 0 <= self.history_hours <= MAX_HISTORY_HOURS:
            raise InvalidArgumentError(
                f"history_hours must be between 0 and {MAX_HISTORY_HOURS}, got {self.history_hours}"
            )
        if not 0 < self.rate_hz <= 240:
            raise InvalidArgumentError(f"rate_hz must be above 0 and at most 240 frames per second, got {self.rate_hz}")
        if not 0 < self.idle_rate_hz <= 240:
            raise InvalidArgumentError(
                f"idle_rate_hz must be above 0 and at most 240 frames per second, got {self.idle_rate_hz}"
            )

    @property
    def scheme(self) -> str:
        """How addresses of the server begin."""
        return "http" if self.certificate is None else "https"

    @property
    def is_exposed(self) -> bool:
        """Whether a wrong visitor could do more than look: from other machines, or by running kernels."""
        return self.allow_execute or not is_loopback(self.host)

    def with_token(self) -> Settings:
        """These settings, with a token made up where none was given."""
        if self.token is not None or self.allow_anonymous:
            return self
        return replace(self, token=secrets.token_urlsafe(TOKEN_BYTES))


def is_strong(token: str) -> bool:
    """Whether nobody finds the token by trying."""
    return len(token) >= MIN_TOKEN and len(set(token)) >= MIN_DIFFERENT


def _check_certificate(certificate: str, key: str | None) -> None:
    """Load both files, so that what is wrong with them is said in a sentence, before anything listens."""

    def no_password() -> str:
        # OpenSSL would ask the terminal, and a server without one would wait for ever.
        raise InvalidArgumentError(f"the key {key or certificate} is encrypted; give one without a password")

    for path in (certificate, key):
        if path is not None:
            try:
                with open(path, "rb"):  # noqa: PTH123  (only whether it can be read)
                    pass
            except OSError as error:
                raise InvalidArgumentError(f"{path} cannot be read: {error.strerror}") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, no_password)
    except ssl.SSLError as error:
        what = "they do not belong together" if error.reason == "KEY_VALUES_MISMATCH" else str(error.reason or error)
        files = certificate if key is None else f"{certificate} and {key}"
        raise InvalidArgumentError(f"{files}: no certificate with its private key in PEM: {what}") from None


def is_loopback(host: str) -> bool:
    """Whether an address, or `localhost`, is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
