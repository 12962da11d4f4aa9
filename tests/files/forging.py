"""Model files made up by somebody who knows the format: checksums and fingerprints fit whatever they hold."""

from __future__ import annotations

import io
import json
import re
import sys
import threading
import warnings
import zipfile
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256

import numpy as np
import pandas as pd
import scipy.sparse
from joblib import cpu_count
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from xgboost import XGBClassifier, XGBRFClassifier

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.estimators import ScoreColumn
from aucross.files.archive import archive_bytes
from aucross.files.description import array_file
from aucross.files.fingerprints import fingerprints_in
from aucross.files.listed import listed_classes
from aucross.files.model_file import load, save

X = np.random.default_rng(0).normal(size=(80, 3)).round(2)
y = (X[:, 0] + np.random.default_rng(1).normal(size=80) > 0).astype(int)
three_classes = np.digitize(X[:, 0], [-0.4, 0.4])
frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 0] > 0, "x", "y")), "c": X[:, 2]})
codes = np.column_stack([X[:, 0], np.digitize(X[:, 1], [-1, 0, 1])])
kinds = np.digitize(X, [-1, 0, 1]).astype(float)

# Rows and models: small, and of every kind that more than attributes are stored of.
MODELS = {
    "logistic": (X, LogisticRegression()),
    "pipeline": (
        X,
        Pipeline([("scale", StandardScaler()), ("log", FunctionTransformer(np.arcsinh)), ("model", GaussianNB())]),
    ),
    "tree": (X, DecisionTreeClassifier(max_depth=3, random_state=0)),
    "forest": (X, RandomForestClassifier(2, max_depth=2, random_state=0)),
    "boosting": (X, GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)),
    "histogram": (
        frame,
        HistGradientBoostingClassifier(
            max_iter=2, max_leaf_nodes=4, min_samples_leaf=5, categorical_features="from_dtype"
        ),
    ),
    "vectors": (X, SVC(random_state=0)),
    "sparse vectors": (scipy.sparse.csr_matrix(X), SVC(random_state=0)),
    "neighbours": (X, KNeighborsClassifier(5, algorithm="kd_tree")),
    "categories": (kinds, make_pipeline(OneHotEncoder(handle_unknown="ignore", drop="first"), LogisticRegression())),
    "rare categories": (
        kinds,
        make_pipeline(
            OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=20, sparse_output=False),
            LogisticRegression(),
        ),
    ),
    "columns": (
        frame,
        make_pipeline(
            ColumnTransformer([("n", SimpleImputer(), ["a", "c"]), ("k", OneHotEncoder(), ["b"])]), LogisticRegression()
        ),
    ),
    "spline": (
        X,
        make_pipeline(
            SplineTransformer(3), QuantileTransformer(n_quantiles=10), PolynomialFeatures(1), LogisticRegression()
        ),
    ),
    "calibrated": (X, CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic")),
    "search": (
        X,
        GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [0.1, 1]}, cv=2),
    ),
    "stacking": (X, StackingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], LogisticRegression(), cv=2)),
    "voting": (X, VotingClassifier([("a", GaussianNB()), ("b", LogisticRegression())], voting="soft")),
    "lightgbm": (X, LGBMClassifier(n_estimators=2, num_leaves=4, n_jobs=1, verbose=-1)),
    "lightgbm, categories": (
        frame[["b", "c"]],
        LGBMClassifier(n_estimators=2, num_leaves=4, min_data_per_group=1, cat_smooth=1, n_jobs=1, verbose=-1),
    ),
    "xgboost": (X, XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1)),
}

plane = np.abs(X[:, :2])
few_trees = {"n_estimators": 2, "n_jobs": 1}
three = np.where(three_classes == 1, "b", np.where(three_classes == 2, "c", "a"))

# Of every further kind that files may hold: for changes of single fields.
FURTHER_MODELS = {
    "extra trees": (X, ExtraTreesClassifier(2, max_depth=2, random_state=0)),
    "extra tree": (X, ExtraTreeClassifier(max_depth=2, random_state=0)),
    "sparse forest": (scipy.sparse.csr_matrix(X), RandomForestClassifier(2, max_depth=2, random_state=0)),
    "sparse boosting": (scipy.sparse.csr_matrix(X), GradientBoostingClassifier(n_estimators=2, max_depth=2)),
    "boosting from zero": (X, GradientBoostingClassifier(n_estimators=2, max_depth=2, init="zero")),
    "exponential boosting": (X, GradientBoostingClassifier(n_estimators=2, max_depth=2, loss="exponential")),
    "histogram of numbers": (X, HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=5)),
    "histogram of codes": (
        codes,
        HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=5, categorical_features=[1]),
    ),
    "neighbours one by one": (X, KNeighborsClassifier(5, algorithm="brute", weights="distance")),
    "neighbours of equal weight": (X, KNeighborsClassifier(5, algorithm="brute")),
    "neighbours in balls": (
        X,
        KNeighborsClassifier(5, algorithm="ball_tree", metric="minkowski", p=3),
    ),
    "neighbours of scaled rows": (
        X,
        KNeighborsClassifier(5, algorithm="brute", metric="seuclidean", metric_params={"V": [1.0, 2.0, 1.0]}),
    ),
    "neighbours on the globe": (plane, KNeighborsClassifier(5, algorithm="ball_tree", metric="haversine")),
    "neighbours within a radius": (X, RadiusNeighborsClassifier(9.0, outlier_label=0)),
    "neighbours of sparse rows": (scipy.sparse.csr_matrix(X), KNeighborsClassifier(5)),
    "centroids": (X, NearestCentroid()),
    "vectors of a kernel": (X @ X.T, SVC(kernel="precomputed")),
    "vectors of a polynomial": (X, SVC(kernel="poly", degree=2)),
    "nu vectors": (X, NuSVC()),
    "linear vectors": (X, LinearSVC()),
    "descent": (X, SGDClassifier(loss="log_loss", random_state=0)),
    "ridge": (X, RidgeClassifier()),
    "layers": (X, MLPClassifier((3,), max_iter=20, solver="lbfgs", random_state=0)),
    "layers by steps": (X, MLPClassifier((3,), max_iter=300, tol=0.1, random_state=0)),
    "discriminants": (X, LinearDiscriminantAnalysis()),
    "curved discriminants": (X, QuadraticDiscriminantAnalysis()),
    "bernoulli": (X, BernoulliNB()),
    "categories of bayes": (kinds, CategoricalNB()),
    "complement": (np.abs(X), ComplementNB()),
    "adaboost": (X, AdaBoostClassifier(n_estimators=2, random_state=0)),
    "bagging": (X, BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2, max_features=2, random_state=0)),
    "calibrated by a sigmoid": (X, CalibratedClassifierCV(LinearSVC(), cv=2)),
    "frozen": (X, FrozenEstimator(make_pipeline(StandardScaler(), GaussianNB()).fit(X, y))),
    "threshold": (X, FixedThresholdClassifier(LogisticRegression(), threshold=0.4)),
    "tuned threshold": (X, TunedThresholdClassifierCV(LogisticRegression(), cv=2, thresholds=5)),
    "codes": (
        frame,
        make_pipeline(
            ColumnTransformer(
                [("k", OrdinalEncoder(), ["b"]), ("t", TargetEncoder(cv=2), ["b"])], remainder="passthrough"
            ),
            KNNImputer(n_neighbors=2, add_indicator=True),
            DecisionTreeClassifier(max_depth=2),
        ),
    ),
    "bins": (X, make_pipeline(KBinsDiscretizer(3), LogisticRegression())),
    "dense bins": (X, make_pipeline(KBinsDiscretizer(3, encode="onehot-dense"), LogisticRegression())),
    "components": (X, make_pipeline(PowerTransformer(), PCA(2), LogisticRegression())),
    "sparse components": (X, make_pipeline(TruncatedSVD(2), MaxAbsScaler(), LogisticRegression())),
    "union": (
        X,
        make_pipeline(
            FeatureUnion([("a", MinMaxScaler()), ("b", make_pipeline(RobustScaler(), Normalizer(), Binarizer()))]),
            SelectKBest(k=3),
            LogisticRegression(),
        ),
    ),
    "selected": (
        X,
        make_pipeline(
            SelectFromModel(RandomForestClassifier(2, max_depth=2, random_state=0)),
            SimpleImputer(add_indicator=True),
            GaussianNB(),
        ),
    ),
    "sparse polynomials": (
        scipy.sparse.csr_matrix(X),
        make_pipeline(PolynomialFeatures(2), LogisticRegression()),
    ),
    "lightgbm, forest": (
        X,
        LGBMClassifier(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, num_leaves=4, verbose=-1, **few_trees),
    ),
    "xgboost, categories": (
        frame[["b", "c"]],
        XGBClassifier(max_depth=2, enable_categorical=True, max_cat_to_onehot=1, **few_trees),
    ),
    "xgboost, dart": (X, XGBClassifier(max_depth=2, booster="dart", **few_trees)),
    "xgboost, forest": (X, XGBRFClassifier(max_depth=2, **few_trees)),
    "score": (frame, ScoreColumn("a", threshold=0.0)),
}
_THREE_CLASSES = {
    "three classes of lightgbm": LGBMClassifier(num_leaves=4, verbose=-1, **few_trees),
    "three classes of xgboost": XGBClassifier(max_depth=2, **few_trees),
    "three classes of histograms": HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4, min_samples_leaf=5),
    "three classes of vectors": SVC(),
    "three classes of neighbours": KNeighborsClassifier(5),
    "three classes of a forest": RandomForestClassifier(2, max_depth=2, random_state=0),
}


@cache
def fitted(name):
    """A fitted classifier by the name of its model, and rows for it; with two trees many rows share a score."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="a coverage of .* cannot be reached")
        return _fitted(name)


def _fitted(name):
    if name in _SELECTIVE:
        return _SELECTIVE[name](), X
    if name in _THREE_CLASSES:
        return PlugIn(_THREE_CLASSES[name], random_state=0).fit(X, three), X
    rows, model = {**MODELS, **FURTHER_MODELS}[name]
    if name == "vectors of a kernel":
        return PlugIn(FrozenEstimator(model.fit(rows, y)), holdout_size=0.5, random_state=0).fit(rows, y), rows
    return PlugIn(model, random_state=0).fit(rows, y), rows


_SELECTIVE = {
    "gate": lambda: AUCGate(LogisticRegression(), GaussianNB(), random_state=0).fit(X, y),
    "three classes": lambda: AUCross(
        GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0), cv=2, random_state=0
    ).fit(X, three_classes),
    "groups": lambda: PlugInAUC(LogisticRegression(), holdout_size=0.6, random_state=0).fit(
        X, y, band_groups=X[:, 1] > 0
    ),
    "cross": lambda: SCross(GaussianNB(), cv=2, random_state=0).fit(X, y),
    "recalibrated": lambda: PlugInAUC(GaussianNB(), random_state=0).fit(X, y).recalibrate(X),
}


@cache
def _taken_apart(name, folder):
    save(fitted(name)[0], folder / "source.aucross")
    with zipfile.ZipFile(folder / "source.aucross") as archive:
        header = json.loads(archive.read("header.json"))
        arrays = [archive.read(member) for member in archive.namelist()[2:]]
        return header, archive.read("description.json"), arrays


class Forgery:
    """A file that can be changed at any place and still has fitting checksums."""

    def __init__(self, name, folder):
        header, description, arrays = _taken_apart(name, folder)
        self.header = {key: value for key, value in header.items() if key not in ("content", "checksum")}
        self.entries, self.arrays = json.loads(description), list(arrays)
        self.true_fingerprints = True

    def state(self, short_name):
        """The attributes of an object, by the name of its class; of a fitted one, which has most of them."""
        return max((entry["state"] for entry in self.objects(short_name)), key=len)

    def objects(self, short_name):
        """All objects of a class."""
        found = [entry for entry in self.entries if entry.get("@object", "").rpartition(".")[2] == short_name]
        assert found, short_name
        return found

    def array(self, reference):
        """A copy of the array that a node refers to."""
        entry = self.entries[reference["@ref"]]
        content = self.arrays[self._array_number(reference)]
        n_bytes = int(np.prod(entry["shape"])) * np.dtype(entry["@array"]).itemsize
        values = np.frombuffer(content[len(content) - n_bytes :], dtype=entry["@array"])
        return values.reshape(entry["shape"], order=entry["order"]).copy()

    def set_array(self, reference, values):
        """Put another array in the place of one."""
        values = np.asarray(values)
        entry, content = array_file(values)
        number = self._array_number(reference)
        self.entries[reference["@ref"]] = entry
        self.arrays[number] = content

    def _array_number(self, reference):
        return sum("@array" in entry for entry in self.entries[: reference["@ref"]])

    def first(self, entry, content=None):
        """Put an entry before all others and return a reference to it."""
        self.entries = [shifted(other) for other in self.entries]
        self.entries.insert(0, entry)
        if content is not None:
            self.arrays.insert(0, content)
        return {"@ref": 0}

    def first_array(self, values):
        """Put an array before all other entries and return a reference to it."""
        return self.first(*array_file(values))

    def text(self, short_name="Booster"):
        """The text of a booster."""
        return self.array(self.state(short_name)["text"]).tobytes()

    def set_text(self, text):
        """Put another text into a booster."""
        self.set_array(self.state("Booster")["text"], np.frombuffer(text, dtype=np.uint8))

    def content(self, key=None):
        """The bytes of the file."""
        digests = [sha256(array).digest() for array in self.arrays]
        if self.true_fingerprints:
            try:
                names = fingerprints_in(self.entries, digests)
            except (LookupError, TypeError, AttributeError, RecursionError, StopIteration):
                names = (self.header["model_fingerprint"], self.header["rule_fingerprint"])
            self.header["model_fingerprint"], self.header["rule_fingerprint"] = names
        return archive_bytes(self.header, json.dumps(self.entries).encode(), self.arrays, digests, key)


def shifted(node, by=1):
    """A node whose references lead to later entries."""
    if isinstance(node, list):
        return [shifted(item, by) for item in node]
    if isinstance(node, dict):
        if set(node) == {"@ref"} and isinstance(node["@ref"], int):
            return {"@ref": node["@ref"] + by}
        return {key: shifted(value, by) for key, value in node.items()}
    return node


def with_sizes(text):
    """The text of LightGBM with the sizes of its trees counted again."""
    head, _, rest = text.partition(b"\n\n")
    trees, end, after = rest.partition(b"end of trees\n")
    sizes = [len(block) for block in re.split(rb"(?=Tree=\d)", trees) if block]
    head = re.sub(rb"tree_sizes=.*", b"tree_sizes=" + " ".join(map(str, sizes)).encode(), head)
    return head + b"\n\n" + trees + end + after


def members_of(content):
    """Names and contents of the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def archive_of(members, compression=zipfile.ZIP_STORED):
    """An archive of named members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


# ---- what must not happen ----

_FORBIDDEN = (
    "exec",
    "compile",
    "import",
    "open",
    "marshal.",
    "pickle.",
    "code.",
    "function.",
    "socket.",
    "subprocess.",
)
_FORBIDDEN += (
    "os.",
    "shutil.",
    "tempfile.",
    "glob.",
    "pathlib.",
    "urllib.",
    "ftplib.",
    "http.",
    "smtplib.",
    "sqlite3.",
)
_FORBIDDEN += ("winreg.", "webbrowser.", "pty.", "mmap.", "signal.", "resource.", "setopencodehook", "sys.set")
_PROCESSORS = ("/sys/fs/cgroup/", "/proc/cpuinfo")
# Parsed by inspect.signature for a class without a constructor of its own, when an error shows a model.
_SIGNATURE = b"def foo(self, *args, **kwargs): pass"
_watched = {"path": None, "seen": [], "others": frozenset(), "installed": False}


def _is_known(event, arguments):
    """What a file cannot steer: reading it, counting processors (LightGBM), parsing a signature without running it."""
    if event == "open":
        path, mode = str(arguments[0]), arguments[1]
        return mode == "r" and (path == _watched["path"] or path.startswith(_PROCESSORS))
    return event == "compile" and arguments == (_SIGNATURE, "<unknown>")


def _hook(event, arguments):
    if _watched["path"] is None or threading.get_ident() in _watched["others"]:
        return
    if event.startswith(_FORBIDDEN) or event == "ctypes.dlopen":
        if _is_known(event, arguments):
            return
        _watched["seen"].append(f"{event} {arguments!r}"[:200])
    elif event == "ctypes.dlsym" and not str(arguments[1]).startswith(("LGBM_", "XG")):
        _watched["seen"].append(f"{event} {arguments!r}"[:200])


@contextmanager
def watching(path):
    """Collect whatever is run, imported, opened or written, except that one file is read."""
    if not _watched["installed"]:
        sys.addaudithook(_hook)
        _watched["installed"] = True
    # Threads that run already, such as those of a cluster for other tests, do nothing for the file.
    others = frozenset(thread.ident for thread in threading.enumerate()) - {threading.get_ident()}
    _watched.update(path=str(path), seen=[], others=others)
    try:
        yield _watched["seen"]
    finally:
        _watched["path"] = None


def outcome(path, rows=None, **options):
    """What loading a made-up file comes to, and what is wrong about it: None where it is refused as it should be.

    A file that is loaded has to answer, or fail, without running anything either.
    """
    answer, wrong = "refused", None
    with watching(path) as seen:
        try:
            loaded = load(str(path), **options)
        except (ValueError, TypeError, MemoryError) as error:
            sentence = str(error)
            if not sentence.startswith(str(path)) or "\n" in sentence or len(sentence) > 1500:
                wrong = f"no sentence that names the file: {sentence[:300]!r}"
        except ModuleNotFoundError as error:
            # A composed file may name a class of a library that is not installed here.
            wrong = None if "not installed" in str(error) else f"raw {error!r}"[:300]
        except BaseException as error:
            wrong = f"raw {error!r}"[:300]
        else:
            answer = "loaded"
            if rows is not None:
                _use(loaded, rows)
    return answer, wrong or (f"it did {seen[0]}" if seen else None)


def _use(loaded, rows):
    for method in ("predict", "select"):
        with suppress(Exception):  # a model of nonsense may fail in any way
            getattr(loaded, method)(rows)


SOURCES = (*MODELS, "gate", "three classes", "groups")
ALL_SOURCES = (*SOURCES, *FURTHER_MODELS, *_THREE_CLASSES, "cross", "recalibrated")


def import_all_that_is_listed():
    """Import every module of the list that is installed, so that any further import is seen."""
    for listed in listed_classes().values():
        with suppress(ModuleNotFoundError):
            assert listed.cls


def warm_up(folder, names=SOURCES):
    """Load a true file of each kind, so that nothing is left to import, and count the processors once."""
    cpu_count(only_physical_cores=True)
    for name in names:
        clf, rows = fitted(name)
        save(clf, folder / "warm.aucross")
        _use(load(folder / "warm.aucross"), rows[:5])
        assert repr(clf)  # which stands in some messages
