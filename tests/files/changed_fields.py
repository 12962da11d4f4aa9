"""Model files in which single fields are changed: numbers, arrays, words and nested models, with fitting checksums.

Run as a program with a first number and a number of files, it prints a line for each file that ended or stopped its
process, imported something, or was not refused in one sentence, and at last how many files there were. Each file is
loaded and used in a child process, which goes on to the next file and is started anew after one that ended it.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import struct
import sys
import time
import warnings
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from aucross.files.model_file import load
from tests.files.forging import ALL_SOURCES, Forgery, fitted, shifted, warm_up, with_sizes

INTEGERS = (0, 1, 2, 3, 5, -1, -2, -7, 8, 31, 255, 256, 4096, 10**6, 2**31 - 1, -(2**31), 2**32, 2**62, -(2**62), 2**63)
FLOATS = (0.0, 0.5, -1.5, 7.0, 1e9, 1e300, -1e300, 5e-324)
SPECIAL = ({"@float": "nan"}, {"@float": "inf"}, {"@float": "-inf"}, True, False, None, "", "x", [], {"@tuple": []})
WORDS = (
    *(
        "auto",
        "drop",
        "passthrough",
        "zero",
        "prior",
        "precomputed",
        "brute",
        "kd_tree",
        "ball_tree",
        "pandas",
        "polars",
    ),
    *("rbf", "linear", "poly", "mahalanobis", "seuclidean", "haversine", "minkowski", "euclidean", "cosine", "hamming"),
    *("distance", "uniform", "onehot", "ordinal", "ignore", "error", "predict", "predict_proba", "decision_function"),
    *("softmax", "relu", "logistic", "most_frequent", "constant", "c", "float", "q", "gbtree", "dart", "nan"),
)
TYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|u1", "<u4", "<u8", "|b1", "<c16", "<M8[D]")
# Threads are part of a model, and a file may ask for some: that is no attack.
SKIPPED = {"n_jobs", "n_threads", "nthread"}
_MOST_SECONDS_OF_WORK = 20
_MOST_SECONDS = 300
_MOST_MEMORY = 4 * 2**30


class Changer:
    """Changes fields of a true file; the same number gives the same file."""

    def __init__(self, number, folder):
        self.rng = random.Random(number)
        self.source = ALL_SOURCES[number % len(ALL_SOURCES)]
        self.file = Forgery(self.source, folder)
        self.folder = folder
        self.done = []

    def content(self):
        """The bytes of the changed file."""
        booster = [entry for entry in self.file.entries if entry.get("@object", "").endswith(".Booster")]
        for _ in range(self.rng.choice((1, 1, 1, 2, 3))):
            ways = [self.other_value, self.other_value, self.other_array, self.other_array, self.other_model]
            ways += [self.other_text] * 8 if booster else []
            with suppress(LookupError, TypeError, ValueError):  # where an earlier change has left no such field
                self.rng.choice(ways)()
        return self.file.content()

    # ---- values in the description ----

    def _places(self):
        """Every place in an object at which a value stands: what holds it, its key, and a name for messages."""
        objects = [entry for entry in self.file.entries if "@object" in entry]
        # Parts of the rule are read by Python alone: they are changed less often.
        weights = [1 if entry["@object"].startswith("aucross.") else 6 for entry in objects]
        entry = self.rng.choices(objects, weights)[0]
        places = []

        def visit(node, name):
            keys = list(node) if isinstance(node, dict) else range(len(node))
            for key in keys:
                if key in SKIPPED or (isinstance(key, str) and key.startswith("@")):
                    if isinstance(node[key], list):
                        visit(node[key], name)
                    continue
                places.append((node, key, f"{name}.{key}"))
                if isinstance(node[key], dict | list) and "@ref" not in node[key]:
                    visit(node[key], f"{name}.{key}")

        visit(entry["state"], entry["@object"])
        return places

    def other_value(self):
        places = self._places()
        if places:
            node, key, name = self.rng.choice(places)
            old = node[key]
            node[key] = self._other(old)
            self.done.append(f"{name}: {str(old)[:60]} -> {str(node[key])[:80]}")

    def _other(self, old):
        if isinstance(old, list) and old and self.rng.random() < 0.7:
            return self._other_list(old)
        if isinstance(old, str) and self.rng.random() < 0.6:
            return self.rng.choice(WORDS)
        return self.rng.choice(
            (
                lambda: self.rng.choice(INTEGERS),
                lambda: self.rng.choice(INTEGERS),
                lambda: self.rng.choice(FLOATS),
                lambda: self.rng.choice(SPECIAL),
                lambda: self.rng.choice(WORDS),
                lambda: {"@ref": self.rng.randrange(len(self.file.entries) - 1)},
                lambda: {
                    "@number": self.rng.choice(("int64", "float32", "uint8")),
                    "value": self.rng.choice((0, 1, 200)),
                },
                lambda: [self.rng.choice(INTEGERS) for _ in range(self.rng.randrange(4))],
                lambda: [[1.0] * self.rng.randint(1, 5)] * self.rng.randint(1, 5),
                lambda: {"@dict": [[self.rng.choice(("VI", "V", "w", "p")), [[1.0] * 9] * self.rng.choice((1, 2, 9))]]},
            )
        )()

    def _other_list(self, old):
        way = self.rng.randrange(5)
        place = self.rng.randrange(len(old))
        if way == 0:
            return old[:place]
        if way == 1:
            return [*old, *old[: place + 1]]
        if way == 2:
            return old[::-1]
        if way == 3:
            return [*old[:place], self.rng.choice(old), *old[place + 1 :]]
        return [*old[:place], self.rng.choice(INTEGERS), *old[place + 1 :]]

    # ---- arrays ----

    def other_array(self):
        owned = [number for number, entry in enumerate(self.file.entries) if "@array" in entry]
        number = self.rng.choice(owned)
        reference = {"@ref": number}
        old = self.file.array(reference)
        if self.rng.random() < 0.12:
            self._other_kind_of_array(number, old)
            return
        way = self.rng.choice((self._element, self._element, self._element, self._shape, self._type, self._order))
        new = way(old)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.file.set_array(reference, new)
        owners = [
            f"{entry['@object'].rpartition('.')[2]}.{name}"
            for entry in self.file.entries
            if "@object" in entry
            for name, node in entry["state"].items()
            if f'{{"@ref": {number}}}' in json.dumps(node)
        ]
        self.done.append(f"{way.__name__} of {owners[:2]}: {old.dtype}{old.shape} -> {new.dtype}{new.shape}")

    def _element(self, old):
        new = old.copy(order="C")
        if not new.size:
            return np.zeros((3,) * max(new.ndim, 1), new.dtype)
        values = INTEGERS if new.dtype.kind in "iu" else (*FLOATS, np.nan, np.inf, -np.inf, -1, 300)
        value = self.rng.choice([value for value in values if _fits(value, new.dtype)])
        with np.errstate(all="ignore"):
            if self.rng.random() < 0.15:
                new[...] = np.asarray(value).astype(new.dtype)
            else:
                new.flat[self.rng.randrange(new.size)] = np.asarray(value).astype(new.dtype)
        return new

    def _shape(self, old):
        ways = (
            lambda: old[: old.shape[0] // 2] if old.ndim else old.reshape(1),
            lambda: np.concatenate([old, old]) if old.ndim else old.reshape(1, 1),
            lambda: np.concatenate([old] * 40) if old.ndim and old.size < 500 else old[..., None],
            lambda: old[..., :1] if old.ndim else old.reshape(1),
            lambda: old[None],
            lambda: old[..., None],
            lambda: old.T,
            old.ravel,
            lambda: old.ravel()[:1].reshape((1,) * old.ndim) if old.size else old[None],
            lambda: np.zeros((0,) * max(old.ndim, 1), old.dtype),
            lambda: np.zeros((), old.dtype),
        )
        return np.ascontiguousarray(self.rng.choice(ways)())

    def _type(self, old):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return old.astype("<i8").astype(self.rng.choice(TYPES)) if old.dtype.kind in "mM" else _cast(old, self.rng)

    def _order(self, old):
        new = old.ravel().copy()
        if self.rng.random() < 0.5:
            new = new[::-1].copy()
        elif new.size:
            new[:] = new[self.rng.randrange(new.size)]
        return new.reshape(old.shape)

    def _other_kind_of_array(self, number, old):
        """An array of objects, or of text, in the place of one of numbers."""
        if old.size > 200:
            return
        items = [
            bool(item) if isinstance(item, bool) else float(item)
            for item in np.nan_to_num(old.real.astype(float)).ravel()
        ]
        place = self.file._array_number({"@ref": number})
        self.file.entries[number] = {"@objects": items, "shape": list(old.shape)}
        del self.file.arrays[place]
        self.done.append(f"objects in the place of array {number}")

    # ---- models ----

    def other_model(self):
        """An object of this file, or of another one, in the place of an object."""
        if self.rng.random() < 0.6:
            other = Forgery(self.rng.choice(ALL_SOURCES), self.folder)
            n_before = len(other.entries)
            self.file.entries = [*other.entries, *(shifted(entry, n_before) for entry in self.file.entries)]
            self.file.arrays = [*other.arrays, *self.file.arrays]
            candidates = [number for number, entry in enumerate(other.entries) if "@object" in entry]
        else:
            n_before = 0
            candidates = [number for number, entry in enumerate(self.file.entries[:-1]) if "@object" in entry]
        found = self._references_to_objects(n_before)
        if not found:
            return
        node, key, name, before = self.rng.choice(found)
        old = self.file.entries[node[key]["@ref"]]["@object"]
        same = [number for number in candidates if number < before and self.file.entries[number]["@object"] == old]
        earlier = [number for number in candidates if number < before]
        new = self.rng.choice(same if same and self.rng.random() < 0.5 else earlier or [0])
        self.done.append(f"{name}.{key}: {old} -> entry {new} of another place")
        node[key] = {"@ref": new}

    def _references_to_objects(self, first):
        """Places of entries from `first` on that refer to an object, each with the number of its entry."""
        found = []

        def visit(node, name, number):
            for key in list(node) if isinstance(node, dict) else range(len(node)):
                child = node[key]
                if isinstance(child, dict) and set(child) == {"@ref"}:
                    if child["@ref"] < number and "@object" in self.file.entries[child["@ref"]]:
                        found.append((node, key, name, number))
                elif isinstance(child, dict | list):
                    visit(child, f"{name}.{key}", number)

        for number, entry in enumerate(self.file.entries[first:], first):
            visit(entry.get("state", entry.get("@objects", [])), entry.get("@object", "objects"), number)
        return found

    # ---- texts of boosters ----

    def other_text(self):
        text = self.file.text()
        if b"tree_sizes=" not in text:
            model = json.loads(text)
            self._change_json(model)
            self.file.set_text(json.dumps(model).encode())
            return
        lines = text.split(b"\n")
        place = self.rng.choice([number for number, line in enumerate(lines) if b"=" in line])
        name, _, value = lines[place].partition(b"=")
        words = value.split(b" ")
        word = self.rng.randrange(len(words))
        way = self.rng.randrange(6)
        if way == 0:
            words = words[:word]
        elif way == 1:
            words = [*words, *words[: word + 1]]
        elif way == 2:
            words = words[::-1]
        elif way == 3:
            words[word] = self.rng.choice(words)
        else:
            words[word] = str(self.rng.choice((*INTEGERS, *FLOATS, "nan", "inf", "-0", "1e5"))).encode()
        lines[place] = name + b"=" + b" ".join(words)
        self.done.append(f"line {value[:60]!r} -> {lines[place][:80]!r}")
        text = b"\n".join(lines)
        self.file.set_text(with_sizes(text) if name != b"tree_sizes" and self.rng.random() < 0.95 else text)

    def _change_json(self, model):
        places = []

        def visit(node, name):
            for key in node if isinstance(node, dict) else range(len(node)):
                places.append((node, key, f"{name}.{key}"))
                if isinstance(node[key], dict | list):
                    visit(node[key], f"{name}.{key}")

        visit(model, "")
        node, key, name = self.rng.choice(places)
        old = node[key]
        if isinstance(old, list) and old and self.rng.random() < 0.8:
            node[key] = self._other_list(old)
        elif isinstance(old, str):
            node[key] = str(self.rng.choice((*INTEGERS, *FLOATS, "nan", *WORDS, "[0.5,0.5]", "[]", "1_0", " 2")))
        else:
            plain = (*INTEGERS, *FLOATS, float("nan"), float("inf"), None, True, "x", "1", [], {}, deepcopy(old))
            node[key] = self.rng.choice(plain)
        self.done.append(f"text{name}: {str(old)[:60]} -> {str(node[key])[:80]}")


def _fits(value, dtype):
    if dtype.kind not in "iu":
        return True
    return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _cast(old, rng):
    return old.astype(rng.choice(TYPES)) if old.dtype.kind != "c" else old.real.astype(rng.choice(TYPES))


# ---- loading and using a file ----

_METHODS = (
    *("predict", "predict_proba", "decision_function", "select", "selection_score", "transform", "apply"),
    *("decision_path", "kneighbors", "radius_neighbors", "staged_predict_proba"),
)
_RANDOM_ROWS = np.random.default_rng(0).normal(size=(4, 60))


def use(clf, rows):
    """Ask a loaded classifier, and every model in it, whatever can be asked."""
    seen, waiting = set(), [clf]
    while waiting:
        model = waiting.pop()
        if id(model) in seen or len(seen) > 60:
            continue
        seen.add(id(model))
        if isinstance(model, list | tuple):
            waiting.extend(model[:5])
        elif isinstance(model, dict):
            waiting.extend(list(model.values())[:5])
        elif isinstance(model, np.ndarray):
            waiting.extend(model.ravel()[:5].tolist() if model.dtype == object else [])
        elif type(model).__module__.partition(".")[0] in ("aucross", "sklearn", "lightgbm", "xgboost"):
            waiting.extend(getattr(model, "__dict__", {}).values())
            if hasattr(type(model), "get_params"):
                _ask(model, rows, is_outer=model is clf)


def _ask(model, rows, *, is_outer):
    n_features = None
    with suppress(Exception):
        n_features = model.n_features_in_
    inner = _RANDOM_ROWS[:, :n_features] if isinstance(n_features, int) and 0 < n_features < 60 else rows
    for given in (rows, inner)[0 if is_outer else 1 :]:
        for method in _METHODS:
            with suppress(Exception):
                answer = getattr(model, method)(given)
                if method.startswith("staged"):
                    list(answer)
    for name in ("feature_importances_", "coef_"):
        with suppress(Exception):
            getattr(model, name)


def _check(number, folder, path):
    """Load and use a file; return whether it could be loaded, and what is wrong about it."""
    changer = Changer(number, folder)
    path.write_bytes(changer.content())
    modules = set(sys.modules)
    is_loaded, wrong = False, None
    try:
        loaded = load(str(path))
    except (ValueError, TypeError, MemoryError) as error:
        sentence = str(error)
        if not sentence.startswith(str(path)) or "\n" in sentence or len(sentence) > 1500:
            wrong = f"no sentence that names the file: {sentence[:300]!r}"
    except Exception as error:
        wrong = f"raw {error!r}"[:300]
    else:
        is_loaded = True
        use(loaded, fitted(changer.source)[1][:5])
    if further := set(sys.modules) - modules:
        wrong = f"it imported {sorted(further)[:3]}"
    return is_loaded, wrong


_STATE = struct.Struct("<qq")  # the number of the file at hand, and how many were loaded


def _work(shared, first, last, folder, out):
    """What the child does: the parent sees where it is."""
    n_loaded = _STATE.unpack(shared[:])[1]
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    path = folder / "changed.aucross"
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    for number in range(first, last):
        shared[:] = _STATE.pack(number, n_loaded)
        try:
            is_loaded, wrong = _check(number, folder, path)
            n_loaded += is_loaded
        except BaseException as error:  # whatever it is, this process must not go on with what its parent does
            wrong = f"raw {error!r}"[:300]
        if wrong is not None:
            os.write(out, f"{number} {' '.join(wrong.split())}\n".encode())
    shared[:] = _STATE.pack(last, n_loaded)
    os._exit(0)


def _seconds_of_work(process):
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def attack(first, n_files, folder, report):
    """Try files with numbers from `first` on and report each that goes wrong; return how many could be loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for source in ALL_SOURCES:
            Forgery(source, folder)  # each is written once, to be taken apart
        warm_up(folder, ALL_SOURCES)
        for source in ALL_SOURCES:
            use(*fitted(source))
    warnings.simplefilter("ignore")
    shared = mmap.mmap(-1, _STATE.size)
    number, last = first, first + n_files
    readable, out = os.pipe()
    os.set_blocking(readable, False)
    while number < last:
        process = os.fork()
        if process == 0:
            _work(shared, number, last, folder, out)
        status = _watch(process, shared)
        with suppress(BlockingIOError):
            for line in os.read(readable, 2**20).decode().splitlines():
                reported, _, reason = line.partition(" ")
                report(int(reported), reason)
        number = _STATE.unpack(shared[:])[0]
        if status is not None:
            report(number, status)
            number += 1
    return _STATE.unpack(shared[:])[1]


def _watch(process, shared):
    """Wait for a child; None if it came to its end, else what happened to it."""
    at, start, work = None, 0.0, 0.0
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return None if status == 0 else f"the process ended with status {status}"
        number = shared[:8]
        if number != at:
            at, start, work = number, time.monotonic(), _seconds_of_work(process)
        elif _seconds_of_work(process) - work > _MOST_SECONDS_OF_WORK or time.monotonic() - start > _MOST_SECONDS:
            os.kill(process, 9)
            os.waitpid(process, 0)
            return "it does not come to an end"
        time.sleep(0.02)


def described(number, folder):
    """What was changed in a file."""
    changer = Changer(number, folder)
    changer.content()
    return f"file {number}, {changer.source}: {'; '.join(changer.done)}"


def main(first, n_files):
    """Try files, and write a line for each that goes wrong."""
    with TemporaryDirectory() as name:
        folder = Path(name)

        def report(number, reason):
            sys.stdout.write(f"{described(number, folder)}: {reason}\n")
            sys.stdout.flush()

        n_loaded = attack(first, n_files, folder, report)
    sys.stdout.write(f"{n_files} files, {n_loaded} loaded\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
