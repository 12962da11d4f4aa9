"""What a training leaves on disk: scores of rows that it was not trained on, and its seconds over all starts."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np


class Scored(NamedTuple):
    """Scores of rows that a model has not seen.

    Attributes
    ----------
    rows : ndarray of shape (n,)
        Row numbers; test rows follow the training rows.
    probability : ndarray of shape (n,)
        Probability of the positive class.
    selection : ndarray of shape (n,)
        Selection scores of a network that has them, else NaN.
    """

    rows: np.ndarray
    probability: np.ndarray
    selection: np.ndarray


def write_scores(folder: Path, scored: Scored) -> None:
    """Keep scores as one .npy file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in scored._asdict().items():
        np.save(folder / f"{name}.npy", values)


def read_scores(folder: Path) -> Scored:
    """Scores of a finished training."""
    return Scored(*(np.load(folder / f"{name}.npy") for name in Scored._fields))


def write_model(folder: Path, model: Any) -> None:
    """Keep a network from which others start."""
    folder.mkdir(parents=True, exist_ok=True)
    joblib.dump(model, folder / "model.joblib")


def read_model(folder: Path) -> Any:
    """A network from which others start."""
    path = folder / "model.joblib"
    if not path.exists():
        raise LookupError(f"the shared warm-up in {folder} is not finished; run the command again to finish it")
    return joblib.load(path)


class Attempt:
    """One start of a training, with the seconds of earlier starts whose epochs are kept in its checkpoints.

    Parameters
    ----------
    folder : Path
        Where checkpoints are while the training runs.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._note = folder / "started.json"
        self._before = self._seconds_kept()
        self._start = time.time()
        folder.mkdir(parents=True, exist_ok=True)
        self._note.write_text(json.dumps({"before": self._before, "at": self._start}), encoding="utf-8")

    @property
    def seconds(self) -> float:
        """Seconds so far, without those of epochs that a kill lost."""
        return self._before + time.time() - self._start

    def _seconds_kept(self) -> float:
        """From the last start to the last checkpoint."""
        checkpoints = [path.stat().st_mtime for path in self.folder.glob("*.pt")]
        if not checkpoints or not self._note.exists():
            return 0.0
        note = json.loads(self._note.read_text(encoding="utf-8"))
        return note["before"] + max(0.0, max(checkpoints) - note["at"])


@contextmanager
def attempt(folder: Path) -> Iterator[Attempt]:
    """Train with checkpoints, which are removed if it comes to the end."""
    started = Attempt(folder / "checkpoints")
    yield started
    shutil.rmtree(started.folder)
