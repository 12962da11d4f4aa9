"""Model files composed at random of nodes that are listed, nearly listed or not at all; loading them runs nothing."""

from __future__ import annotations

import json
import random
import time
import warnings

import numpy as np
import pytest

from aucross.files.listed import FUNCTIONS, NUMBERS, TYPES, listed_classes
from tests.files.forging import SOURCES, Forgery, fitted, import_all_that_is_listed, outcome, shifted, warm_up

# Few rows are enough for files, and leave none for review.
pytestmark = pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one")

# Small numbers, and one that no machine has memory for: what lies between could only fill the memory of a test machine.
NUMBERS_IN_FILES = (0, 1, 2, 3, 7, -1, -7, 255, 4096, 2**62, -(2**62), 0.5, -1.5, 1e300, True, False, None)
WORDS = (
    *("", "x", "auto", "drop", "passthrough", "zero", "prior", "precomputed", "pyfunc", "callable", "pandas", "polars"),
    *("predict_proba", "decision_function", "save_model", "__reduce__", "fit", "tofile", "/etc/passwd", "/tmp/x", "\n"),
    *("os.system", "__import__('os').system('id')", "2*n_jobs", "kd_tree", "brute", "loky", "sigmoid", "roc_auc", "\0"),
)
CLASSES = (
    *("functools.partial", "sklearn.utils.Bunch", "joblib.Memory", "subprocess.Popen", "builtins.type", "os.system"),
    *("sklearn.metrics._scorer._Scorer", "sklearn.gaussian_process.kernels.ConstantKernel", "ctypes.CDLL", "a", ""),
)
ATTRIBUTES = (
    *("predict", "fit", "__class__", "__dict__", "__array_interface__", "memory", "callbacks", "estimator_", "tree_"),
    *(
        "coef_",
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "fitted_",
        "rule",
        "response_method",
        "kw_args",
        "func",
    ),
    *(
        "param_grid",
        "scoring",
        "init_",
        "estimators_",
        "steps",
        "_preprocessor",
        "_Booster",
        "metric_params",
        "x_",
        "-",
    ),
)
# Threads are part of a model, and a file may ask for some: that is no attack.
SKIPPED = {"n_jobs", "n_threads"}


class Composer:
    """Changes a true file at random; the same number gives the same file."""

    def __init__(self, number, folder):
        self.rng = random.Random(number)
        self.source = self.rng.choice(SOURCES)
        self.file = Forgery(self.source, folder)
        self.folder = folder

    def content(self):
        """The bytes of a composed file."""
        changes = (
            self.other_value,
            self.other_value,
            self.further_attribute,
            self.other_class,
            self.less,
            self.other_array,
        )
        changes += (self.first_entry, self.part_of_another, self.deep_value, self.other_header)
        for change in self.rng.choices(changes, k=self.rng.randint(1, 3)):
            change()
        return self.file.content()

    # ---- changes ----

    def an_object(self):
        return self.rng.choice([entry for entry in self.file.entries if "@object" in entry])

    def an_attribute(self, state):
        return self.rng.choice([name for name in state if name not in SKIPPED] or ["x_"])

    def other_value(self):
        state = self.an_object()["state"]
        state[self.an_attribute(state)] = self.node()

    def further_attribute(self):
        self.an_object()["state"][self.rng.choice(ATTRIBUTES)] = self.node()

    def other_class(self):
        self.an_object()["@object"] = self.a_class()

    def less(self):
        state = self.an_object()["state"]
        if state:
            del state[self.rng.choice(list(state))]

    def other_array(self):
        numbers = [number for number, entry in enumerate(self.file.entries) if "@array" in entry]
        reference = {"@ref": self.rng.choice(numbers)}
        values = self.an_array() if self.rng.random() < 0.3 else self.file.array(reference)
        if values.size:
            values = values.copy(order="C")
            values.flat[self.rng.randrange(values.size)] = self.rng.choice((0, 1, 7, 100))
        self.file.set_array(reference, values)

    def first_entry(self):
        """A new entry before all others, and something that refers to it."""
        if self.rng.random() < 0.5:
            reference = self.file.first_array(self.an_array())
        else:
            reference = self.file.first(self.an_entry())
        state = self.an_object()["state"]
        state[self.an_attribute(state)] = reference

    def part_of_another(self):
        """An object of another file in the place of an attribute."""
        other = Forgery(self.rng.choice(SOURCES), self.folder)
        n_before = len(other.entries)
        self.file.entries = [*other.entries, *(shifted(entry, n_before) for entry in self.file.entries)]
        self.file.arrays = [*other.arrays, *self.file.arrays]
        of_file = [entry for entry in self.file.entries[n_before:] if "@object" in entry]
        state = self.rng.choice(of_file)["state"]
        state[self.an_attribute(state)] = {"@ref": self.rng.randrange(n_before)}

    def deep_value(self):
        """Another value somewhere inside an attribute."""
        node = self.an_object()["state"]
        for _ in range(self.rng.randint(1, 6)):
            keys = [key for key in node if key not in SKIPPED] if isinstance(node, dict) else list(range(len(node)))
            if not keys:
                return
            key = self.rng.choice(keys)
            if not isinstance(node[key], dict | list) or self.rng.random() < 0.3:
                node[key] = self.node()
                return
            node = node[key]

    def other_header(self):
        name = self.rng.choice(list(self.file.header))
        self.file.header[name] = self.rng.choice(
            [self.file.header["class_name"], "AUCross", "LogisticRegression", 5, {}]
        )

    # ---- what files are made of ----

    def a_class(self):
        return self.rng.choice(CLASSES) if self.rng.random() < 0.2 else self.rng.choice(LISTED)

    def an_array(self):
        dtype = self.rng.choice(("<f8", "<i8", "<i4", "|u1", "|b1", "<f4", "<M8[D]", "<c16"))
        shape = self.rng.choice(((), (0,), (1,), (3,), (2, 3), (3, 2), (1, 1, 2)))
        return np.full(shape, self.rng.choice((0, 1, 7)), dtype="<i8").astype(dtype)

    def an_entry(self):
        choice = self.rng.randrange(5)
        if choice == 0:
            return {"@object": self.a_class(), "state": {self.rng.choice(ATTRIBUTES): self.node() for _ in range(3)}}
        if choice == 1:
            return {"@objects": [self.node() for _ in range(3)], "shape": self.rng.choice([[3], [1, 3], [2]])}
        if choice == 2:
            return {
                "@labels": [self.node() for _ in range(2)],
                "codes": self.node(),
                "dtype": self.rng.choice(["|O", "<U9"]),
            }
        if choice == 3:
            return {"@masked": self.node(), "mask": self.node(), "fill": self.node()}
        return {self.rng.choice(("@call", "@ref", "x")): self.node()}

    def node(self, depth=0):
        """Any node at all."""
        few = range(self.rng.randint(0, 3))
        plain = (
            lambda: self.rng.choice(NUMBERS_IN_FILES),
            lambda: self.rng.choice(NUMBERS_IN_FILES),
            lambda: self.rng.choice(WORDS),
            lambda: {"@ref": self.rng.randrange(-1, len(self.file.entries) + 2)},
            lambda: {"@function": self.rng.choice([*FUNCTIONS, "os.system", "numpy.load", "x"])},
            lambda: {"@type": self.rng.choice([*sorted(TYPES), "builtins.type", "subprocess.Popen"])},
            lambda: self.rng.choice(ODD_NODES),
        )
        with_parts = (
            lambda: {"@number": self.rng.choice(NUMBER_TYPES), "value": self.node(depth + 1)},
            lambda: {"@dict": [[self.node(depth + 1), self.node(depth + 1)] for _ in few]},
            lambda: {"@tuple": [self.node(depth + 1) for _ in few]},
            lambda: {self.rng.choice(("@bunch", "@call", "@slice", "@interval", "__class__")): self.node(depth + 1)},
            lambda: [self.node(depth + 1) for _ in few],
        )
        return self.rng.choice(plain if depth > 3 else (*plain, *with_parts))()


NUMBER_TYPES = sorted([*NUMBERS, "complex128", "load"])  # in an order that is the same in each process
LISTED = [name for name in listed_classes() if not name.startswith("aucross.") or "Net" not in name]
ODD_NODES = (
    {"@float": "nan"},
    {"@float": "x"},
    {"@dtype": "<U5"},
    {"@dtype": "|V8"},
    {"@date": "2024-02-30"},
    {"@datetime": "2024-01-01T00:00:00"},
    {"@timedelta": [1, 2, 3]},
    {"@timedelta": [10**15, 2, 3]},
    {"@decimal": "1E+9999"},
    {"@interval": [0, 1], "closed": "right"},
    {"@interval": [2, 1], "closed": "both"},
    {"@missing": "pandas.NA"},
    {"@moment": "<M8[D]", "value": 5},
    {"@slice": [0, None, 2]},
    {"@body": "MLP", "options": {"width": 4}},
    {"@body": "MLP", "options": {"@ref": 0}},
    {"@tuple": []},
    {},
)


@pytest.mark.attack("model file, composed at random")
def test_files_composed_at_random_run_nothing(tmp_path, full_size, attacked, monkeypatch):
    monkeypatch.chdir(tmp_path)
    import_all_that_is_listed()
    warm_up(tmp_path)
    path = tmp_path / "composed.aucross"
    for source in SOURCES:
        Forgery(source, tmp_path)  # each is written once, to be taken apart
    before = sorted([*tmp_path.iterdir(), path])
    n_files, wrong, answers = 100_000 if full_size else 300, [], {"refused": 0, "loaded": 0}
    for number in range(n_files):
        composer = Composer(number, tmp_path)
        path.write_bytes(composer.content())
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            answer, reason = outcome(path, fitted(composer.source)[1][:5])
        answers[answer] += 1
        if reason is None and time.process_time() - start > 10:
            reason = "it took more than ten seconds"
        if reason is not None:
            wrong.append(f"file {number}, {composer.source}: {reason}")
    if sorted(tmp_path.iterdir()) != before:
        wrong.append("files were written")
    # Some of the files pass every check: they are models that differ from the true ones in a plain value.
    assert min(answers.values()) > n_files // 50, json.dumps(answers)
    attacked(n_files, wrong)
