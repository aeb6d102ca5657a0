"""How often an address may show a wrong token."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

# A person mistypes a few times; what is below ten a minute finds no token of 16 characters.
BURST = 10
SECONDS_PER_GUESS = 6.0
# Addresses remembered, the one that guessed longest ago goes first: a hostile network must not fill the memory.
MAX_ADDRESSES = 4096


class Guesses:
    """A bucket of guesses for each address: it holds `BURST`, and one comes back every `SECONDS_PER_GUESS`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # Guesses that are left, and when that was counted.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, address: str) -> float:
        """How long this address has to wait until it may guess again; 0 when it may now."""
        left = self._now(address)
        return 0.0 if left >= 1 else (1 - left) * SECONDS_PER_GUESS

    def note_wrong(self, address: str) -> None:
        """The address has shown a wrong token."""
        self._left[address] = (max(self._now(address) - 1, 0.0), self._clock())
        self._left.move_to_end(address)
        if len(self._left) > MAX_ADDRESSES:
            self._left.popitem(last=False)

    def _now(self, address: str) -> float:
        left, counted = self._left.get(address, (float(BURST), 0.0))
        return min(left + (self._clock() - counted) / SECONDS_PER_GUESS, float(BURST))
