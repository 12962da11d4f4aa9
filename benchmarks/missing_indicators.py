"""What the logistic base of the command line gains by seeing which values are missing.

    AUCROSS_DATA=folder python -m benchmarks.missing_indicators

Prints the AUC of five folds on the home equity loans (suite/hmeq.parquet of AUCROSS_DATA), with and without the
indicators of missing numbers. In that table a missing debt-to-income ratio tells more than its value.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from aucross.cli.base_models import Features, make_model
from aucross.cli.command_options import Base
from benchmarks.paper_data import FOLDER


def auc_of_folds(path: Path, *, with_indicators: bool) -> float:
    loans = pd.read_parquet(path)
    X, y = loans.drop(columns="target"), loans["target"]
    kinds = {name: "category" if X[name].dtype.kind not in "iuf" else "number" for name in X}
    X = X.astype({name: object for name, kind in kinds.items() if kind == "category"})
    model = make_model(Base.LOGISTIC, Features.of(kinds, X), seed=0)
    model.set_params(encode__numbers__impute__add_indicator=with_indicators)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return roc_auc_score(y, cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1])


def main() -> None:
    path = FOLDER / "suite" / "hmeq.parquet"
    if not path.exists():
        raise SystemExit(f"there is no {path}: set AUCROSS_DATA to the folder with the data sets")
    for with_indicators in (False, True):
        words = "with" if with_indicators else "without"
        auc = auc_of_folds(path, with_indicators=with_indicators)
        print(f"{path.stem}, logistic, {words} indicators of missing numbers: AUC {auc:.3f}")


if __name__ == "__main__":
    main()
