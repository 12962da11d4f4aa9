"""Rows on which an ONNX graph decides otherwise than the classifier, for every data set of a folder.

    python -m benchmarks.onnx_suite FOLDER              # Parquet files with the class in the column target
    python -m benchmarks.onnx_suite FOLDER magic heloc  # some of them
    python -m benchmarks.onnx_suite                     # what was found so far

For each set AUCross and PlugInAUC are fitted, with the models and encodings of `aucross fit`. The rows of the set,
those of the training among them, are decided at two coverages, by Python and by the graph of `export.onnx.to_onnx`.
Beside it stands the usual way: the model alone as skl2onnx and onnxmltools convert it, in single precision, and the
band applied to its score. Results are added to benchmarks/results/onnx_suite.csv, and sets that are in it are not
computed again.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import skl2onnx
from lightgbm import LGBMClassifier
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
from skl2onnx.common.data_types import FloatTensorType
from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

from aucross import AUCross, PlugInAUC
from aucross.cli.base_models import Features, make_model
from aucross.cli.command_options import Base
from aucross.export.onnx import onnx_inputs, to_onnx
from experiments.selections import select_each

RESULTS = Path(__file__).parent / "results" / "onnx_suite.csv"
COVERAGES = [0.9, 0.7]
BASES = (Base.LOGISTIC, Base.FOREST, Base.HGB, Base.LIGHTGBM)
ROWS_AT_A_TIME = 20_000


def table_of(path: Path, most_rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers as floats, text as text, missing as NaN."""
    rows = pd.read_parquet(path).sample(frac=1, random_state=0).reset_index(drop=True)[:most_rows]
    y = rows.pop("target").to_numpy().astype(int)
    columns = {}
    for name, column in rows.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            continue
        if pd.api.types.is_numeric_dtype(column):
            columns[name] = column.astype(float)
        else:
            texts = [str(value) if known else np.nan for value, known in zip(column, column.notna(), strict=True)]
            columns[name] = pd.Series(texts, dtype=object)
    return pd.DataFrame(columns), y


def features_of(X: pd.DataFrame) -> Features:
    kinds = {name: "category" if X[name].dtype == object else "number" for name in X}
    return Features.of(kinds, X)


def single_precision(clf: Any, X: pd.DataFrame) -> Any:
    """The last step of a pipeline as others convert it."""
    n_columns = clf.estimator_[:-1].transform(X[:1]).shape[1]
    last = clf.estimator_[-1]
    if isinstance(last, LGBMClassifier):
        shapes, options = calculate_linear_classifier_output_shapes, {"zipmap": [True, False], "nocl": [True, False]}
        skl2onnx.update_registered_converter(LGBMClassifier, "LightGbm", shapes, convert_lightgbm, options=options)
    types, opset = [("X", FloatTensorType([None, n_columns]))], {"": 18, "ai.onnx.ml": 3}
    return skl2onnx.to_onnx(last, initial_types=types, options={"zipmap": False}, target_opset=opset)


def flips(clf: Any, X: pd.DataFrame, training: slice) -> dict[str, Any]:
    """Rows decided otherwise by the graph, and by the model converted by others."""
    start = perf_counter()
    graph = to_onnx(clf, X[training], coverages=COVERAGES)
    seconds = perf_counter() - start
    ours = onnxruntime.InferenceSession(graph.SerializeToString())
    others = onnxruntime.InferenceSession(single_precision(clf, X).SerializeToString())
    n_ours, n_others, largest = 0, 0, 0.0
    for first in range(0, len(X), ROWS_AT_A_TIME):
        part = X[first : first + ROWS_AT_A_TIME]
        rows = clf.scored(part)
        expected = select_each(clf, rows, COVERAGES).T
        probability, selected = ours.run(["probabilities", "selected"], onnx_inputs(graph, part))
        n_ours += int((selected != expected).any(axis=1).sum())
        largest = max(largest, float(np.abs(probability[:, 1] - rows.score).max()))
        table = clf.estimator_[:-1].transform(part)
        table = table.toarray() if hasattr(table, "toarray") else table
        score = others.run(None, {"X": table.astype(np.float32)})[1][:, 1].astype(np.float64)
        by_others = np.stack([clf.band(coverage).selects(score) for coverage in COVERAGES], axis=1)
        n_others += int((by_others != expected).any(axis=1).sum())
    return {"flips": n_ours, "flips_single": n_others, "difference": f"{largest:.1e}", "seconds": round(seconds, 1)}


def results_of(path: Path, training_rows: int, most_rows: int) -> Iterator[dict[str, Any]]:
    X, y = table_of(path, most_rows)
    training = slice(0, training_rows)
    features = features_of(X[training])
    X = X[[*features.categories, *features.numbers]]
    for base in BASES:
        for method in (AUCross, PlugInAUC):
            clf = method(make_model(base, features, seed=0), coverage=0.9, random_state=0)
            clf.fit(X[training], y[training])
            n_training = min(training_rows, len(X))
            facts = {
                "set": path.stem,
                "training_rows": n_training,
                "rows": len(X),
                "method": method.__name__,
                "base": str(base),
            }
            yield {**facts, **flips(clf, X, training)}


def print_table() -> None:
    found = pd.read_csv(RESULTS)
    by = ["method", "base"]
    table = found.groupby(by).agg(
        sets=("set", "nunique"),
        rows=("rows", "sum"),
        flips=("flips", "sum"),
        flips_single=("flips_single", "sum"),
        sets_with_flips_single=("flips_single", lambda values: int((values > 0).sum())),
        largest_difference=("difference", "max"),
    )
    print(table.to_string())


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--training-rows", type=int, default=2_000)
    parser.add_argument("--most-rows", type=int, default=20_000)
    asked = parser.parse_args()
    if asked.folder is not None:
        folder, names = asked.folder, asked.names
        done = set(pd.read_csv(RESULTS)["set"]) if RESULTS.exists() else set()
        for path in sorted(folder.glob("*.parquet"), key=lambda each: each.stat().st_size):
            if path.stem in done or (names and path.stem not in names):
                continue
            results = pd.DataFrame(results_of(path, asked.training_rows, asked.most_rows))
            print(results.to_string(index=False), flush=True)
            results.to_csv(RESULTS, mode="a", header=not RESULTS.exists(), index=False)
    print_table()


if __name__ == "__main__":
    main()
