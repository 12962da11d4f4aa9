"""The key and the types that whoever runs a program trusts, from its environment."""

from __future__ import annotations

import os
from pathlib import Path

# Names a file whose content is the key to sign model files with; only files that it signed are then read.
KEY_FILE = "AUCROSS_KEY_FILE"
# Dotted names of types that model files may hold beside the list, separated by commas.
TRUSTED_TYPES = "AUCROSS_TRUSTED_TYPES"


def signing_key() -> bytes | None:
    """Return the key in use, if there is one.

    Returns
    -------
    bytes or None
        Content of the file that the environment variable ``AUCROSS_KEY_FILE`` names.
    """
    name = os.environ.get(KEY_FILE)
    if name is None:
        return None
    try:
        # A line end at the end of the file is not part of the key: editors add it.
        key = Path(name).read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise ValueError(
            f"{KEY_FILE}: the key file {name!r} cannot be read ({error.strerror}); name a file that can, or unset "
            f"{KEY_FILE} to work without signatures"
        ) from error
    if len(key) < 16:
        raise ValueError(f"{KEY_FILE}: {name} must hold a key of at least 16 bytes, got {len(key)}; make a longer one")
    return key


def trusted_types_in_use() -> list[str]:
    """Types that model files may hold beside the list, as the environment variable ``AUCROSS_TRUSTED_TYPES`` says.

    Returns
    -------
    list of str
        Dotted names.
    """
    return [name.strip() for name in os.environ.get(TRUSTED_TYPES, "").split(",") if name.strip()]
