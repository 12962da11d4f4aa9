from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from experiments import store
from experiments.work import Work, finish_all, results, seconds


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


def test_one_failure_does_not_stop_the_rest_and_is_told_at_the_end(works):
    broken = Work("squares", works[2].argument, fail)
    with pytest.raises(RuntimeError, match=r"1 of 4 pieces of work failed:\nsquares Number.*RuntimeError: killed at 2"):
        finish_all([*works[:2], broken, works[3]], n_jobs=1)
    assert traces_of(works) == ["0", "1", "3"]
    finish_all(works, n_jobs=1)
    assert traces_of(works) == ["0", "1", "2", "3"]


def test_unfinished_work_is_named(works):
    with pytest.raises(LookupError, match=r"squares Number\(value=0.* is not finished; run `make paper` again"):
        results(works)


def test_kinds_and_settings_do_not_read_each_others_results(works):
    finish_all(works[:1], n_jobs=1)
    assert works[0].stored().rows == [{"value": 0, "square": 0}]
    assert replace(works[0], kind="cubes").stored() is None
    assert replace(works[0], settings="more coverages").stored() is None


def test_a_write_leaves_no_unfinished_file(works):
    finish_all(works[:1], n_jobs=1)
    assert [path.suffix for path in (store.CACHE / "squares").iterdir()] == [".json"]


def test_times_are_added_up(works):
    finish_all(works, n_jobs=1)
    assert seconds(works) == pytest.approx(sum(work.stored().seconds for work in works))
