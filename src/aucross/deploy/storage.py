"""Fitted classifiers in files: no pickle, only listed types, a format version and a checksum.

A file is a zip archive of three members::

    header.json    who wrote it, with which versions, fingerprints, the caller's metadata, the checksum of all
    tree.json      the classifier as plain values (see object_tree)
    leaves.skops   arrays and base models, to which the tree refers by number, as skops stores them
"""

from __future__ import annotations

import io
import json
import logging
import os
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from aucross.deploy.fingerprints import model_fingerprint, remember_model_fingerprint, rule_fingerprint
from aucross.deploy.object_tree import ObjectTree, TreeReader, listed_classes, types_named_in
from aucross.deploy.skops_bytes import skops_bytes, skops_io
from aucross.deploy.trusted_types import LISTED_TYPES, class_by_name, trusted_names
from aucross.estimators.base import SelectiveClassifier
from aucross.system.files import write_whole

logger = logging.getLogger(__name__)

FORMAT_NAME = "aucross"
FORMAT_VERSION = 1

_HEADER, _TREE, _LEAVES = "header.json", "tree.json", "leaves.skops"
# Libraries whose version a file always names; those of the base models are added.
_LIBRARIES = ("aucross", "numpy", "scipy", "sklearn", "skops")


@dataclass(frozen=True)
class FileHeader:
    """What a saved file says about itself.

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
        What scored the rows and what placed the bands, see :func:`model_fingerprint` and :func:`rule_fingerprint`.
    unlisted_types : list of str
        Types that :func:`load` refuses unless they are named as trusted.
    metadata : dict
        What the caller gave to :func:`save`.
    """

    format_version: int
    class_name: str
    saved_at: str
    versions: dict[str, str]
    model_fingerprint: str
    rule_fingerprint: str
    unlisted_types: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Content:
    """The members of a file, read and checked."""

    header: FileHeader
    tree: bytes
    leaves: bytes


# ---- saving ----


def save(clf: SelectiveClassifier, path: str | os.PathLike[str], *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a fitted classifier to a file, without pickle.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier: with base models of scikit-learn, LightGBM or XGBoost, pipelines included, or a network
        of `aucross.torch`.
    path : path-like
        The file; an existing one is replaced in one step.
    metadata : mapping, optional
        Anything that JSON can hold, such as the names of columns; :func:`read_metadata` returns it.

    See Also
    --------
    load : Read the file.

    Notes
    -----
    The file holds the held-out scores and labels of the training rows, which place the bands, and not their features
    (unless the base model keeps them, as nearest neighbours do).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.deploy import load, save
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
    check_is_fitted(clf, "band_rule_")
    path = Path(path)
    tree = ObjectTree.of(clf)
    leaves = _dump_leaves(tree)
    unlisted = _unlisted_types(tree.root, leaves)
    _refuse_functions_without_a_name(unlisted)
    header = FileHeader(
        format_version=FORMAT_VERSION,
        class_name=type(clf).__name__,
        saved_at=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=_versions(tree, leaves),
        model_fingerprint=model_fingerprint(clf),
        rule_fingerprint=rule_fingerprint(clf),
        unlisted_types=unlisted,
        metadata=_checked_metadata(metadata),
    )
    write_whole(path, _archive(header, json.dumps(tree.root).encode(), leaves))
    if unlisted:
        logger.warning("%s holds types that load refuses unless they are named: load(path, trusted=%s)", path, unlisted)


def _dump_leaves(tree: ObjectTree) -> bytes:
    for leaf, place in zip(tree.leaves, tree.places, strict=True):
        if isinstance(leaf, Iterator):
            raise TypeError(
                f"{place} cannot be saved: got {type(leaf).__name__}, which can be read only once; pass a list, or "
                "for splits that are no longer needed set_params(cv=5), and save again"
            )
    try:
        return skops_bytes(tree.leaves, compression=ZIP_DEFLATED)
    except Exception as error:
        for leaf, place in zip(tree.leaves, tree.places, strict=True):
            if (reason := _reason_not_stored(leaf)) is not None:
                raise TypeError(
                    f"{place} cannot be saved: {type(leaf).__name__} has no stored form: {reason}"
                ) from error
        raise


def _reason_not_stored(leaf: Any) -> str | None:
    try:
        skops_bytes(leaf)
    except Exception as error:  # whatever skops or the object itself raises
        return str(error)
    return None


def _unlisted_types(root: Any, leaves: bytes) -> list[str]:
    named = set(types_named_in(root)) - set(listed_classes())
    stored = set(skops_io().get_untrusted_types(data=leaves))
    return sorted((named | stored) - LISTED_TYPES)


def _refuse_functions_without_a_name(types: Iterable[str]) -> None:
    nameless = [name for name in types if "<lambda>" in name]
    if nameless:
        raise TypeError(
            f"a function without a name cannot be saved, got {nameless}; define it with def in a module that can be "
            "imported where the file is loaded"
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


def _versions(tree: ObjectTree, leaves: bytes) -> dict[str, str]:
    """Versions of this package, of those it stands on and of those that the saved types come from."""
    types = [*types_named_in(tree.root), *skops_io().get_untrusted_types(data=leaves)]
    libraries = dict.fromkeys([*_LIBRARIES, *sorted(name.partition(".")[0] for name in types)])
    versions = {name: _version_of(name) for name in libraries}
    return {"python": platform.python_version(), **{name: version for name, version in versions.items() if version}}


def _version_of(library: str) -> str | None:
    return getattr(sys.modules.get(library), "__version__", None)


def _archive(header: FileHeader, tree: bytes, leaves: bytes) -> bytes:
    about = {"format": FORMAT_NAME, **asdict(header)}
    about["checksum"] = _checksum(about, tree, leaves)
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", compression=ZIP_DEFLATED) as archive:
        archive.writestr(_HEADER, json.dumps(about, indent=1))
        archive.writestr(_TREE, tree)
        archive.writestr(_LEAVES, leaves, compress_type=ZIP_STORED)  # compressed inside
    return buffer.getvalue()


def _checksum(about: Mapping[str, Any], tree: bytes, leaves: bytes) -> str:
    """Of everything in the file but the checksum itself."""
    rest = {key: value for key, value in about.items() if key != "checksum"}
    digest = sha256()
    for content in (json.dumps(rest, sort_keys=True).encode(), tree, leaves):
        digest.update(sha256(content).digest())  # of digests, so that nothing can move from one part to the next
    return digest.hexdigest()


# ---- loading ----


def load(path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()) -> Any:
    """Read a classifier that :func:`save` wrote.

    Load only files that you trust. No file can make this function run code of its own or import a module that is not
    listed, but trees and boosters are read by compiled code that was not written to withstand made-up content.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : iterable of str or type, default=()
        Further types that the file may hold, or their dotted names, such as the class of your own base model. Their
        modules are imported and their code is run.

    Returns
    -------
    SelectiveClassifier
        The classifier as it was, of the class that was saved.

    Warns
    -----
    UserWarning
        If the file was written with another version of scikit-learn, whose models may not answer as before.

    Notes
    -----
    The checksum finds damage and careless edits. It is no signature: whoever can write the file can write a fitting
    checksum.
    """
    names = trusted_names(trusted)
    content = _read_content(path)
    root = json.loads(content.tree)
    refused = sorted(set(_unlisted_types(root, content.leaves)) - set(names))
    if refused:
        raise TypeError(
            f"{os.fspath(path)} holds types that are not listed: {refused}; if you know them and trust the file, pass "
            f"load(path, trusted={refused})"
        )
    _warn_of_other_version(path, content.header)
    own = {name: class_by_name(name) for name in set(types_named_in(root)) - set(listed_classes())}
    leaves = _load_leaves(content.leaves, [*LISTED_TYPES, *names])
    clf = TreeReader(leaves, {**listed_classes(), **own}).read(root)
    remember_model_fingerprint(clf, content.header.model_fingerprint)
    return clf


def read_header(path: str | os.PathLike[str]) -> FileHeader:
    """Read what a file says about itself, without loading the classifier.

    Parameters
    ----------
    path : path-like
        A file that :func:`save` wrote.

    Returns
    -------
    FileHeader
    """
    return _read_content(path).header


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the metadata that was given to :func:`save`, without loading the classifier.

    Parameters
    ----------
    path : path-like
        A file that :func:`save` wrote.

    Returns
    -------
    dict
    """
    return read_header(path).metadata


def _read_content(path: str | os.PathLike[str]) -> _Content:
    name = os.fspath(path)
    with open(path, "rb") as file:
        content = io.BytesIO(file.read())
    try:
        about, tree, leaves = _read_members(content)
        header = json.loads(about)
    except Exception as error:  # a damaged archive fails in many ways
        raise _damaged(name, f"{type(error).__name__}: {error}") from error
    _check_format(name, header)
    if header.get("checksum") != _checksum(header, tree, leaves):
        raise _damaged(name, "its checksum does not fit its content")
    known = {key: value for key, value in header.items() if key in FileHeader.__dataclass_fields__}
    return _Content(FileHeader(**known), tree, leaves)


def _read_members(content: io.BytesIO) -> list[bytes]:
    with ZipFile(content) as archive:
        # Repeated names would hide one content behind another.
        if sorted(archive.namelist()) != sorted((_HEADER, _TREE, _LEAVES)):
            raise BadZipFile(f"it should hold {_HEADER}, {_TREE} and {_LEAVES}, and holds {archive.namelist()}")
        return [archive.read(member) for member in (_HEADER, _TREE, _LEAVES)]


def _check_format(name: str, header: Any) -> None:
    if not isinstance(header, dict) or header.get("format") != FORMAT_NAME:
        raise _damaged(name, "its header does not say that aucross wrote it")
    version = header.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise _damaged(name, f"its format version is {version!r}")
    if version > FORMAT_VERSION:
        versions = header.get("versions")
        written_by = versions.get("aucross", "?") if isinstance(versions, dict) else "?"
        raise ValueError(
            f"{name} has format version {version}, written by aucross {written_by}; aucross {_version_of('aucross')} "
            f"reads versions up to {FORMAT_VERSION}: update aucross, or save the classifier with this version"
        )


def _damaged(name: str, reason: str) -> ValueError:
    return ValueError(
        f"{name} is not a whole file of aucross.deploy.save: {reason}; it was cut off or changed after saving, so take "
        "it from a backup or save the classifier again"
    )


def _warn_of_other_version(path: str | os.PathLike[str], header: FileHeader) -> None:
    saved, present = header.versions.get("sklearn"), _version_of("sklearn")
    if saved != present:
        warnings.warn(
            f"{os.fspath(path)} was saved with scikit-learn {saved} and is loaded with {present}: its models may fail "
            "or answer differently; install the version of the file, or fit and save again",
            UserWarning,
            stacklevel=3,
        )


def _load_leaves(leaves: bytes, trusted: list[str]) -> Any:
    with warnings.catch_warnings():
        # One warning per estimator inside would follow ours.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            return skops_io().loads(leaves, trusted=trusted)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"the file needs {error.name}, which is not installed here: install it to load the file",
                name=error.name,
            ) from error
