"""Threads for what takes a while, so that the event loop never does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from amdgpu.errors import LimitExceededError, RequestTimeoutError

T = TypeVar("T")


class Workers:
    """A bounded number of threads with a bounded queue before them."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=f"amdgpu-server-{name}")
        self._most = threads + waiting
        self._running = 0

    async def run(self, function: Callable[[], T], seconds: float, what: str) -> T:
        """Run `function` in a thread and wait for it at most `seconds`; what takes longer goes on, and its result is dropped.

        Raises:
            LimitExceededError: Too many calls wait already.
            RequestTimeoutError: This one took too long.
        """
        if self._running >= self._most:
            raise LimitExceededError(f"{self._running} calls are being worked on; try again in a while")
        self._running += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, function)
        future.add_done_callback(self._ended)
        try:
            return await asyncio.wait_for(asyncio.shield(future), seconds)
        except asyncio.TimeoutError:
            if future.done():
                raise
            raise RequestTimeoutError(f"{what} took longer than {seconds:g} s") from None

    def close(self) -> None:
        """Take no more calls; what runs is not waited for."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, future: asyncio.Future[Any]) -> None:
        self._running -= 1
        if not future.cancelled():
            # Read, so that a result nobody waits for any more is no complaint of the event loop.
            future.exception()
