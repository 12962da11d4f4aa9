"""Fitted classifiers in files that cannot run code: a description is checked as a whole, then built step by step.

`archive` handles the file, and `description` takes a classifier apart. `listed` says what a file may contain, with one
module for each library, and `roles` says where. `rebuilder` checks a description against both and builds the
classifier.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from aucross.estimators.base import SelectiveClassifier
from aucross.estimators.fitted import Fitted
from aucross.files import archive
from aucross.files.description import Description
from aucross.files.fingerprints import fingerprints_in, keep_fingerprint_of_file
from aucross.files.listed import full_name
from aucross.files.rebuilder import Rebuilder
from aucross.system.text import warn_user
from aucross.system.whole_files import write_whole

logger = logging.getLogger(__name__)

# Libraries whose version a file always names; those of the base models are added.
_LIBRARIES = ("aucross", "numpy", "scipy", "sklearn")

_NAMES_IN_HEADER = ("class_name", "saved_at", "model_fingerprint", "rule_fingerprint")
_LONGEST_REASON = 300


@dataclass(frozen=True)
class FileHeader:
    """Header of a saved file.

    Attributes
    ----------
    format_version : int
        Version of the file format.
    class_name : str
        Class of the saved classifier.
    saved_at : str
        Time of saving, UTC, ISO 8601.
    versions : dict
        Versions of Python and of the libraries at the time of saving, by name.
    model_fingerprint, rule_fingerprint : str
        Fingerprints of the scoring model and of the rule, see :func:`model_fingerprint` and :func:`rule_fingerprint`;
        :func:`load` refuses a file whose content has other fingerprints.
    unlisted_types : list of str
        Types that :func:`load` refuses unless they are named as trusted.
    metadata : dict
        Metadata that the caller gave to :func:`save`.
    signature : str or None
        Signature by a key, if the file was saved with one; only reading with the key checks it.
    """

    format_version: int
    class_name: str
    saved_at: str
    versions: dict[str, str]
    model_fingerprint: str
    rule_fingerprint: str
    unlisted_types: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    signature: str | None = None


# ---- saving ----


def save(
    clf: SelectiveClassifier,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    key: bytes | None = None,
) -> None:
    """Write a fitted classifier to a file that cannot run code when it is loaded.

    The file holds the held-out scores and labels of the training rows, which place the bands, but not their features
    (unless the base model keeps them, as nearest neighbours do).

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier. Its base models may be models of scikit-learn, imbalanced-learn, LightGBM, XGBoost or
        CatBoost, pipelines included, networks of `aucross.torch`, or other models that consist of attributes.
    path : path-like
        The file; an existing one is replaced in one step.
    metadata : mapping, optional
        Anything that JSON can hold, such as the names of columns; :func:`read_metadata` returns it.
    key : bytes, optional
        A secret of at least 16 bytes to sign the file with (HMAC-SHA256). Loading with the same key proves that an
        owner of the key wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.files import load, save
    >>> X, y = make_classification(1000, flip_y=0.3, random_state=0)
    >>> clf = AUCross(LogisticRegression(), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, Path(folder) / "clf.aucross")
    ...     loaded = load(Path(folder) / "clf.aucross")
    >>> bool((loaded.select(X) == clf.select(X)).all())
    True
    """
    if not isinstance(clf, SelectiveClassifier):
        raise TypeError(
            f"clf must be a SelectiveClassifier such as AUCross, got {type(clf).__name__}; a pipeline belongs inside: "
            "AUCross(pipeline)"
        )
    check_is_fitted(clf)
    path, key = Path(path), archive.checked_key(key)
    described = Description()
    described.node(clf)
    rebuilder = Rebuilder(described.entries, described.arrays, archive.expansion_limit(sum(map(len, described.arrays))))
    try:  # what loading would refuse later is refused now
        rebuilder.check_nodes(type(clf).__name__)
        rebuilder.build(described.unlisted)
    except ValueError as error:
        raise TypeError(f"the classifier cannot be saved: {_short(error)}") from error
    model, rule = fingerprints_in(described.entries, described.digests)
    header = FileHeader(
        format_version=archive.FORMAT_VERSION,
        class_name=type(clf).__name__,
        saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions_of(sorted(described.libraries)),
        model_fingerprint=model,
        rule_fingerprint=rule,
        unlisted_types=sorted(described.unlisted),
        metadata=_checked_metadata(metadata),
    )
    about = {"format": archive.FORMAT_NAME, **asdict(header)}
    del about["signature"]  # the archive signs
    text = json.dumps(described.entries, separators=(",", ":")).encode()
    arrays, digests, bytes_taken = described.arrays, described.digests, rebuilder.bytes_taken
    write_whole(path, archive.archive_bytes(about, text, arrays, digests, key, bytes_taken=bytes_taken))
    if described.unlisted:
        logger.warning(
            "%s holds types that load refuses unless they are named: load(path, trusted=%s)",
            path,
            header.unlisted_types,
        )


def _checked_metadata(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, got {type(metadata).__name__}")
    try:
        return json.loads(json.dumps(dict(metadata), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"metadata must hold only what JSON can hold: {error}; convert it first") from error


def versions_of(libraries: Iterable[str]) -> dict[str, str]:
    """Return the known versions of Python, this package, its dependencies and further libraries."""
    names = dict.fromkeys([*_LIBRARIES, *libraries])
    versions = {name: _version_of(name) for name in names}
    return {"python": platform.python_version(), **{name: version for name, version in versions.items() if version}}


def _version_of(library: str) -> str | None:
    # Read where it lies: a module may answer for missing names with code of its own.
    version = vars(sys.modules[library]).get("__version__") if library in sys.modules else None
    return version if isinstance(version, str) else None


# ---- loading ----


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = (), key: bytes | None = None) -> Any:
    """Read a classifier that :func:`save` wrote.

    No file can make this function run, import, open or write anything that is neither on the list of aucross nor named
    in `trusted`. The guide to storage gives the details.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str or type, default=()
        Further types that the file may hold, or their dotted names, such as the class of your own base model. Their
        modules are imported, but their constructors are not called.
    key : bytes, optional
        A secret: only a file that was saved with the same key is loaded. Without a key the writer of a file is unknown:
        checksums only find damage.

    Warns
    -----
    UserWarning
        If the file was written with another version of scikit-learn; the models in it may then answer differently.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross, load, save
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0)
    >>> clf = clf.fit(*make_classification(400, random_state=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(clf, Path(folder) / "model.aucross")
    ...     load(Path(folder) / "model.aucross").coverage
    0.8
    """
    return load_with_header(path, trusted=trusted, key=key)[0]


def load_with_header(
    path: str | os.PathLike[str], *, trusted: Iterable[str | type] = (), key: bytes | None = None
) -> tuple[Any, FileHeader]:
    """Read a classifier and the header of its file, opening the file once."""
    name, trust, key = os.fspath(path), _trusted(trusted), archive.checked_key(key)
    with _naming(name):
        about, content = archive.read_archive(path, key)
        header = _checked_header(about)
        entries = archive.parsed_json(content.description)
        rebuilder = Rebuilder(entries, content.arrays, content.limit)
        rebuilder.check_nodes(header.class_name)
    further = rebuilder.further_classes | rebuilder.further_functions
    if refused := sorted(further - trust.keys()):
        raise TypeError(
            f"{name} holds types that are not listed: {refused}; if you know them and trust the file, pass "
            f"load(path, trusted={refused})"
        )
    saved, present = header.versions.get("sklearn"), _version_of("sklearn")
    if saved != present:
        warn_user(
            f"{name} was saved with scikit-learn {saved} and is loaded with {present}: its models may fail or answer "
            "differently; install the version of the file, or fit and save again"
        )
    with _naming(name):
        known = {further_name: _found(further_name, trust[further_name]) for further_name in further}
        # The record of decisions relies on them.
        if (header.model_fingerprint, header.rule_fingerprint) != fingerprints_in(entries, content.digests):
            raise archive.RefusedError("its header names the fingerprints of another classifier")
        clf = rebuilder.build(known)
        if not isinstance(clf, SelectiveClassifier):
            raise archive.RefusedError(f"it must hold a selective classifier, and holds a {header.class_name}")
        if not isinstance(vars(clf).get("fitted_"), Fitted) or not clf.fitted_.is_whole:
            raise archive.RefusedError(f"its {header.class_name} must have a rule and classes")
        if header.versions != {**header.versions, **versions_of(header.versions)}:
            keep_fingerprint_of_file(clf, header.model_fingerprint)
    return clf, header


def read_header(path: str | os.PathLike[str], *, key: bytes | None = None) -> FileHeader:
    """Read the header of a file, without loading the classifier or unpacking anything else.

    Parameters
    ----------
    path : path-like
        A file that :func:`save` wrote.
    key : bytes, optional
        A secret: only the header of a file that was saved with the same key is returned.
    """
    key = archive.checked_key(key)
    with _naming(os.fspath(path)):
        return _checked_header(archive.read_header(path, key))


def read_metadata(path: str | os.PathLike[str], *, key: bytes | None = None) -> dict[str, Any]:
    """Read the metadata that was given to :func:`save`, without loading the classifier.

    Parameters
    ----------
    path : path-like
        A file that :func:`save` wrote.
    key : bytes, optional
        A secret: only the metadata of a file that was saved with the same key is returned.
    """
    return read_header(path, key=key).metadata


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Turn any fault of a file into one sentence that names the file."""
    try:
        yield
    except OSError:
        raise
    except MemoryError as error:
        raise MemoryError(f"{name} takes more memory than there is here; load it on a larger machine") from error
    except ModuleNotFoundError as error:
        if "pip install" in str(error):  # it says itself what to do
            raise
        raise ModuleNotFoundError(
            f"{name} needs {error.name}, which is not installed here: install it to load the file", name=error.name
        ) from error
    except archive.DamagedError as error:
        raise ValueError(
            f"{name} is not a whole file of aucross.save: {_short(error)}; it was cut off or changed after "
            "saving, so take it from a backup or save the classifier again"
        ) from error
    except archive.OtherFileError as error:
        raise ValueError(f"{name} is no model file: it is {_short(error)}") from error
    except archive.RefusedError as error:
        raise ValueError(f"{name} is refused: {_short(error)}") from error
    except Exception as error:
        raise ValueError(f"{name} is refused: its content makes no classifier ({_short(error)})") from error


def _short(error: Exception) -> str:
    """Return the first line of a message, shortened, because a file may contain anything."""
    lines = str(error).strip().splitlines() or [""]
    text = f"{type(error).__name__}: {lines[0]}" if isinstance(error, LookupError) or not lines[0] else lines[0]
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_REASON])


def _checked_header(about: Mapping[str, Any]) -> FileHeader:
    known = {name: value for name, value in about.items() if name in FileHeader.__dataclass_fields__}
    if missing := [name for name in _NAMES_IN_HEADER if not _is_name(known.get(name))]:
        raise archive.DamagedError(f"its header lacks a {missing[0]}")
    header = FileHeader(**known)
    if not isinstance(header.versions, dict) or not isinstance(header.metadata, dict):
        raise archive.DamagedError("its header lacks the versions or the metadata")
    if not all(map(_is_name, header.versions.values())) or not isinstance(header.unlisted_types, list):
        raise archive.DamagedError("its header names versions or types that are none")
    return header


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_REASON and value.isprintable()


# ---- trust ----


def _trusted(trusted: Any) -> dict[str, Any]:
    """Return the types that a caller trusts, by name; None for types given only by name."""
    if isinstance(trusted, str | bool) or not isinstance(trusted, Iterable):
        raise TypeError(
            f"trusted must be a list of types or of their dotted names, got {trusted!r}; pass for example "
            'trusted=["my_package.models.Scorecard"]'
        )
    return {
        value if isinstance(value, str) else full_name(value): None if isinstance(value, str) else value
        for value in trusted
    }


def _found(name: str, given: Any) -> Any:
    if given is not None:
        return given
    module, _, attribute = name.rpartition(".")
    found = getattr(import_module(module), attribute, None)
    if found is None:
        raise archive.RefusedError(f"{module} has no {attribute}, which the file needs")
    return found
