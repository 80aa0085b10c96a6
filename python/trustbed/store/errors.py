"""Errors of stores, and what others' exceptions mean for one."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from trustbed.errors import TrustbedError, reason

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class StoreError(TrustbedError):
    """A store that cannot be read or written as requested; what it held is untouched."""


class StoreFull(StoreError):
    """There is no space left where the store is, or where its tables are prepared."""


def full(where: str) -> StoreFull:
    """The error about a disk that is full."""
    hint = "free some space and repeat the command: what is stored is not done twice"
    return StoreFull(f"no space left, {where}", hint)


@contextmanager
def explained(url: str) -> Iterator[None]:
    """Inside the block, what goes wrong with the storage is an error with a hint."""
    try:
        yield
    except (StoreError, FileExistsError):
        raise
    except NotADirectoryError as error:
        raise StoreError(f"is a file, not a store, {url}", "name a directory") from error
    except PermissionError as error:
        if error.filename is not None:  # of this machine's disk
            raise StoreError(
                f"{reason(error)}, {error.filename}",
                f"a store has to be readable for whoever asks, and writable for who adds: {url}",
            ) from error
        raise StoreError(
            f"access denied, {url}: {error}",
            "renew the credentials (they may have expired) or the permissions, and repeat the "
            "command: what is stored is not done twice",
        ) from error
    except OSError as error:
        if error.errno in FULL:
            raise full(url) from error
        if error.errno == errno.EROFS:
            raise StoreError(
                f"{reason(error)}, {url}", "mount it writable, or give --store another directory"
            ) from error
        raise StoreError(
            f"cannot be reached or written, {url}: {reason(error)}",
            "check the URL and the connection, and repeat the command: what is stored stays",
        ) from error
    except Exception as error:
        # What the libraries behind a URL raise before they know an answer: no key, no address.
        if type(error).__module__.split(".")[0] not in _LIBRARIES:
            raise
        raise StoreError(
            f"cannot be reached, {url}: {error}", "check the URL, its region and the credentials"
        ) from error


_LIBRARIES = ("aiohttp", "botocore", "gcsfs", "adlfs", "azure", "google")
