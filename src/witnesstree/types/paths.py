"""Names of files as a user gives them."""

from __future__ import annotations

import errno
import os

from witnesstree.errors import InputError


def expand(path: str) -> str:
    """Return a path with ``~`` or ``~user`` replaced by that home folder.

    Raises:
        InputError: there is no such home folder, or the path is longer than file names can be.
    """
    found = os.path.expanduser(path)
    if found.startswith("~"):
        raise InputError(f"there is no home folder for {path.partition('/')[0][:80]}", reason="no_path")
    try:
        os.lstat(found)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise InputError(f"the path {found[:80]}… is longer than file names can be here", reason="no_path") from None
    except ValueError:
        pass  # a NUL byte: whoever uses the path says so
    return found
