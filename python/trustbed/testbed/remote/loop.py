"""An event loop in a thread of its own, for callers without one.

Connections live in it; callers wait for answers outside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

T = TypeVar("T")

_TIDY_SECONDS = 30.0


class Loop:
    """The thread runs until :meth:`close`.

    Processes that end with the thread that started them are started in it.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._waits: set[Callable[[], object]] = set()
        self._changing = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="remote hosts", daemon=True
        )
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begins something; its result comes later.

        Raises:
            CancelledError: The thread has ended, and nothing would run it.
        """
        with self._changing:
            if self._ended:
                coroutine.close()
                raise CancelledError
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Does something to its end, or until the waiting is interrupted.

        Raises:
            CancelledError: It was interrupted, or the thread has been ended.
        """
        future = self.start(coroutine)
        with self.interruptible(future.cancel):
            try:
                return future.result()
            except BaseException:
                future.cancel()
                raise

    def tidy(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs something to its end, within its time, that no :meth:`interrupt` may give up.

        Raises:
            CancelledError: The thread has been ended.
        """
        return self.start(coroutine).result()

    def call(self, function: Callable[[], object]) -> None:
        """Calls a function in the thread, soon.

        Raises:
            CancelledError: The thread has been ended.
        """
        with self._changing:
            if self._ended:
                raise CancelledError
            self._loop.call_soon_threadsafe(function)

    @contextlib.contextmanager
    def interruptible(self, give_up: Callable[[], object]) -> Iterator[None]:
        """Registers how to give up what a caller waits for, if the wait is interrupted."""
        self._waits.add(give_up)
        try:
            yield
        finally:
            self._waits.discard(give_up)

    def interrupt(self) -> None:
        """Gives up everything that :meth:`run` or :meth:`interruptible` waits for."""
        for give_up in tuple(self._waits):
            give_up()

    def close(self) -> None:
        """Cancels all pending work, and ends the thread.

        Later calls raise ``CancelledError``.
        """
        if self._ended:
            return
        self.run(_cancel_others())
        with self._changing:
            self._ended = True
        # Coroutines that others started meanwhile would never finish, and their callers would
        # wait for ever.
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    # Tasks that are already cancelling tidy up, and may wait for something that must not be
    # cancelled.
    if tidying := [task for task in others if task.cancelling()]:
        await asyncio.wait(tidying, timeout=_TIDY_SECONDS)
    if left := [task for task in others if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=_TIDY_SECONDS)
