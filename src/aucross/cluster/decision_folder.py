"""Decisions on a folder of Parquet files, part by part, with a manifest that lets a second run finish the first.

::

    rows/a.parquet  ──► decide ──► decisions/a.parquet      a part gets its name when it is complete
    rows/b.parquet  ──► decide ──► decisions/b.parquet
                                   decisions/_manifest.json  which model, which coverage, which rows

One file of rows gives one file of decisions. A loop, the workers of Dask and those of Spark all run
:meth:`DecisionFolder.write_part`; if a part runs twice, it writes the same bytes. The manifest is written before the
first part, and each part holds a digest of its rows. A later run reads both: it skips finished parts, and refuses to
add decisions of another model, at another coverage or on other rows.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aucross.estimators.decisions import AUTOMATIC
from aucross.estimators.fitted import light_copy
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.system.libraries import import_library
from aucross.system.whole_files import remove_orphans, whole_file, write_whole

FORMAT = "aucross decisions"
FORMAT_VERSION = 2
# Readers of folders of Parquet leave out what begins like this.
MANIFEST = "_manifest.json"

# Key of the Parquet file under which a part names the content of its rows.
ROWS_KEY = "aucross.rows"

# Columns that decisions add to those that name the rows.
DECISION_COLUMNS = ("score", "prediction", "decision")

# Rows of a part that are in memory at a time.
BATCH_ROWS = 50_000

# Runs a function on each of some numbers of parts; in which order and where is its own affair.
RunParts = Callable[[Callable[[int], Any], Sequence[int]], Iterable[Any]]


@dataclass(frozen=True)
class PartCounts:
    """Number of rows in a part, and number of rows that were decided automatically.

    Attributes
    ----------
    part, rows, automatic : int
        Number of the part, counted from 0; how many rows it has; how many of them were decided automatically.
    """

    part: int
    rows: int
    automatic: int


@dataclass(frozen=True)
class DecisionFolder:
    """Folder of decisions and the classifier that decides; small enough to send to workers.

    Attributes
    ----------
    source, folder, coverage, columns, band_groups
        As for :func:`write_decisions`.
    model_fingerprint, rule_fingerprint, names, rows
        Fingerprints of the model and of the rule; name of each file, and how many rows each file has.
    """

    source: str
    folder: str
    model_fingerprint: str
    rule_fingerprint: str
    coverage: float
    names: tuple[str, ...]
    rows: tuple[int, ...]
    columns: tuple[str, ...] = ()
    band_groups: str | None = None

    @classmethod
    def open(
        cls,
        clf: Any,
        source: str | os.PathLike[str],
        folder: str | os.PathLike[str],
        *,
        coverage: float | None = None,
        columns: Sequence[str] = (),
        band_groups: str | None = None,
    ) -> DecisionFolder:
        """Start a folder of decisions, or continue one that the same model started; see :func:`write_decisions`."""
        source, target = Path(source).resolve(), Path(folder).resolve()
        if target == source:
            raise ValueError(f"folder must be another one than that of the rows, got {target}; name a new folder")
        names = _parquet_files(source)
        n_rows = tuple(int(_parquet().read_metadata(source / name).num_rows) for name in names)
        decides = model_fingerprint(clf), rule_fingerprint(clf), float(clf.coverage if coverage is None else coverage)
        begun = cls(str(source), str(target), *decides, names, n_rows, tuple(columns), band_groups)
        begun._check_columns()
        if target.exists() and not target.is_dir():
            raise ValueError(f"folder must be a folder, got the file {target}; name a new folder")
        target.mkdir(parents=True, exist_ok=True)
        manifest = target / MANIFEST
        if manifest.exists():
            begun._check_same(_read_manifest(manifest))
        elif left := sorted(path.name for path in target.glob("*.parquet")):
            raise ValueError(
                f"{target} has no {MANIFEST} and holds {len(left)} Parquet files, such as {left[0]}: it is not known "
                "which model decided there; name a new folder"
            )
        else:
            write_whole(manifest, begun._manifest())
        for name in names:
            remove_orphans(target / name)
        return begun

    @property
    def missing(self) -> list[int]:
        """Numbers of the parts that are not written yet."""
        return [part for part, name in enumerate(self.names) if not (Path(self.folder) / name).exists()]

    def write_part(self, clf: Any, part: int) -> PartCounts:
        """Decide on the rows of one file of ``names``; the output gets its name only when it is complete."""
        parquet = _parquet()
        target, schema = Path(self.folder) / self.names[part], self._schema(clf, part)
        digest, n_rows, n_automatic = RowsDigest(self._read_columns(clf, part)), 0, 0
        with whole_file(target) as file, parquet.ParquetWriter(file, schema) as writer:
            for batch in self._batches(clf, part):
                digest.add(batch)
                decided = self._decided(clf, schema, batch)
                writer.write_batch(decided)
                n_rows += decided.num_rows
                n_automatic += int((decided["decision"].to_numpy(zero_copy_only=False) == AUTOMATIC).sum())
            self._check_rows(part, n_rows)
            writer.add_key_value_metadata({ROWS_KEY: digest.hexdigest()})
        return PartCounts(part, n_rows, n_automatic)

    def changed(self, clf: Any, part: int) -> str | None:
        """Return the fault of a written part (changed rows, another model or band); None without a fault.

        The fault is returned, not raised, because engines wrap the errors of their workers.
        """
        digest = RowsDigest(self._read_columns(clf, part))
        for batch in self._batches(clf, part):
            digest.add(batch)
        found = _parquet().read_metadata(Path(self.folder) / self.names[part]).metadata or {}
        for key, value in {**self._decided_by(), ROWS_KEY: digest.hexdigest()}.items():
            if found.get(key.encode()) != value.encode():
                what = "on other rows" if key == ROWS_KEY else "of another model or by other bands"
                return (
                    f"{self.folder} holds decisions {what} under the name {self.names[part]}; decisions are not mixed, "
                    "so name a new folder"
                )
        return None

    def counts(self) -> list[PartCounts]:
        """Count the rows of all parts in the folder; refuse a folder that is not complete."""
        if self.missing:
            raise ValueError(
                f"{self.folder} lacks {len(self.missing)} of {len(self.names)} parts, such as "
                f"{self.names[self.missing[0]]}; run the same call again, which writes what is missing"
            )
        counts = []
        for part, name in enumerate(self.names):
            decisions = _parquet().read_table(Path(self.folder) / name, columns=["decision"])["decision"]
            self._check_rows(part, len(decisions))
            counts.append(PartCounts(part, len(decisions), int((decisions.to_numpy() == AUTOMATIC).sum())))
        return counts

    def _read_columns(self, clf: Any, part: int) -> list[str]:
        """Return the columns that decisions need, and those that are written beside them."""
        known = _parquet().read_schema(Path(self.source) / self.names[part]).names
        groups = [] if self.band_groups is None else [self.band_groups]
        return list(dict.fromkeys([*feature_columns(clf, known), *groups, *self.columns]))

    def _batches(self, clf: Any, part: int) -> Iterator[Any]:
        with _parquet().ParquetFile(Path(self.source) / self.names[part]) as file:
            wanted = self._read_columns(clf, part)
            yield from (
                batch for batch in file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=False) if len(batch)
            )

    def _decided(self, clf: Any, schema: Any, batch: Any) -> Any:
        arrow = _arrow()
        # Of the classifier's own coverage the fit has spoken; another one may warn.
        coverage = None if self.coverage == clf.coverage else self.coverage
        of_rows = batch[self.band_groups].to_pandas() if self.band_groups is not None else None
        rows = clf.scored(batch.select(feature_columns(clf, batch.schema.names)).to_pandas(), band_groups=of_rows)
        decided = clf.decide(rows, coverage).columns()
        decided = {**{name: batch[name] for name in self.columns}, **{name: decided[name] for name in DECISION_COLUMNS}}
        return arrow.record_batch([arrow.array(values) for values in decided.values()], schema=schema)

    def _decided_by(self) -> dict[str, str]:
        return {"aucross.model": self.model_fingerprint, "aucross.rule": self.rule_fingerprint}

    def _schema(self, clf: Any, part: int) -> Any:
        arrow = _arrow()
        of_rows = _parquet().read_schema(Path(self.source) / self.names[part])
        types = (arrow.float64(), arrow.array(clf.classes_).type, arrow.string())
        return arrow.schema(
            [*(of_rows.field(name) for name in self.columns), *zip(DECISION_COLUMNS, types, strict=True)],
            # Each file says by itself what decided in it, whatever becomes of the manifest.
            metadata=self._decided_by(),
        )

    def _check_columns(self) -> None:
        for name in self.columns:
            if name in DECISION_COLUMNS:
                raise ValueError(f"columns must not hold {name!r}, which decisions have themselves; rename that column")
        wanted = [*self.columns, *([] if self.band_groups is None else [self.band_groups])]
        for part in self.names:
            known = _parquet().read_schema(Path(self.source) / part).names
            if unknown := [name for name in wanted if name not in known]:
                raise ValueError(
                    f"columns and band_groups must be columns of every file, got {unknown[0]!r}, which {part} lacks"
                )

    def _check_rows(self, part: int, n_rows: int) -> None:
        if n_rows != self.rows[part]:
            raise ValueError(
                f"{self.names[part]} had {self.rows[part]:,} rows when the folder was begun and gave {n_rows:,} "
                "decisions; the rows have changed, so decide on all of them into a new folder"
            )

    def _manifest(self) -> bytes:
        about = {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}
        # Folders may be moved together, and then are the same all the same.
        del about["source"], about["folder"]
        return json.dumps(about, indent=1).encode()

    def _check_same(self, manifest: dict[str, Any]) -> None:
        own = json.loads(self._manifest())
        what = {
            "format_version": "was written in another format",
            "model_fingerprint": "holds decisions of another model",
            "rule_fingerprint": "holds decisions by other bands",
            "coverage": "holds decisions at another coverage",
            "names": "holds decisions on other files",
            "rows": "holds decisions on files with other rows",
            "columns": "holds decisions with other columns",
            "band_groups": "holds decisions by the groups of another column",
        }
        for key, difference in what.items():
            if manifest.get(key) != own[key]:
                raise ValueError(f"{self.folder} {difference}; decisions are not mixed, so name a new folder")


def write_decisions(
    clf: Any,
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    coverage: float | None = None,
    columns: Sequence[str] = (),
    band_groups: str | None = None,
    run: RunParts | None = None,
) -> list[PartCounts]:
    """Decide on every row of a folder of Parquet files; a second call finishes an interrupted one.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier. It finds the columns of its fit by their names.
    source : path-like
        Folder of Parquet files with the rows. It may be larger than memory.
    folder : path-like
        Folder of the decisions: a file for each file of rows, and ``_manifest.json``. It must be new, or started by a
        call with the same classifier, coverage and rows. Finished parts are kept if their rows are unchanged; checking
        this reads the rows, which is much faster than deciding.
    coverage : float in (0, 1], optional
        Target share of rows to decide automatically; the classifier's by default.
    columns : sequence of str, default=()
        Columns of the rows, ids for instance, to write beside ``score``, ``prediction`` and ``decision``.
    band_groups : str, optional
        Column with the group of each row, if the bands were fitted per group.
    run : callable, optional
        Runs a function on each number of a list, for instance on an engine; a loop in this process by default.

    Returns
    -------
    list of PartCounts
        Rows and automatic decisions of each file, including those of earlier calls.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from aucross import AUCross
    >>> from aucross.cluster import write_decisions
    >>> X, y = make_classification(1000, 4, flip_y=0.3, random_state=0)
    >>> rows = pd.DataFrame(X, columns=["age", "income", "debt", "years"])
    >>> clf = AUCross(LogisticRegression(), coverage=0.8, random_state=0).fit(rows, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "rows").mkdir()
    ...     rows[:600].to_parquet(Path(folder) / "rows" / "a.parquet")
    ...     rows[600:].to_parquet(Path(folder) / "rows" / "b.parquet")
    ...     parts = write_decisions(clf, Path(folder) / "rows", Path(folder) / "decisions")
    >>> [part.rows for part in parts]
    [600, 400]
    """
    decisions = DecisionFolder.open(clf, source, folder, coverage=coverage, columns=columns, band_groups=band_groups)

    # To workers a light copy travels; here the classifier itself may warn.
    decider, run = (clf, map) if run is None else (light_copy(clf, decisions.coverage), run)
    missing = decisions.missing
    # All parts that are there are looked at before one is written.
    if present := [part for part in range(len(decisions.names)) if part not in set(missing)]:
        for refusal in run(partial(decisions.changed, decider), present):
            if refusal is not None:
                raise ValueError(refusal)
    if missing:
        deque(run(partial(decisions.write_part, decider), missing), maxlen=0)
    return decisions.counts()


def read_decisions(folder: Path) -> tuple[dict[str, Any], Any]:
    """Return the manifest of a finished folder of decisions and all its rows as an Arrow table."""
    if not (folder / MANIFEST).is_file():
        raise ValueError(f"{folder} must be a folder of decisions with {MANIFEST}, as write_decisions makes it")
    manifest = _read_manifest(folder / MANIFEST)
    if missing := [part for part in manifest["names"] if not (folder / part).exists()]:
        raise ValueError(f"{folder} is not finished: {len(missing)} parts are missing, such as {missing[0]}")
    return manifest, _arrow().concat_tables([_parquet().read_table(folder / part) for part in manifest["names"]])


def feature_columns(clf: Any, names: Sequence[str]) -> list[str]:
    """Return the columns that a classifier reads, by the names of its fit."""
    fitted = getattr(clf, "feature_names_in_", None)
    if fitted is None:
        raise ValueError(
            "clf must know the names of its columns, got one that was fitted on an array; fit it on a frame"
        )
    features = [str(name) for name in fitted]
    if lacking := [name for name in features if name not in set(names)]:
        raise ValueError(
            f"the rows must have the columns of the fit, and lack {len(lacking)} of {len(features)}, such as "
            f"{lacking[0]!r}; add or rename them"
        )
    return features


def _arrow() -> Any:
    return import_library("pyarrow", purpose="a folder of decisions", extra="arrow")


def _parquet() -> Any:
    return import_library("pyarrow.parquet", purpose="a folder of decisions", extra="arrow")


def _parquet_files(source: Path) -> tuple[str, ...]:
    if not source.is_dir():
        raise ValueError(f"source must be a folder of Parquet files, got {source}, which is none; check the path")
    # Engines leave marks beside their files (_SUCCESS, .crc), which start with a dot or an underscore.
    names = tuple(sorted(path.name for path in source.glob("*.parquet") if path.name[0] not in "._"))
    if not names:
        raise ValueError(f"source must hold Parquet files, got {source} without any; check the path")
    return names


def _read_manifest(manifest: Path) -> dict[str, Any]:
    try:
        content = json.loads(manifest.read_bytes().decode())
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"{manifest} is not a manifest of decisions; name a new folder")
    return content


# ---- the content of rows ----

# Whole numbers up to here are numbers of float64, too.
_EXACT = 2**53


class RowsDigest:
    """A digest of the content of some columns, their names and their order, computed batch by batch.

    Equal values in the same order give the same digest, however they were batched, compressed or written. Numbers are
    hashed by value (1, 1.0 and True are equal), missing numbers as NaN, categories as their values, and everything else
    as text.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._n_rows = 0
        # Of each column the values, and what tells them apart: the lengths of texts, and numbers beyond float64.
        self._digests = {name: (sha256(), sha256()) for name in names}

    def add(self, batch: Any) -> None:
        """Add the rows of an Arrow batch that has these columns."""
        for name, (values, further) in self._digests.items():
            column = _plain(batch.column(name))
            is_null = column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
            if column.type == _arrow().large_binary():
                content, lengths = _joined(column.fill_null(b""))
                values.update(content)
                further.update(np.where(is_null, -1, lengths).data)
                continue
            numbers = column.fill_null(0).to_numpy(zero_copy_only=False)
            values.update(np.where(is_null, np.nan, numbers.astype(np.float64) + 0.0).data)  # -0 becomes 0
            if numbers.dtype.kind in "iu" and len(large := np.flatnonzero((numbers > _EXACT) | (numbers < -_EXACT))):
                further.update((large + self._n_rows).data)
                further.update(numbers[large].data)
        self._n_rows += batch.num_rows

    def hexdigest(self) -> str:
        """Return the digest of all rows so far as 64 hexadecimal digits."""
        whole = sha256(str(self._n_rows).encode())
        for name, parts in self._digests.items():
            whole.update(repr((name, *(part.hexdigest() for part in parts))).encode())
        return whole.hexdigest()


def _plain(column: Any) -> Any:
    """Return a column as numbers, or as the bytes of texts, without any encoding."""
    arrow = _arrow()
    if arrow.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if arrow.types.is_floating(kind):
        return column.cast(arrow.float64())
    if arrow.types.is_integer(kind) or arrow.types.is_boolean(kind):
        return column.cast(arrow.int8()) if arrow.types.is_boolean(kind) else column
    if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
        texts = [None if value is None else str(value) for value in column.to_pylist()]
        column = arrow.array(texts, type=arrow.large_string())
    return column.cast(arrow.large_binary())


def _joined(column: Any) -> tuple[bytes | memoryview, NDArray[np.int64]]:
    """Return the texts of a column one after the other, and their lengths."""
    _, offsets, content = column.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[column.offset : column.offset + len(column) + 1]
    return b"" if content is None else memoryview(content)[ends[0] : ends[-1]], np.diff(ends)
