from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from experiments import store
from experiments.work import Work, finish_all, results


@dataclass(frozen=True)
class Number:
    value: int
    folder: str

    @property
    def key(self):
        return asdict(self)


def square(number):
    """Leaves a trace of each time that it is done."""
    trace = Path(number.folder) / f"{number.value}-{len(list(Path(number.folder).iterdir()))}"
    trace.touch()
    return [{"value": number.value, "square": number.value**2}]


def fail(number):
    raise RuntimeError(f"killed at {number.value}")


@pytest.fixture
def works(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "CACHE", tmp_path / "cache")
    traces = tmp_path / "traces"
    traces.mkdir()
    return [Work("squares", Number(value, str(traces)), square) for value in range(4)]


def traces_of(works):
    return sorted(path.name.split("-")[0] for path in Path(works[0].argument.folder).iterdir())


def test_finished_work_is_not_done_again(works):
    finish_all(works[:2], n_jobs=1)
    finish_all(works, n_jobs=1)
    finish_all(works, n_jobs=1)
    assert traces_of(works) == ["0", "1", "2", "3"]
    assert [row["square"] for row in results(works)] == [0, 1, 4, 9]


def test_what_was_finished_before_a_failure_is_kept(works):
    broken = Work("squares", works[2].argument, fail)
    with pytest.raises(RuntimeError, match="killed at 2"):
        finish_all([*works[:2], broken], n_jobs=1)
    finish_all(works, n_jobs=1)
    assert traces_of(works) == ["0", "1", "2", "3"]


def test_unfinished_work_is_named(works):
    with pytest.raises(LookupError, match=r"squares .*'value': 0.* is not finished; run `make paper` again"):
        results(works)


def test_kinds_and_versions_do_not_read_each_others_files(works, monkeypatch):
    key = works[0].argument.key
    store.write("squares", key, [{"square": 0}])
    assert store.read("cubes", key) is None
    monkeypatch.setattr(store, "VERSION", store.VERSION + 1)
    assert store.read("squares", key) is None


def test_a_write_leaves_no_unfinished_file(works):
    store.write("squares", works[0].argument.key, [])
    assert [path.suffix for path in (store.CACHE / "squares").iterdir()] == [".json"]
