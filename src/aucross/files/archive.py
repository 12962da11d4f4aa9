"""The file itself: a zip archive, read within limits, with a checksum against damage and an optional signature.

::

    header.json         what the file says about itself; stored as it is, so that reading it unpacks nothing else
    description.json    what is to be built, stored as it is (see `description`)
    arrays/0.npy ...    the arrays that the description refers to, each a plain .npy file, lightly compressed

The declared sizes are checked against the limits before anything is read, and the checksum before anything is used.
"""

from __future__ import annotations

import hmac
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

FORMAT_NAME = "aucross"
FORMAT_VERSION = 2

HEADER, DESCRIPTION, _ARRAY = "header.json", "description.json", "arrays/{}.npy"

LARGEST_HEADER = 4 * 2**20
LARGEST_DESCRIPTION = 64 * 2**20

# What a file may become in memory: arrays of zeros pack a thousand to one, but no real model is made of them alone.
_ALWAYS_ALLOWED = 64 * 2**20
_MOST_EXPANSION = 32

_PIECE = 2**20
# No byte that deflate packs stands for more than this: a size beyond it is damage, and no memory is taken for it.
_LARGEST_RATIO = 1032

# How files begin that are taken for a model, and what is said of them.
_START = 512
_COMPRESSED = (b"\x1f\x8b", b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"BZh", b"\xfd7zXZ", b"\x04\x22\x4d\x18")
_PICKLES = (
    "which would run what it holds and is not read here; where you trust it, load the classifier with pickle or joblib "
    "and write it with aucross.save(clf, path)"
)

# Fast, and within 5 % of the size that slower levels reach on scores.
_LEVEL = 1
_SHORTEST_KEY = 16


class Content(NamedTuple):
    """Content of an archive, without its header."""

    description: bytes  # JSON
    arrays: list[bytearray]  # .npy files
    digests: list[bytes]  # SHA-256 of each array
    limit: int  # bytes that may be taken to build what is described


class DamagedError(ValueError):
    """Error for an archive that was changed after it was written."""


class RefusedError(ValueError):
    """Error for an intact archive that is refused: another format, another key, or content that is not listed."""


class OtherFileError(ValueError):
    """Error for a file that is not an archive of aucross."""


def expansion_limit(size: int) -> int:
    """Return how many bytes of memory the content of a file of a given size may take."""
    return _ALWAYS_ALLOWED + _MOST_EXPANSION * size


def archive_bytes(
    header: Mapping[str, Any],
    description: bytes,
    arrays: Sequence[bytes],
    digests: Sequence[bytes],
    key: bytes | None,
    *,
    bytes_taken: int = 0,
) -> bytes:
    """Return the bytes of an archive, whose header gets its checksums and, with a key, its signature.

    Members stay uncompressed if the content needs more memory (`bytes_taken`) than the limit for the compressed size.
    """
    sealed = {**header, "content": _content_digest(description, digests)}
    if key is not None:
        sealed["signature"] = _signature(sealed, key)
    sealed["checksum"] = sha256(_sealed(sealed)).hexdigest()
    about = json.dumps(sealed, indent=1).encode()
    if len(about) > LARGEST_HEADER:
        raise ValueError(
            f"metadata must be small enough for a header of {LARGEST_HEADER // 2**20} MiB, got {len(about):,} bytes; "
            "keep large tables in a file of their own"
        )
    if len(description) > LARGEST_DESCRIPTION:
        raise ValueError(
            f"the classifier has more parts than a file may: its description takes {len(description):,} bytes, and "
            f"{LARGEST_DESCRIPTION:,} are the most; fit it with fewer distinct categories or fewer models"
        )
    for compression in (ZIP_DEFLATED, ZIP_STORED):
        buffer = io.BytesIO()
        with ZipFile(buffer, "w", compresslevel=_LEVEL) as archive:
            archive.writestr(HEADER, about, compress_type=ZIP_STORED)
            archive.writestr(DESCRIPTION, description, compress_type=ZIP_STORED)
            for number, array in enumerate(arrays):
                archive.writestr(_ARRAY.format(number), array, compress_type=compression)
        packed = buffer.getvalue()
        if max(sum(map(len, arrays)) + len(description), bytes_taken) <= expansion_limit(len(packed)):
            break
    return packed


# ---- reading ----


def read_header(path: str | os.PathLike[str], key: bytes | None) -> dict[str, Any]:
    """Read the header of an archive and check it against its checksum and the key; read nothing else."""
    with _opened(path) as (archive, _):
        return _header(archive, key)


def read_archive(path: str | os.PathLike[str], key: bytes | None) -> tuple[dict[str, Any], Content]:
    """Return header and content, checked against the limits, the checksums and the key."""
    with _opened(path) as (archive, size):
        header, content = _header(archive, key), _content(archive, size)
        if header.get("content") != _content_digest(content.description, content.digests):
            raise DamagedError("its checksum does not fit its content")
        return header, content


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[tuple[ZipFile, int]]:
    """Open an archive for its members and its size; explain why a file cannot be opened."""
    with open(path, "rb") as file:
        try:
            with ZipFile(file) as archive:
                yield archive, os.fstat(file.fileno()).st_size
        except (DamagedError, RefusedError, OtherFileError):
            raise
        except Exception as error:  # a damaged archive fails in many ways
            file.seek(0)
            if kind := _kind_of_other_file(file.read(_START)):
                raise OtherFileError(kind) from error
            raise DamagedError(f"{type(error).__name__}: {error}") from error


def _kind_of_other_file(start: bytes) -> str | None:
    """Return the kind of file that begins with these bytes, if it is known and not an archive."""
    if start[:1] == b"\x80" and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return f"a pickle, {_PICKLES}"
    if start.startswith(_COMPRESSED):
        return f"a compressed file, as joblib writes pickles, {_PICKLES}"
    text = start.decode("utf-8", errors="ignore")  # the last letter may be cut
    is_text = text and all(letter.isprintable() or letter in "\t\r\n\ufeff" for letter in text)
    if is_text and len(start) - len(text.encode()) < 4:
        return "a text file, and models are no text; name a file of aucross.save or `aucross fit`"
    return None


def _header(archive: ZipFile, key: bytes | None) -> dict[str, Any]:
    if HEADER not in archive.namelist():
        raise OtherFileError(
            "an archive of another program, without a header of aucross; name a file of aucross.save or `aucross fit`"
        )
    member = archive.getinfo(HEADER)
    _check_stored(member, LARGEST_HEADER)
    header = parsed_json(archive.read(member))
    if not isinstance(header, dict) or header.get("format") != FORMAT_NAME:
        raise DamagedError("its header does not say that aucross wrote it")
    version, versions = header.get("format_version"), header.get("versions")
    if type(version) is not int or version < 1:
        raise DamagedError(f"its format version is {version!r}")
    if version != FORMAT_VERSION:
        written_by = versions.get("aucross", "?") if isinstance(versions, dict) else "?"
        raise RefusedError(
            f"it has format version {version}, written by aucross {written_by}, and version {FORMAT_VERSION} is the "
            "one that is read here: update aucross for a newer file; save the classifier again for an older one"
        )
    if header.get("checksum") != sha256(_sealed(header)).hexdigest():
        raise DamagedError("its checksum does not fit its header")
    if key is None:
        return header
    signature = header.get("signature")
    if signature is None:
        raise RefusedError("it is not signed, and a key is in use; take a signed file, or save it with key=...")
    if not isinstance(signature, str) or not hmac.compare_digest(signature.encode(), _signature(header, key).encode()):
        raise RefusedError("its signature is not by the key in use; take the file from its owner, or another key")
    return header


def _content(archive: ZipFile, size: int) -> Content:
    members = archive.infolist()
    expected = [HEADER, DESCRIPTION, *map(_ARRAY.format, range(len(members) - 2))]
    if [member.filename for member in members] != expected:
        raise BadZipFile(f"it should hold {HEADER}, {DESCRIPTION} and numbered arrays, in this order")
    _, description, *arrays = members
    _check_stored(description, LARGEST_DESCRIPTION)
    limit = expansion_limit(size)
    # Members that overlap would be read once each.
    if sum(member.compress_size for member in members) > size or sum(member.file_size for member in members) > limit:
        raise DamagedError(f"it would unpack to more than the {limit:,} bytes that a file of its size may")
    contents = [_unpacked(archive, member) for member in arrays]
    digests = [sha256(content).digest() for content in contents]
    return Content(archive.read(description), contents, digests, limit)


def _check_stored(member: ZipInfo, largest: int) -> None:
    if member.compress_type != ZIP_STORED or member.file_size != member.compress_size or member.file_size > largest:
        raise DamagedError(f"{member.filename} must be stored as it is, in at most {largest:,} bytes")


def _unpacked(archive: ZipFile, member: ZipInfo) -> bytearray:
    if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise DamagedError(f"{member.filename} is compressed in a way that is not used here")
    if member.file_size > _LARGEST_RATIO * (member.compress_size + 1):
        raise DamagedError(f"{member.filename} declares more bytes than can be packed into it")
    content, n_read = bytearray(member.file_size), 0  # no more than is declared, whatever is packed
    with archive.open(member) as file:
        while piece := file.read(min(_PIECE, member.file_size - n_read)):  # at once, it would be held twice
            content[n_read : n_read + len(piece)] = piece
            n_read += len(piece)
    if n_read != member.file_size:
        raise DamagedError(f"{member.filename} does not have the size that is declared")
    return content


def parsed_json(text: bytes) -> Any:
    """Parse JSON, refusing infinity and NaN, which JSON does not have."""
    return json.loads(text.decode(), parse_constant=_refuse_constant)


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


# ---- checksums and signatures ----


def _content_digest(description: bytes, arrays: Sequence[bytes]) -> str:
    """Return a digest of the members' digests, so that no bytes can move from one member to the next."""
    return sha256(sha256(description).digest() + b"".join(arrays)).hexdigest()


def _signature(header: Mapping[str, Any], key: bytes) -> str:
    """Sign the header, which contains the digest of all other members."""
    return hmac.new(key, _sealed(header, "signature"), sha256).hexdigest()


def _sealed(header: Mapping[str, Any], left_out: str = "checksum") -> bytes:
    rest = {name: value for name, value in header.items() if name not in ("checksum", left_out)}
    return json.dumps(rest, sort_keys=True).encode()


def checked_key(key: Any) -> bytes | None:
    """Return a key as bytes after checking it; None if there is none."""
    if key is None:
        return None
    if not isinstance(key, bytes):
        raise TypeError(f"key must be bytes, got {type(key).__name__}; pass for example Path(name).read_bytes()")
    if len(key) < _SHORTEST_KEY:
        raise ValueError(
            f"key must have at least {_SHORTEST_KEY} bytes, got {len(key)}; make one with secrets.token_bytes(32)"
        )
    return key
