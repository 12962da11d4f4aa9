"""One error for files that cannot be read or are others than expected, whatever library stumbles over them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Of what a library says, so many characters are repeated; the whole is in the cause of the error.
_LONGEST = 200
REPLACE = "replace it by the original"


class DataFileError(ValueError):
    """A file of a data set is damaged, or another one than its loader expects.

    Its message names the file, what was expected, what was found and what to do. Where a library could not read the
    file, its error is the cause (``__cause__``).

    Parameters
    ----------
    path : Path
        The file, or the folder if the fault lies with several files together.
    problem : str
        What the file must be and what was found, as the rest of a sentence that starts with its path.
    remedy : str, default=None
        What to do; None to replace the file.

    Attributes
    ----------
    path, problem, remedy
        As given.
    """

    def __init__(self, path: Path, problem: str, remedy: str | None = None) -> None:
        super().__init__(path, problem, remedy)
        self.path = path
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.path} {self.problem}; {self.remedy or REPLACE}"


@contextmanager
def parsing(path: Path, must: str, remedy: str | None = None) -> Iterator[None]:
    """Turn what a library raises over the content of a file into a :class:`DataFileError`.

    Parameters
    ----------
    path : Path
        What is being read.
    must : str
        What it must be, do or hold: "be a zip archive".
    remedy : str, default=None
        What to do; None leaves it to the caller.

    Notes
    -----
    What does not come from the content is left as it is: a library that is not installed, memory that runs out, and
    errors of the operating system, such as a file that may not be read or a disk that is full.
    """
    try:
        yield
    except (DataFileError, ImportError, MemoryError, Warning):
        raise
    except Exception as error:
        # Libraries also raise OSError over what they read, but without a number of the operating system.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataFileError(path, f"must {must}, found {_found(path, error)}", remedy) from error


def _found(path: Path, error: Exception) -> str:
    if path.is_file() and path.stat().st_size == 0:
        return "an empty file"
    said = " ".join(f"{type(error).__name__}: {error}".split())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}..."
