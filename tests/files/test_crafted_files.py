"""Model files made to do harm, each with an idea of its own; all are refused with one sentence, and nothing runs."""

from __future__ import annotations

import gzip
import json
import pickle
import re
import struct
import tracemalloc
import zipfile
from hashlib import sha256

import numpy as np
import pytest
import sklearn

from aucross.cli.schema import Roles, Schema
from aucross.files.archive import archive_bytes, expansion_limit
from aucross.files.model_file import read_header, save
from aucross.files.sklearn_names import private_names
from aucross.system.text import json_ready
from tests.cli.commands import aucross
from tests.files.forging import (
    Forgery,
    archive_of,
    fitted,
    import_all_that_is_listed,
    members_of,
    outcome,
    warm_up,
    with_sizes,
)

# Few rows are enough for files, and leave none for review.
pytestmark = pytest.mark.filterwarnings("ignore:a coverage of .* leaves less than one")

# Where compiled code of support vectors reads whether there are chances; older versions read the parameter itself.
READ_BY_VECTORS = "_effective_probability"
if READ_BY_VECTORS not in private_names("SVC", sklearn.__version__):
    READ_BY_VECTORS = "probability"

# ---- classes and functions that are not on the list ----

FOREIGN_CLASSES = (
    *("functools.partial", "sklearn.metrics._scorer._Scorer", "sklearn.metrics._scorer._PassthroughScorer"),
    *("sklearn.utils.Bunch", "sklearn.utils._bunch.Bunch", "sklearn.gaussian_process.kernels.ConstantKernel"),
    *("joblib.Memory", "joblib.memory.MemorizedFunc", "builtins.type", "builtins.object", "subprocess.Popen"),
    *("types.CodeType", "types.FunctionType", "types.MethodType", "operator.methodcaller", "operator.attrgetter"),
    *("ctypes.CDLL", "tempfile.TemporaryDirectory", "pathlib.PosixPath", "numpy.memmap", "numpy.ufunc"),
    *("importlib.machinery.SourceFileLoader", "weakref.finalize", "code.InteractiveInterpreter", "io.FileIO"),
    *("torch.jit.ScriptModule", "sklearn.linear_model._logistic.LogisticRegression", "pandas.arrays.StringArray"),
    *("sklearn.gaussian_process.GaussianProcessClassifier", "sklearn.feature_selection.RFECV", "zipfile.ZipFile"),
)
FOREIGN_FUNCTIONS = (
    *("os.system", "builtins.eval", "builtins.exec", "numpy.load", "numpy.fromfile", "numpy.save", "pickle.loads"),
    *("joblib.load", "shutil.rmtree", "webbrowser.open", "importlib.import_module", "numpy.ndarray.tofile"),
    *("lightgbm.basic.Booster.save_model", "aucross.files.model_file.load", "sklearn.utils.check_array"),
)
HIDING = (
    *("predict", "predict_proba", "fit", "score", "get_params", "set_params", "__class__", "__dict__", "__reduce__"),
    *(
        "__getattr__",
        "__sklearn_tags__",
        "_validate_params",
        "_parameter_constraints",
        "__array_interface__",
        "a.b",
        "",
    ),
)

CRAFTED = {}


def crafted(source, name=None):
    """Register a way to change a true file."""

    def register(change):
        CRAFTED[name or change.__name__.strip("_").replace("_", " ")] = (source, change)
        return change

    return register


def of_class(class_name):
    def change(file):
        file.objects("LogisticRegression")[0]["@object"] = class_name

    return change


def of_function(function):
    def change(file):
        file.state("FunctionTransformer")["func"] = {"@function": function}

    return change


def with_attribute(class_name, attribute, node):
    def change(file):
        file.state(class_name)[attribute] = node

    return change


for foreign in FOREIGN_CLASSES:
    crafted("logistic", f"class {foreign}")(of_class(foreign))
for foreign in FOREIGN_FUNCTIONS:
    crafted("pipeline", f"function {foreign}")(of_function(foreign))
for hiding in HIDING:
    crafted("logistic", f"attribute {hiding!r}")(with_attribute("LogisticRegression", hiding, "x"))

LISTED_FUNCTION, LISTED_TYPE = {"@function": "numpy.exp"}, {"@type": "numpy.float64"}
for name, (source, class_name, attribute, node) in {
    # Names of classes that are none.
    "a function as a parameter": ("logistic", "LogisticRegression", "penalty", LISTED_FUNCTION),
    "a function as a kernel": ("vectors", "SVC", "kernel", LISTED_FUNCTION),
    "a function as a metric": ("neighbours", "KNeighborsClassifier", "metric", LISTED_FUNCTION),
    "a function as a scorer": ("search", "GridSearchCV", "scoring", LISTED_FUNCTION),
    "a function in a dictionary": ("search", "GridSearchCV", "scoring", {"@dict": [["a", LISTED_FUNCTION]]}),
    "a function that names features": ("pipeline", "FunctionTransformer", "feature_names_out", LISTED_FUNCTION),
    "a type as classes": ("logistic", "LogisticRegression", "classes_", LISTED_TYPE),
    "a type as a factory": ("logistic", "PlugIn", "estimator", {"@type": "subprocess.Popen"}),
    "a type that makes types": ("pipeline", "FunctionTransformer", "dtype", {"@type": "builtins.type"}),
    "a body as a parameter": ("logistic", "PlugIn", "coverage", {"@body": "MLP", "options": {}}),
    "a body that is none": ("logistic", "PlugIn", "body", {"@body": "Sequential", "options": {}}),
    "a body with words": ("logistic", "PlugIn", "body", {"@body": "MLP", "options": {"width": "os.system"}}),
    # Places to write to, and names that are called.
    "memory of a pipeline": ("pipeline", "Pipeline", "memory", "/tmp/cache"),
    "memory as an object": ("pipeline", "Pipeline", "memory", {"@dict": [["location", "/tmp/cache"]]}),
    "memory by a search": ("search", "GridSearchCV", "param_grid", {"@dict": [["memory", ["/tmp/cache"]]]}),
    "memory by several grids": ("search", "GridSearchCV", "param_grid", [{"@dict": [["a__memory", ["/tmp"]]]}]),
    "memory by the best parameters": ("search", "GridSearchCV", "best_params_", {"@dict": [["memory", "/tmp"]]}),
    "an expression for dispatching": ("search", "GridSearchCV", "pre_dispatch", "__import__('os').system('id')"),
    "a method by name": ("logistic", "Fitted", "response_method", "save_model"),
    "a method of a stack": ("stacking", "StackingClassifier", "stack_method_", ["fit", "__reduce__"]),
    "a method as numpy text": ("logistic", "Fitted", "response_method", {"@number": "str_", "value": "save_model"}),
    "callbacks": ("lightgbm", "LGBMClassifier", "callbacks", ["x"]),
    "a million threads": ("forest", "RandomForestClassifier", "n_jobs", 10**6),
    "threads as text": ("forest", "RandomForestClassifier", "n_jobs", "loky"),
    "threads as a number of numpy": (
        "forest",
        "RandomForestClassifier",
        "n_jobs",
        {"@number": "int64", "value": 99999},
    ),
    # Keys, which are hashed and compared.
    "a type as a key": ("logistic", "PlugIn", "metadata_", {"@dict": [[{"@type": "builtins.str"}, 1]]}),
    "an object as a key": ("logistic", "PlugIn", "metadata_", {"@dict": [[{"@ref": 0}, 1]]}),
    "a list as a key": ("logistic", "PlugIn", "metadata_", {"@dict": [[[1], 1]]}),
    "keys of an equal hash": (
        "logistic",
        "PlugIn",
        "metadata_",
        {"@dict": [[(2**61 - 1) * k, 1] for k in range(1, 9)]},
    ),
    "many keys of parts": ("logistic", "PlugIn", "metadata_", {"@dict": [[{"@tuple": [k]}, 1] for k in range(2000)]}),
    "pairs that are none": ("logistic", "PlugIn", "metadata_", {"@dict": [["a", 1, 2]]}),
    "a dictionary that is none": ("logistic", "PlugIn", "metadata_", {"@dict": 5}),
    # References and depth.
    "a reference to itself": ("logistic", "LogisticRegression", "coef_", {"@ref": 10**9}),
    "a reference backwards": ("logistic", "LogisticRegression", "coef_", {"@ref": -1}),
    "a reference that is true": ("logistic", "LogisticRegression", "coef_", {"@ref": True}),
    "a reference by name": ("logistic", "LogisticRegression", "coef_", {"@ref": "0"}),
    "a reference with more": ("logistic", "LogisticRegression", "coef_", {"@ref": 0, "state": {}}),
    "lists too deep": ("logistic", "LogisticRegression", "coef_", json.loads("[" * 150 + "]" * 150)),
    "tuples too deep": ("logistic", "PlugIn", "a_", json.loads('{"@tuple":[' * 150 + "]}" * 150)),
    # Nodes.
    "a kind that there is not": ("logistic", "PlugIn", "a_", {"@call": "os.system"}),
    "a kind of another tool": ("logistic", "PlugIn", "a_", {"__class__": "Popen", "__module__": "subprocess"}),
    "two kinds at once": ("logistic", "PlugIn", "a_", {"@tuple": [], "@function": "os.system"}),
    "a dictionary that is empty": ("logistic", "PlugIn", "a_", {}),
    "a slice of two": ("logistic", "PlugIn", "a_", {"@slice": [1, 2]}),
    "a number that is none": ("logistic", "PlugIn", "a_", {"@number": "load", "value": "x"}),
    "a number of a list": ("logistic", "PlugIn", "a_", {"@number": "str_", "value": ["x"]}),
    "a number too large": ("logistic", "PlugIn", "a_", {"@number": "int8", "value": 10**30}),
    "a type of records": ("pipeline", "FunctionTransformer", "dtype", {"@dtype": "i4,O"}),
    "a type of raw memory": ("pipeline", "FunctionTransformer", "dtype", {"@dtype": "|V8"}),
    "a decimal of a gigabyte": ("logistic", "PlugIn", "a_", {"@decimal": "1E+999999999"}),
    "a span without end": ("logistic", "PlugIn", "a_", {"@timedelta": [10**18, 0, 0]}),
    "a span of a fraction of a day": ("logistic", "PlugIn", "a_", {"@timedelta": [1.5, 0, 0]}),
    "a time that is none": ("logistic", "PlugIn", "a_", {"@datetime": "2024-01-01T99:99:99"}),
    "a moment of text": ("logistic", "PlugIn", "a_", {"@moment": "<M8[D]", "value": "x"}),
    "an interval of objects": ("logistic", "PlugIn", "a_", {"@interval": [{"@ref": 0}, 1], "closed": "both"}),
    "a float that is none": ("logistic", "PlugIn", "a_", {"@float": "1_0"}),
    "a bunch": ("logistic", "PlugIn", "a_", {"@bunch": [["__array_interface__", 1]]}),
    # Objects in places where they do not belong.
    "a model as classes": ("logistic", "Fitted", "classes", {"@ref": 0}),
    "text for the model": ("logistic", "Fitted", "rule", "rule"),
    "nothing for the rule": ("logistic", "Fitted", "rule", None),
    "text for the reader": ("logistic", "Fitted", "reader", "reader"),
    "text for the held-out scores": ("logistic", "Fitted", "held_out", "scores"),
    "text for the columns": ("logistic", "Fitted", "columns", "columns"),
    "text for the judges": ("logistic", "Fitted", "judges", "judges"),
    "text for the fit": ("logistic", "PlugIn", "fitted_", "fit"),
    "nothing for the fit": ("logistic", "PlugIn", "fitted_", None),
    "a property": ("logistic", "PlugIn", "band_rule_", None),
    # Parts that compiled code reads.
    "vectors for other features": ("vectors", "SVC", "n_features_in_", 300),
    "vectors as a kernel": ("vectors", "SVC", "kernel", "precomputed"),
    "vectors stored otherwise": ("vectors", "SVC", "_sparse", True),
    "a tree for other features": ("tree", "DecisionTreeClassifier", "n_features_in_", 300),
    "a forest for other features": ("forest", "RandomForestClassifier", "n_features_in_", 300),
    "neighbours of other features": ("neighbours", "KNeighborsClassifier", "n_features_in_", 300),
    "neighbours by a function": ("neighbours", "KNeighborsClassifier", "effective_metric_", "pyfunc"),
    "histograms of other features": ("histogram", "HistGradientBoostingClassifier", "n_features_in_", 300),
    "rounds of more trees": ("boosting", "GradientBoostingClassifier", "n_trees_per_iteration_", 3),
    "a tree of no depth": ("tree", "Tree", "max_depth", 0),
    "a tree without a bottom": ("tree", "Tree", "max_depth", 2**60),
    "chances of vectors without slopes": ("sparse vectors", "SVC", READ_BY_VECTORS, True),
    "more neighbours than rows": ("neighbours", "KNeighborsClassifier", "n_samples_fit_", 10**6),
    "output by another library": (
        "pipeline",
        "StandardScaler",
        "_sklearn_output_config",
        {"@dict": [["transform", "torch"]]},
    ),
    "output by the name of numpy": (
        "pipeline",
        "StandardScaler",
        "_sklearn_output_config",
        {"@dict": [["transform", {"@number": "str_", "value": "pandas"}]]},
    ),
    "no groups of rare ones": ("rare categories", "OneHotEncoder", "_default_to_infrequent_mappings", [None] * 3),
    "a spline of text": ("spline", "BSpline", "knots", "x"),
    "a spline of another degree": ("spline", "BSpline", "degree", 10**6),
    # Parameters that reach a library as text.
    "files by a parameter": (
        "lightgbm",
        "LGBMClassifier",
        "_other_params",
        {"@dict": [["forcedsplits_filename", "x"]]},
    ),
    "files by a short name": ("lightgbm", "LGBMClassifier", "_other_params", {"@dict": [["fs", "x"]]}),
    "machines by a short name": ("lightgbm", "LGBMClassifier", "_other_params", {"@dict": [["nodes", "10.0.0.1:80"]]}),
    "a model to save": ("lightgbm", "LGBMClassifier", "_other_params", {"@dict": [["output_model", "x.pth"]]}),
    "a parameter within a value": ("lightgbm", "LGBMClassifier", "objective", "binary output_model=x.pth"),
    "a parameter that is no text": ("lightgbm", "LGBMClassifier", "_other_params", {"@dict": [[5, 1]]}),
    "threads by another name": ("lightgbm", "LGBMClassifier", "_other_params", {"@dict": [["num_thread", 10**6]]}),
    "threads of a booster": ("xgboost", "Booster", "n_threads", 10**6),
}.items():
    crafted(source, name)(with_attribute(class_name, attribute, node))

# ---- entries and arrays ----


@crafted("logistic")
def _an_entry_that_refers_to_itself(file):
    file.entries[-1]["state"]["fitted_"] = {"@ref": len(file.entries) - 1}


@crafted("logistic")
def _an_entry_of_another_kind(file):
    file.first({"@call": "os.system", "args": ["id"]})


@crafted("logistic")
def _an_entry_that_is_a_list(file):
    file.first(["os.system", "id"])


@crafted("logistic")
def _entries_that_are_none(file):
    file.entries = {"@object": "aucross.PlugIn", "state": {}}


@crafted("logistic")
def _no_entries(file):
    file.entries, file.arrays = [], []


@crafted("logistic")
def _a_class_name_of_thousands_of_letters(file):
    file.objects("LogisticRegression")[0]["@object"] = "a." + "b" * 5000


@crafted("logistic")
def _a_class_name_with_a_line_end(file):
    file.objects("LogisticRegression")[0]["@object"] = "os.system\nfine"


@crafted("logistic")
def _an_attribute_of_thousands_of_letters(file):
    file.state("LogisticRegression")["a" * 5000 + "_"] = {"@call": 1}


@crafted("logistic")
def _a_state_that_is_a_list(file):
    file.objects("LogisticRegression")[0]["state"] = [["C", 1]]


@crafted("logistic")
def _a_method_hidden_in_an_array(file):
    numbers = file.first_array(np.array(0, dtype=np.uint8))
    word = file.first({"@labels": ["save_model"], "codes": numbers, "dtype": "|O"})
    # Entries refer to earlier ones, so the two change places.
    file.entries[0], file.entries[1] = file.entries[1], {**file.entries[0], "codes": {"@ref": 0}}
    file.state("Fitted")["response_method"] = {"@ref": 1}
    assert word == {"@ref": 0}


@crafted("pipeline")
def _an_array_to_write_to(file):
    target = file.first_array(np.zeros(3))
    file.state("FunctionTransformer")["kw_args"] = {"@dict": [["out", target]]}


@crafted("logistic")
def _an_array_at_an_address(file):
    # numpy would read the memory at the address that an object names in an attribute of this name.
    address = {"@dict": [["data", {"@tuple": [2**40, False]}], ["shape", {"@tuple": [9]}], ["typestr", "<f8"]]}
    values, mask = np.zeros(2), np.zeros(2, dtype=bool)
    file.first_array(values)
    file.first_array(mask)
    # The two arrays have come before each other: the first entry is the mask.
    entry = {"@masked": {"@ref": 1}, "mask": {"@ref": 0}, "fill": {"@bunch": [["__array_interface__", address]]}}
    file.entries = [*_before(file.entries, 2), entry, *_after(file.entries, 2)]


@crafted("logistic")
def _an_array_filled_with_a_model(file):
    file.first_array(np.zeros(2))
    file.first_array(np.zeros(2, dtype=bool))
    model = {"@object": "sklearn.naive_bayes.GaussianNB", "state": {}}
    entry = {"@masked": {"@ref": 1}, "mask": {"@ref": 0}, "fill": {"@ref": 2}}
    file.entries = [*_before(file.entries, 2), model, entry, *_after(_after(file.entries, 2, all_of_them=True), 2)]


@crafted("logistic")
def _a_masked_model(file):
    model = {"@object": "sklearn.pipeline.Pipeline", "state": {"steps": [], "memory": None}}
    file.first(model)
    entry = {"@masked": {"@ref": 0}, "mask": {"@ref": 0}, "fill": None}
    file.entries = [*_before(file.entries, 1), entry, *_after(file.entries, 1)]


def _before(entries, number):
    return entries[:number]


def _after(entries, number, *, all_of_them=False):
    """Entries from a place on, each reference moved on by one."""

    def moved(node):
        if isinstance(node, list):
            return [moved(item) for item in node]
        if isinstance(node, dict):
            if set(node) == {"@ref"}:
                return {"@ref": node["@ref"] + (node["@ref"] >= number)}
            return {key: moved(value) for key, value in node.items()}
        return node

    rest = [moved(entry) for entry in entries[number:]]
    return [*entries[:number], *rest] if all_of_them else rest


def array_with(**changes):
    def change(file):
        reference = file.state("LogisticRegression")["coef_"]
        file.entries[reference["@ref"]].update(changes)

    return change


for name, changes in {
    "an array of objects": {"@array": "|O"},
    "an array of raw memory": {"@array": "|V8"},
    "an array of records": {"@array": "i4,i4"},
    "an array of other numbers": {"@array": "<i8"},
    "an array larger than its content": {"shape": [10**9]},
    "an array of negative size": {"shape": [-1, 3]},
    "an array without end": {"shape": [2**62, 2**62]},
    "an array of true size": {"shape": [True, 3]},
    "an array of a hundred dimensions": {"shape": [1] * 100},
    "an array in another order": {"order": "K"},
    "an array with an offset": {"offset": -8},
}.items():
    crafted("logistic", name)(array_with(**changes))


@crafted("logistic")
def _an_array_with_a_pickle(file):
    file.arrays[0] = b"\x93NUMPY\x01\x00" + pickle.dumps(print)


@crafted("logistic")
def _an_array_that_nothing_refers_to(file):
    file.arrays.append(file.arrays[0])


@crafted("logistic")
def _an_array_that_is_missing(file):
    file.arrays.pop()


@crafted("groups")
def _booleans_that_are_neither(file):
    values = np.array([0, 1, 255], dtype=np.uint8)
    reference = file.first_array(values)
    file.entries[0]["@array"] = "|b1"
    file.arrays[0] = file.arrays[0].replace(b"|u1", b"|b1")
    file.entries[-1]["state"]["a_"] = reference


def labels(entry, codes):
    def change(file):
        file.first_array(codes)
        file.entries = [*_before(file.entries, 1), entry, *_after(file.entries, 1)]

    return change


for name, (entry, codes) in {
    "labels that take a terabyte": (
        {"@labels": ["a"] * 2000, "codes": {"@ref": 0}, "dtype": "<U999999"},
        np.zeros(1, "u1"),
    ),
    "texts that take a terabyte": ({"@labels": ["a"], "codes": {"@ref": 0}, "dtype": "<U999999"}, np.zeros(9**5, "u1")),
    "a code without a label": ({"@labels": ["a"], "codes": {"@ref": 0}, "dtype": "|O"}, np.array([7], "u1")),
    "codes with a sign": ({"@labels": ["a"], "codes": {"@ref": 0}, "dtype": "|O"}, np.array([-1], "i1")),
    "labels of another type": ({"@labels": [1], "codes": {"@ref": 0}, "dtype": "<U1"}, np.zeros(1, "u1")),
    "labels that are none": ({"@labels": 5, "codes": {"@ref": 0}, "dtype": "<U1"}, np.zeros(1, "u1")),
    "codes that are none": ({"@labels": ["a"], "codes": 0, "dtype": "|O"}, np.zeros(1, "u1")),
    "objects that do not fill": ({"@objects": [1, 2], "shape": [3]}, np.zeros(1, "u1")),
}.items():
    crafted("logistic", name)(labels(entry, codes))

# ---- the header ----

for name, changes in {
    "another class in the header": {"class_name": "AUCross"},
    "a model in the header": {"class_name": "LogisticRegression"},
    "a class that is a number": {"class_name": 5},
    "a class with a line end": {"class_name": "PlugIn\nfine"},
    "a class of a million letters": {"class_name": "A" * 10**6},
    "versions that are none": {"versions": []},
    "a version that is an object": {"versions": {"sklearn": {"a": 1}}},
    "a version with an escape": {"versions": {"sklearn": "1\x1b[2J"}},
    "metadata that are none": {"metadata": []},
    "another format": {"format": "pickle"},
    "a later format": {"format_version": 99},
    "a format that is true": {"format_version": True},
    "no time": {"saved_at": None},
}.items():
    crafted("logistic", name)(lambda file, changes=changes: file.header.update(changes))


def forged_fingerprint(name):
    def change(file):
        file.content()
        file.header[name], file.true_fingerprints = "0" * 64, False

    return change


for forged in ("model_fingerprint", "rule_fingerprint"):
    crafted("logistic", f"a forged {forged}")(forged_fingerprint(forged))


@crafted("logistic")
def _the_fingerprint_of_the_model_that_was_approved(file):
    """The approved model's name on a file whose coefficients are others."""
    file.content()
    reference = file.state("LogisticRegression")["coef_"]
    file.set_array(reference, -file.array(reference))
    file.true_fingerprints = False


# ---- what compiled code reads ----


def nodes(source, class_name, change_nodes):
    def change(file):
        state = file.state(class_name)
        fields, integers = state["fields"], file.array(state["integers"])
        is_float = {"threshold", "impurity", "weighted_n_node_samples", "value", "num_threshold", "gain"}
        names = [field for field in fields if field not in is_float]
        change_nodes(integers, names.index)
        file.set_array(state["integers"], integers)

    return source, change


def _set(field, value):
    def change(integers, place):
        integers[place(field), 0] = value

    return change


for name, (source, change) in {
    "a tree that goes in circles": nodes("tree", "Tree", _set("left_child", 0)),
    "a tree that ends elsewhere": nodes("tree", "Tree", _set("right_child", 10**6)),
    "a tree that goes back": nodes("tree", "Tree", _set("right_child", -5)),
    "a tree of another column": nodes("tree", "Tree", _set("feature", 10**6)),
    "a tree of a column before the first": nodes("tree", "Tree", _set("feature", -7)),
    "a number beyond its type": nodes("histogram", "TreePredictor", _set("is_leaf", 256)),
    "a histogram tree in circles": nodes("histogram", "TreePredictor", _set("left", 0)),
    "a histogram tree of another column": nodes("histogram", "TreePredictor", _set("feature_idx", 500)),
    "a set of categories elsewhere": nodes(
        "histogram",
        "TreePredictor",
        lambda integers, place: integers.__setitem__(
            (slice(None), 0),
            np.where(
                np.isin(np.arange(len(integers)), [place("is_categorical")]),
                1,
                np.where(np.arange(len(integers)) == place("bitset_idx"), 9999, integers[:, 0]),
            ),
        ),
    ),
}.items():
    crafted(source, name)(change)


@crafted("tree")
def _values_of_another_shape(file):
    state = file.state("Tree")
    file.set_array(state["values"], np.zeros((1, 1, 2)))


@crafted("forest")
def _a_forest_of_other_models(file):
    model = file.first({"@object": "sklearn.naive_bayes.GaussianNB", "state": {"tree_": None, "n_features_in_": 3}})
    file.state("RandomForestClassifier")["estimators_"] = [model]


@crafted("forest")
def _a_forest_of_forests(file):
    forest = {"@object": "sklearn.ensemble.RandomForestClassifier", "state": {}}
    file.state("RandomForestClassifier")["estimators_"] = [file.first(forest)]


@crafted("boosting")
def _a_model_that_bears_a_tree(file):
    """Another model with the tree of a larger table, which compiled code would read as if it were of this one."""
    for entry in file.objects("DecisionTreeRegressor"):
        entry["@object"] = "sklearn.naive_bayes.GaussianNB"
        entry["state"] = {name: entry["state"][name] for name in ("tree_", "n_features_in_")}
    file.state("Tree")["n_features"] = 10**6


@crafted("three classes")
def _a_start_with_fewer_columns(file):
    """Trees are added to as many columns as there are classes, and the first answer would have one."""
    file.set_array(file.state("DummyClassifier")["class_prior_"], np.ones(1))


@crafted("three classes")
def _a_start_by_another_model(file):
    file.objects("DummyClassifier")[0].update({"@object": "sklearn.linear_model.LogisticRegression", "state": {}})


@crafted("boosting")
def _a_start_by_a_model_of_another_shape(file):
    """Of two classes, too: a model whose parts have other shapes may answer for fewer rows than it is asked about."""
    model = {"theta_": 1, "var_": 1, "class_prior_": 1, "classes_": 1}
    numbers = file.first_array(np.ones((1, 2, 1)))
    state = dict.fromkeys(model, numbers)
    file.objects("DummyClassifier")[0].update({"@object": "sklearn.naive_bayes.GaussianNB", "state": state})


@crafted("boosting")
def _a_start_by_a_pipeline(file):
    """Its steps may hand on fewer rows than they get."""
    file.objects("DummyClassifier")[0].update({"@object": "sklearn.pipeline.Pipeline", "state": {"steps": []}})


@crafted("histogram")
def _features_with_categories_as_objects(file):
    is_categorical = file.first({"@objects": [True, False, True], "shape": [3]})
    file.state("_BinMapper")["is_categorical_"] = is_categorical


@crafted("histogram")
def _an_encoder_that_drops_columns(file):
    file.state("ColumnTransformer")["_transformer_to_input_indices"] = {"@dict": [["encoder", []], ["numerical", [0]]]}


@crafted("histogram")
def _an_encoder_that_is_another_model(file):
    file.objects("ColumnTransformer")[0].update({"@object": "sklearn.feature_selection.SelectKBest", "state": {}})


@crafted("vectors")
def _vectors_of_a_kernel_elsewhere(file):
    state = file.state("SVC")
    state["kernel"], state["shape_fit_"] = "precomputed", {"@tuple": [3, 3]}


@crafted("vectors")
def _more_vectors_than_there_are(file):
    reference = file.state("SVC")["_n_support"]
    file.set_array(reference, file.array(reference) + 1000)


@crafted("sparse vectors")
def _coefficients_that_are_not_stored(file):
    """A sparse matrix of the right shape that holds no number at all."""
    for entry in file.entries:
        if entry.get("@object", "").startswith("scipy.sparse.") and entry["state"]["shape"][0] == 1:
            for part in ("data", "indices"):
                file.set_array(entry["state"][part], file.array(entry["state"][part])[:0])
            indptr = file.array(entry["state"]["indptr"])
            file.set_array(entry["state"]["indptr"], np.zeros_like(indptr))


@crafted("sparse vectors")
def _columns_outside_of_a_sparse_matrix(file):
    entry = next(entry for entry in file.entries if entry.get("@object", "").startswith("scipy.sparse."))
    indices = file.array(entry["state"]["indices"])
    indices[0] = 10**6
    file.set_array(entry["state"]["indices"], indices)


@crafted("neighbours")
def _labels_outside_of_the_classes(file):
    reference = file.state("KNeighborsClassifier")["_y"]
    file.set_array(reference, file.array(reference) + 10**6)


@crafted("neighbours")
def _neighbours_by_a_matrix_of_another_size(file):
    n_rows = len(file.array(file.state("KNeighborsClassifier")["_y"]))
    rows = file.first_array(np.random.default_rng(0).normal(size=(n_rows, 3000)))
    state = file.state("KNeighborsClassifier")
    state.update(_fit_method="brute", effective_metric_="mahalanobis", _fit_X=rows, n_features_in_=3000)
    state["effective_metric_params_"] = {"@dict": [["VI", [[1.0]]]]}


def dropped(values):
    def change(file):
        reference = file.first({"@objects": values, "shape": [len(values)]})
        file.state("OneHotEncoder").update(drop_idx_=reference, _drop_idx_after_grouping=reference)

    return change


crafted("categories", "a dropped category before the first")(dropped([-1, 0, 0]))
crafted("categories", "a dropped category after the last")(dropped([0, 0, 10**6]))
crafted("categories", "fewer dropped categories than features")(dropped([0]))


@crafted("categories")
def _categories_out_of_order(file):
    """They are looked up by bisection, which would end behind the last one."""
    for reference in file.state("OneHotEncoder")["categories_"]:
        file.set_array(reference, file.array(reference)[::-1].copy())


# ---- texts of boosters ----


def replaced(old, new):
    def change(file):
        text = re.sub(old, new, file.text(), count=1)
        assert text != file.text()
        if b"tree_sizes=" in text:
            text = with_sizes(text)
        file.set_text(text)

    return change


for name, (source, old, new) in {
    "a path for a text": ("lightgbm", rb"(?s).*", b"/etc/hostname"),
    "a path for another text": ("xgboost", rb"(?s).*", b"/etc/hostname"),
    "a line that Python does not see": ("lightgbm", rb"feature_names=", b"feature_names=\rmax_feature_idx=1000000\r"),
    "a text that ends before its end": ("lightgbm", rb"feature_names=", b"feature_names=\x00"),
    "parameters after the trees": (
        "lightgbm",
        rb"end of trees\n",
        b"end of trees\n\nparameters:\n[output_model: x.pth]\n",
    ),
    "a line twice": ("lightgbm", rb"\nnum_class=1", b"\nnum_class=1\nnum_class=1"),
    "a line that is not known": ("lightgbm", rb"\nnum_class=1", b"\nnum_class=1\nforcedsplits_filename=x"),
    "a label elsewhere": ("lightgbm", rb"label_index=0", b"label_index=/etc/passwd"),
    "more classes than trees": ("lightgbm", rb"num_class=1", b"num_class=999999999"),
    "no classes": ("lightgbm", rb"num_class=1\nnum_tree_per_iteration=1", b"num_class=0\nnum_tree_per_iteration=0"),
    "an objective of one's own": ("lightgbm", rb"objective=binary", b"objective=custom"),
    "a branch in circles": ("lightgbm", rb"left_child=\S+", b"left_child=0"),
    "a branch that ends elsewhere": ("lightgbm", rb"right_child=\S+", b"right_child=99999"),
    "a leaf that there is not": ("lightgbm", rb"left_child=\S+", b"left_child=-99999"),
    "a column that there is not": ("lightgbm", rb"split_feature=\S+", b"split_feature=99999"),
    "leaves without end": ("lightgbm", rb"num_leaves=\d+", b"num_leaves=999999999"),
    "a number that is text": ("lightgbm", rb"leaf_value=\S+", b"leaf_value=x"),
    "a set of categories that there is not": ("lightgbm, categories", rb"cat_boundaries=0", b"cat_boundaries=99999"),
    "a branch of a tree in circles": ("xgboost", rb'"left_children":\[\d+', b'"left_children":[0'),
    "a branch of a tree elsewhere": ("xgboost", rb'"right_children":\[\d+', b'"right_children":[99999'),
    "a column elsewhere": ("xgboost", rb'"split_indices":\[\d+', b'"split_indices":[99999'),
    "an objective of another kind": ("xgboost", rb"binary:logistic", b"custom"),
    "a booster of another kind": ("xgboost", rb'"name":"gbtree"', b'"name":"gblinear"'),
    "more classes than there are trees": ("xgboost", rb'"num_class":"0"', b'"num_class":"999999999"'),
    "starts of other classes": ("xgboost", rb'"base_score":"[^"]*"', b'"base_score":"[0.5,0.5]"'),
    "a node before the first": ("xgboost", rb'"parents":\[2147483647,0', b'"parents":[2147483647,-7'),
    "a tree twice": ("xgboost", rb'"id":1', b'"id":0'),
    "a tree without a number": ("xgboost", rb'"id":1', b'"id":99999'),
    "nodes that were deleted": ("xgboost", rb'"num_deleted":"0"', b'"num_deleted":"9"'),
    "a size with an underscore": ("xgboost", rb'"num_feature":"3"', b'"num_feature":"0_3"'),
    "a type of column that there is not": ("xgboost", rb'"feature_types":\[\]', b'"feature_types":["x","x","x"]'),
    "a text of version one": ("xgboost", rb'"version":\[\d+', b'"version":[1'),
    "no trees a round": ("xgboost", rb'"num_parallel_tree":"1"', b'"num_parallel_tree":"0"'),
    "a part that is not known": ("xgboost", rb'"learner":\{', b'"learner":{"plugin":"x.so",'),
    "no JSON": ("xgboost", rb"^\{", b"["),
    "another encoding": ("xgboost", rb"(?s).+", lambda text: text[0].decode().encode("utf-32-be")),
}.items():
    crafted(source, name)(replaced(old, new))


@crafted("lightgbm")
def _branches_that_meet_again(file):
    """Each node leads twice to the next: to go down all ways takes for ever."""
    text = file.text()
    for child in (b"left_child", b"right_child"):
        text = re.sub(child + rb"=.*", child + b"=1 2 -1", text)
    file.set_text(with_sizes(text))


# ---- the archive ----


def _patched(content, offset_in_directory, format_, value, member=0):
    """Another value in the directory of an archive, and the same one where the member itself begins."""
    content = bytearray(content)
    place = -1
    for _ in range(member + 1):
        place = content.index(b"PK\x01\x02", place + 1)
    struct.pack_into(format_, content, place + offset_in_directory, value)
    return bytes(content)


def _replaced(members, name, content):
    return [(other, content if other == name else old) for other, old in members]


def _doubled(members, name):
    with pytest.warns(UserWarning, match="Duplicate name"):
        return archive_of([*members, (name, dict(members)[name])])


def _zeros(file_members):
    """A hundred megabytes of zeros that pack to a hundred kilobytes."""
    return archive_of([*file_members, (f"arrays/{len(file_members) - 2}.npy", bytes(10**8))], zipfile.ZIP_DEFLATED)


ARCHIVES = {
    "a header twice": lambda members: _doubled(members, "header.json"),
    "a description twice": lambda members: _doubled(members, "description.json"),
    "a member of another folder": lambda members: archive_of([*members, ("../../outside", b"x")]),
    "a member with a whole path": lambda members: archive_of([*members, ("/tmp/outside", b"x")]),
    "a folder": lambda members: archive_of([*members, ("arrays/", b"")]),
    "members in another order": lambda members: archive_of(members[::-1]),
    "no header": lambda members: archive_of(members[1:]),
    "nothing but a header": lambda members: archive_of(members[:1]),
    "a packed header": lambda members: archive_of(members, zipfile.ZIP_DEFLATED),
    "members packed as bzip2": lambda members: archive_of(members, zipfile.ZIP_BZIP2),
    "members packed as lzma": lambda members: archive_of(members, zipfile.ZIP_LZMA),
    "a bomb of zeros": _zeros,
    "a member that is said to be encrypted": lambda members: _patched(archive_of(members), 8, "<H", 1),
    "a header of four gigabytes": lambda members: _patched(archive_of(members), 24, "<I", 2**32 - 2),
    "a description of four gigabytes": lambda members: _patched(archive_of(members), 24, "<I", 2**32 - 2, member=1),
    "an array of four gigabytes": lambda members: _patched(archive_of(members), 24, "<I", 2**32 - 2, member=2),
    "an array larger than it is": lambda members: _patched(archive_of(members), 24, "<I", 10**6, member=2),
    "members at one place": lambda members: _patched(archive_of(members), 42, "<I", 0, member=2),
    "a member behind the end": lambda members: _patched(archive_of(members), 42, "<I", 2**31, member=2),
    "a header of five megabytes": lambda members: archive_of(_replaced(members, "header.json", b" " * 5 * 2**20)),
    "a header too deep": lambda members: archive_of(_replaced(members, "header.json", b"[" * 10**6)),
    "a header that is a list": lambda members: archive_of(_replaced(members, "header.json", b"[]")),
    "a header that is no text": lambda members: archive_of(_replaced(members, "header.json", b"\xff\xfe")),
    "a description of another file": lambda members: archive_of(_replaced(members, "description.json", b"[]")),
    "a pickle": lambda _: pickle.dumps(print),
    "a packed pickle": lambda _: gzip.compress(pickle.dumps(print)),
    "an archive of a pickle": lambda _: archive_of([("schema.json", b"{}"), ("data.pkl", pickle.dumps(print))]),
    "text": lambda _: b"import os; os.system('id')",
    "nothing": lambda _: b"",
    "the end of an archive alone": lambda members: archive_of(members)[-22:],
}


def described_by(text):
    """A description that is sealed as it is, whether it is JSON or not."""

    def change(file):
        def sealed(key=None):
            digests = [sha256(array).digest() for array in file.arrays]
            return archive_bytes(file.header, text, file.arrays, digests, key)

        file.content = sealed

    return change


for name, text in {
    "a description too deep": b"[" * 10**5 + b"]" * 10**5,
    "a description without end": b"[" * 10**5,
    "a description with an infinity": b"[Infinity]",
    "a description with no number": b"[NaN]",
    "a description that is no text": b"\xff\xfe\x00",
    "a description with a huge number": b"[" + b"9" * 5000 + b"]",
    "a description of nothing": b"",
    "a description that is true": b"true",
}.items():
    crafted("logistic", name)(described_by(text))

# ---- the tests ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crafted")
    import_all_that_is_listed()
    warm_up(folder)
    return folder


@pytest.mark.attack("model file, crafted")
@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_file_is_refused_and_nothing_runs(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    source, change = CRAFTED[name]
    file = Forgery(source, folder)
    change(file)
    path = folder / "crafted.aucross"
    path.write_bytes(file.content())
    before = sorted(folder.iterdir())
    assert outcome(path, fitted(source)[1]) == ("refused", None)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("source", sorted({source for source, _ in CRAFTED.values()}))
def test_a_file_that_was_not_changed_is_loaded(source, folder):
    """Otherwise the crafted ones would be refused for a reason of their own."""
    path = folder / "true.aucross"
    path.write_bytes(Forgery(source, folder).content())
    assert outcome(path, fitted(source)[1]) == ("loaded", None)


@pytest.mark.attack("model file, crafted")
@pytest.mark.parametrize("name", ARCHIVES)
def test_a_crafted_archive_is_refused_and_nothing_is_unpacked(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    path = folder / "archive.aucross"
    path.write_bytes(ARCHIVES[name](members_of(Forgery("logistic", folder).content())))
    before = sorted(folder.iterdir())
    tracemalloc.start()
    try:
        assert outcome(path) == ("refused", None)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()
    assert sorted(folder.iterdir()) == before


@pytest.mark.attack("model file, crafted")
@pytest.mark.parametrize(
    ("source", "class_name", "attribute", "shape"),
    [
        ("logistic", "LogisticRegression", "coef_", (1, 7_500_000)),
        ("tree", "Tree", "integers", (5, 300_000)),
        ("tree", "Tree", "values", (1_900_000, 1, 2)),
        ("neighbours", "KNeighborsClassifier", "_fit_X", (400_000, 1)),
    ],
)
def test_arrays_of_one_number_take_no_more_memory_than_is_said(source, class_name, attribute, shape, folder):
    """They pack a thousand to one, so a file of 20 KB may hold as much as is allowed; reading must not double it."""
    file = Forgery(source, folder)
    reference = file.state(class_name)[attribute]
    file.set_array(reference, np.ones(shape, dtype=file.array(reference).dtype))
    path = folder / "large.aucross"
    path.write_bytes(file.content())
    tracemalloc.start()
    try:
        outcome(path)
        assert tracemalloc.get_traced_memory()[1] < expansion_limit(path.stat().st_size)
    finally:
        tracemalloc.stop()


@pytest.mark.attack("model file, crafted")
def test_what_is_refused_by_loading_is_refused_by_the_command_line_too(folder):
    file = Forgery("logistic", folder)
    of_class("subprocess.Popen")(file)
    # The command line looks at the columns of a model first.
    schema = Schema(dict.fromkeys("abc", "number"), ("0", "1"), Roles("y"))
    file.header["metadata"] = json_ready(schema.to_metadata())
    path = folder / "crafted.aucross"
    path.write_bytes(file.content())
    (folder / "rows.csv").write_text("a,b,c\n1,2,3\n")
    table, out = folder / "rows.csv", folder / "decisions.csv"
    done = aucross("predict", path, table, "--out", out)
    assert done.exit_code > 0
    assert "crafted.aucross holds types that are not listed" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_the_header_is_read_alone(folder, monkeypatch):
    """Whatever else the archive holds is not even looked at."""
    save(fitted("forest")[0], folder / "whole.aucross")
    opened = []
    read = zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile,
        "open",
        lambda self, name, *rest, **more: (opened.append(name), read(self, name, *rest, **more))[1],
    )
    assert read_header(folder / "whole.aucross").class_name == "PlugIn"
    assert [member.filename for member in opened] == ["header.json"]
