"""The model file: a fitted classifier with what is needed to read tables for it."""

from __future__ import annotations

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import sklearn

import aucross
from aucross.cli.errors import CommandError
from aucross.cli.numbers import NumberFormat
from aucross.cli.schema import Schema
from aucross.cli.tables import check_readable, is_table
from aucross.files import save
from aucross.files.model_file import load_with_header
from aucross.files.signing import signing_key as key_in_use
from aucross.system.text import json_ready


def signing_key() -> bytes | None:
    """The key in use, if there is one."""
    try:
        return key_in_use()
    except ValueError as error:
        raise CommandError(str(error)) from error


def save_model(clf: Any, path: Path, schema: Schema, **facts: Any) -> None:
    """Write the model with its schema and further facts about the fit."""
    versions = {
        "aucross": aucross.__version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
    }
    metadata = json_ready({**schema.to_metadata(), **facts, "versions": versions})
    save(clf, path, metadata=metadata, key=signing_key())


def load_model(path: Path, numbers: NumberFormat | None = None) -> tuple[Any, Schema]:
    """The classifier, and what its tables look like; numbers are written as at the fit if nothing else is said."""
    clf, schema, _ = load_model_with_facts(path)
    return clf, schema if numbers is None else replace(schema, numbers=numbers)


def load_model_with_facts(path: Path) -> tuple[Any, Schema, dict[str, Any]]:
    """The classifier, what its tables look like, and all that was noted of its fit: of one reading of the file."""
    if is_table(path):
        raise CommandError(f"{path} is a table, and the model comes first; `aucross fit` makes one of a table")
    check_readable(path, "model file")
    clf, header = load_with_header(path, key=signing_key())
    schema = Schema.from_metadata(header.metadata, path)
    _check_fits(clf, schema, path)
    return clf, schema, header.metadata


def _check_fits(clf: Any, schema: Schema, path: Path) -> None:
    """Refuse a classifier that was not fitted on the columns that the file names."""
    names = getattr(clf, "feature_names_in_", None)
    if list(clf.classes_) != [0, 1] or names is None or list(names) != list(schema.columns):
        raise CommandError(
            f"{path}: its classifier was not fitted on the columns that it names; make it anew with `aucross fit`"
        )
