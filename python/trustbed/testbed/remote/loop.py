"""An event loop in a thread of its own, for whoever has none: connections live in it, and answers are waited for outside."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

_TIDY_SECONDS = 30.0


class Loop:
    """The thread runs until :meth:`close`. Processes that end with the thread that started them are started in it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._awaited: set[Future[Any]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="remote hosts", daemon=True)
        self._thread.start()

    def start(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Begins something; its result comes later."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Does something to its end, or until the waiting is interrupted."""
        future = self.start(coroutine)
        self._awaited.add(future)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
        finally:
            self._awaited.discard(future)

    def interrupt(self) -> None:
        """Gives up everything that somebody waits for in :meth:`run`."""
        for future in tuple(self._awaited):
            future.cancel()

    def close(self) -> None:
        """Gives up whatever is being done, and ends the thread."""
        if self._loop.is_closed():
            return
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    # What is being given up already is tidying, and may itself wait for something that must not be given up.
    if tidying := [task for task in others if task.cancelling()]:
        await asyncio.wait(tidying, timeout=_TIDY_SECONDS)
    if left := [task for task in others if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=_TIDY_SECONDS)
