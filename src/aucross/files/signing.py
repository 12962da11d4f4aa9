"""Read keys and trusted types that the environment names, and write signed facts about files."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aucross.system.whole_files import write_whole

# Names a file whose content is the key to sign model files with; only files that it signed are then read.
KEY_FILE = "AUCROSS_KEY_FILE"
# Names a file whose content is the key by which cases are drawn for audit.
AUDIT_KEY_FILE = "AUCROSS_AUDIT_KEY_FILE"
# Dotted names of types that model files may hold beside the list, separated by commas.
TRUSTED_TYPES = "AUCROSS_TRUSTED_TYPES"


def signing_key() -> bytes | None:
    """Return the signing key from the file that ``AUCROSS_KEY_FILE`` names; None if the variable is not set."""
    return _key_in(KEY_FILE, "to work without signatures")


def secret_key(key: bytes | None = None) -> bytes:
    """Return the key that draws audits, by default from the file that ``AUCROSS_AUDIT_KEY_FILE`` names."""
    found = _key_in(AUDIT_KEY_FILE, "and draw no audits") if key is None else key
    if found is None:
        raise ValueError(
            f"an audit needs a secret key, which nobody who decides or reviews can read: name a file with at least 16 "
            f"random bytes in {AUDIT_KEY_FILE}, outside the database and the model"
        )
    return found


def _key_in(variable: str, without: str) -> bytes | None:
    name = os.environ.get(variable)
    if name is None:
        return None
    try:
        # A line end at the end of the file is not part of the key: editors add it.
        key = Path(name).read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise ValueError(
            f"{variable}: the key file {name!r} cannot be read ({error.strerror}); name a file that can, or unset "
            f"{variable} {without}"
        ) from error
    if len(key) < 16:
        raise ValueError(f"{variable}: {name} must hold a key of at least 16 bytes, got {len(key)}; make a longer one")
    return key


def trusted_types_in_use() -> list[str]:
    """Return the dotted names in ``AUCROSS_TRUSTED_TYPES``: further types that model files may hold."""
    return [name.strip() for name in os.environ.get(TRUSTED_TYPES, "").split(",") if name.strip()]


def write_facts(path: Path, facts: Mapping[str, Any]) -> Path:
    """Write facts about a file beside it (decisions.csv.json), signed if there is a key; return their path."""
    written = datetime.now(UTC).isoformat(timespec="seconds")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    # The hash tells facts of an older file, left by a command that was stopped between writing the two.
    known = {"format": "aucross decisions file", "version": 1, "file": path.name, "sha256": digest}
    content = {**known, "written": written, **facts}
    if (key := signing_key()) is not None:
        text = json.dumps(content, sort_keys=True)
        content["signature"] = hmac.new(key, text.encode(), "sha256").hexdigest()
    beside = path.with_name(f"{path.name}.json")
    write_whole(beside, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return beside
