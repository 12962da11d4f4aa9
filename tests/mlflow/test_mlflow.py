"""The flavor of MLflow, with a real MLflow on a local folder and its server on the loopback address."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import asdict
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import aucross.mlflow
from aucross import AUCross, PlugInAUC
from aucross.datasets import make_credit
from aucross.files import model_fingerprint, rule_fingerprint
from aucross.mlflow.selective_model import ServedColumns

# MLflow speaks of its own plans in warnings.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

COLUMNS = ["grade", "region", "income", "age", "open_accounts"]


@pytest.fixture(scope="module")
def credit():
    X, y = make_credit(1200, return_X_y=True)
    return X[COLUMNS], y


@pytest.fixture(scope="module")
def clf(credit):
    X, y = credit
    boosting = HistGradientBoostingClassifier(max_iter=10, random_state=0)
    return PlugInAUC(boosting, coverage=0.8, holdout_size=0.5, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A folder in which MLflow keeps runs, models and its registry."""
    folder = tmp_path_factory.mktemp("mlflow")
    uris = mlflow.get_tracking_uri(), mlflow.get_registry_uri()
    variables = dict(os.environ)
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    mlflow.set_tracking_uri(folder.as_uri())
    mlflow.set_registry_uri(folder.as_uri())
    mlflow.set_experiment("credit")
    yield folder
    for name, use in zip(uris, (mlflow.set_tracking_uri, mlflow.set_registry_uri), strict=True):
        use(name)
    os.environ.clear()
    os.environ.update(variables)


@pytest.fixture(scope="module")
def logged(store, clf, credit):
    with mlflow.start_run():
        return aucross.mlflow.log_model(
            clf, "selective", input_example=credit[0].head(20), registered_model_name="credit"
        )


def as_text(X):
    return X.astype({"grade": "str", "region": "str", "age": "float64", "open_accounts": "float64"})


def expected(clf, X, coverage=None):
    return pd.DataFrame(
        {
            "score": clf.predict_proba(X)[:, 1],
            "prediction": clf.predict(X),
            "decision": np.where(clf.select(X, coverage=coverage), "automatic", "review"),
        },
        index=X.index,
    )


def test_a_logged_model_is_loaded_as_the_classifier_it_was(logged, clf, credit):
    loaded = aucross.mlflow.load_model(logged.model_uri)
    assert np.array_equal(loaded.select(credit[0], coverage=0.7), clf.select(credit[0], coverage=0.7))
    assert model_fingerprint(loaded) == model_fingerprint(clf)


def test_the_registry_holds_the_model_under_its_name(logged, clf, credit):
    loaded = aucross.mlflow.load_model("models:/credit/1")
    assert np.array_equal(loaded.select(credit[0]), clf.select(credit[0]))


def test_the_fingerprints_lead_from_a_decision_to_the_model(logged, clf):
    found = mlflow.search_logged_models(
        filter_string=f"tags.model_fingerprint = '{model_fingerprint(clf)}'", output_format="list"
    )
    assert [model.model_uri for model in found] == [logged.model_uri]
    assert found[0].tags["rule_fingerprint"] == rule_fingerprint(clf)


@pytest.mark.parametrize("coverage", [None, 0.6])
def test_pyfunc_returns_score_prediction_and_decision_at_a_coverage(coverage, logged, clf, credit):
    X = credit[0][100:300]
    model = mlflow.pyfunc.load_model("models:/credit/1")
    answers = model.predict(as_text(X), params=None if coverage is None else {"coverage": coverage})
    pd.testing.assert_frame_equal(answers, expected(clf, X, coverage), check_dtype=False)


def test_pyfunc_refuses_a_category_that_the_fit_did_not_know(logged, credit):
    model = mlflow.pyfunc.load_model(logged.model_uri)
    with pytest.raises(ValueError, match=r"column 'grade' must hold the categories of the fit, got also \['Z'\]"):
        model.predict(as_text(credit[0].head(3)).assign(grade="Z"))


@pytest.mark.parametrize("labels", [("repaid", "default"), (0, 1), (False, True)])
def test_numbers_of_few_rows_are_double_and_optional_and_labels_keep_their_names(labels, credit, tmp_path):
    X, y = credit
    named = np.array(labels)[np.asarray(y)]
    boosting = HistGradientBoostingClassifier(max_iter=3, random_state=0)
    clf = PlugInAUC(boosting, holdout_size=0.5, random_state=0, pos_label=labels[1]).fit(X, named)
    aucross.mlflow.save_model(clf, tmp_path / "model", input_example=X.iloc[[0]])
    model = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    signature = model.metadata.signature
    found = {column.name: (column.type.name, column.required) for column in signature.inputs}
    assert found == {
        "grade": ("string", True),
        "region": ("string", True),
        **dict.fromkeys(("income", "age", "open_accounts"), ("double", False)),
    }
    kind = {str: "string", int: "long", bool: "boolean"}[type(labels[0])]
    assert {column.name: column.type.name for column in signature.outputs}["prediction"] == kind
    income = np.where(np.arange(40) > 0, np.nan, 50_000.5)
    answers = model.predict(as_text(X[:40]).assign(age=30.5, income=income))
    assert answers["prediction"].tolist() == clf.predict(X[:40].assign(age=30.5, income=income)).tolist()
    assert set(answers["prediction"]) <= set(labels)


def test_an_array_of_whole_numbers_takes_decimals_and_missing_values(credit, tmp_path):
    X = credit[0][["age", "open_accounts"]].to_numpy()
    clf = PlugInAUC(HistGradientBoostingClassifier(max_iter=3), holdout_size=0.5, random_state=0).fit(X, credit[1])
    aucross.mlflow.save_model(clf, tmp_path / "model", input_example=X[:2])
    answers = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(np.array([[30.5, np.nan]]))
    assert len(answers) == 1


def test_a_column_that_is_not_sent_is_named(logged, credit):
    model = mlflow.pyfunc.load_model(logged.model_uri)
    with pytest.raises(ValueError, match=r"rows must have the columns of the fit, and lack \['income'\]; send them"):
        model.predict(as_text(credit[0].head(3)).drop(columns="income"))


def encoding():
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")), ["grade"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), [1]),
        remainder=SimpleImputer(),
    )
    return make_pipeline(encode, LogisticRegression(max_iter=5000))


@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingClassifier(max_iter=3),
        encoding(),
        GridSearchCV(encoding(), {"logisticregression__C": [1.0]}, cv=2),
        CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=3), cv=2),
    ],
    ids=["trees", "pipeline", "search", "calibrated trees"],
)
@pytest.mark.parametrize("example", ["text", "none"])
def test_categories_that_the_fit_has_not_seen_are_refused_whatever_the_example(model, example, credit, tmp_path):
    X, y = credit
    rows = as_text(X)
    reads_text = isinstance(model, Pipeline | GridSearchCV)
    clf = PlugInAUC(model, holdout_size=0.5, random_state=0).fit(rows if reads_text else X, y)
    given = rows.head(3) if example == "text" else None
    aucross.mlflow.save_model(clf, tmp_path / "model", input_example=given)
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    assert len(served.predict(rows[:40])) == 40
    for column in ("grade", "region"):
        with pytest.raises(ValueError, match=rf"column '{column}' must hold the categories of the fit, got also .'Z'"):
            served.predict(rows.head(3).assign(**{column: "Z"}))


def test_an_example_that_lacks_categories_of_the_fit_is_refused(clf, credit, tmp_path):
    few = credit[0].head(2).astype({"grade": "str"}).astype({"grade": "category"})
    with pytest.raises(ValueError, match=r"must have the categories of the fit, got a column 'grade' that lacks \['A'"):
        aucross.mlflow.save_model(clf, tmp_path / "model", input_example=few)


def test_the_requirements_are_pinned_without_a_search(logged):
    lines = (Path(mlflow.artifacts.download_artifacts(logged.model_uri)) / "requirements.txt").read_text().splitlines()
    names = {line.partition("==")[0] for line in lines}
    assert {"aucross[arrow]", "scikit-learn", "numpy", "pandas", "mlflow"} <= names
    assert all("==" in line for line in lines)


def test_there_is_no_pickle_in_a_logged_model(logged):
    folder = Path(mlflow.artifacts.download_artifacts(logged.model_uri))
    files = {path.suffix for path in folder.rglob("*") if path.is_file()}
    assert files.isdisjoint({".pkl", ".pickle", ".joblib"})
    assert (folder / "data" / "model.aucross").exists()


def test_models_of_another_flavor_are_refused(store, tmp_path):
    X, y = make_classification(100, random_state=0)
    mlflow.sklearn.save_model(LogisticRegression().fit(X, y), tmp_path / "other", pip_requirements=["scikit-learn"])
    with pytest.raises(
        ValueError, match=r"must be a model of the flavor aucross, got \['python_function', 'sklearn'\]"
    ):
        aucross.mlflow.load_model(str(tmp_path / "other"))


def test_inner_fits_are_not_logged(store):
    X, y = make_classification(300, flip_y=0.3, random_state=0)
    mlflow.sklearn.autolog(silent=True)
    try:
        before = len(mlflow.search_runs(search_all_experiments=True)), len(models())
        AUCross(LogisticRegression(), random_state=0).fit(X, y)
        assert (len(mlflow.search_runs(search_all_experiments=True)), len(models())) == before
    finally:
        mlflow.sklearn.autolog(disable=True, silent=True)


def models():
    return mlflow.search_logged_models(output_format="list")


def test_autologging_goes_on_after_a_fit(store):
    X, y = make_classification(100, random_state=0)
    mlflow.sklearn.autolog(silent=True, log_models=False)
    try:
        AUCross(LogisticRegression(), random_state=0).fit(X, y)
        before = len(mlflow.search_runs(search_all_experiments=True))
        LogisticRegression().fit(X, y)
        assert len(mlflow.search_runs(search_all_experiments=True)) == before + 1
    finally:
        mlflow.sklearn.autolog(disable=True, silent=True)


def test_mlflows_own_flavor_takes_the_trusted_types(store, tmp_path):
    X, y = make_classification(300, flip_y=0.3, random_state=0)
    clf = AUCross(LogisticRegression(), coverage=0.8, cv=2, random_state=0).fit(X, y)
    types = aucross.mlflow.trusted_types(clf)
    assert any(name.endswith("RankedScores") for name in types)
    mlflow.sklearn.save_model(clf, tmp_path / "own", skops_trusted_types=types, pip_requirements=["scikit-learn"])
    loaded = mlflow.sklearn.load_model(str(tmp_path / "own"))
    assert np.array_equal(loaded.select(X), clf.select(X))


def test_a_model_whose_types_are_not_listed_is_loaded_where_the_environment_trusts_them(
    store, credit, tmp_path, monkeypatch
):
    X, y = credit[0][["income", "age"]].fillna(0).astype(float), credit[1]
    boosting = CatBoostClassifier(iterations=3, verbose=0, allow_writing_files=False)
    clf = PlugInAUC(boosting, holdout_size=0.5, random_state=0).fit(X, y)
    aucross.mlflow.save_model(clf, tmp_path / "cat", input_example=X.head())
    with pytest.raises(TypeError, match="CatBoostClassifier"):
        mlflow.pyfunc.load_model(str(tmp_path / "cat"))
    name = "catboost.core.CatBoostClassifier"
    assert aucross.mlflow.load_model(str(tmp_path / "cat"), trusted=[name]).coverage == 0.9
    monkeypatch.setenv("AUCROSS_TRUSTED_TYPES", name)
    answers = mlflow.pyfunc.load_model(str(tmp_path / "cat")).predict(X)
    assert (answers["decision"] == "automatic").to_numpy().tolist() == clf.select(X).tolist()


def test_models_are_signed_and_checked_with_the_key_of_the_environment(clf, credit, tmp_path, monkeypatch):
    aucross.mlflow.save_model(clf, tmp_path / "unsigned")
    (tmp_path / "key").write_bytes(b"0123456789abcdef\n")
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "key"))
    aucross.mlflow.save_model(clf, tmp_path / "signed")
    assert aucross.mlflow.load_model(str(tmp_path / "signed")).coverage == 0.8
    with pytest.raises(ValueError, match="it is not signed, and a key is in use"):
        aucross.mlflow.load_model(str(tmp_path / "unsigned"))
    with pytest.raises(ValueError, match="it is not signed, and a key is in use"):
        mlflow.pyfunc.load_model(str(tmp_path / "unsigned"))


def test_with_a_key_only_the_flavors_own_way_runs_nothing_that_lies_beside_the_model(clf, tmp_path, monkeypatch):
    """MLflow runs the loader that an unsigned file names before the key is asked for; the page says so."""
    (tmp_path / "key").write_bytes(b"0123456789abcdef\n")
    monkeypatch.setenv("AUCROSS_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = tmp_path / "model"
    aucross.mlflow.save_model(clf, folder)
    (folder / "code").mkdir()
    (folder / "code" / "loader_of_another.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\n")
    text = (folder / "MLmodel").read_text()
    loader = "loader_module: aucross.mlflow.selective_model"
    assert loader in text
    (folder / "MLmodel").write_text(text.replace(loader, "loader_module: loader_of_another\n    code: code"))
    aucross.mlflow.load_model(str(folder))
    assert not (tmp_path / "ran").exists()
    with pytest.raises(AttributeError):
        mlflow.pyfunc.load_model(str(folder))
    assert (tmp_path / "ran").exists()
    monkeypatch.delitem(sys.modules, "loader_of_another")


def test_bands_per_group_need_the_column_of_groups(credit, tmp_path):
    X, y = credit[0][["income", "age"]].fillna(0).astype(float), credit[1]
    groups = np.where(X["age"] > 40, "old", "young")
    clf = PlugInAUC(
        HistGradientBoostingClassifier(max_iter=5, random_state=0), coverage=0.8, holdout_size=0.5, random_state=0
    ).fit(X, y, band_groups=groups)
    with pytest.raises(ValueError, match="band_group_column must name the column of groups"):
        aucross.mlflow.save_model(clf, tmp_path / "none", input_example=X.head())
    rows = X.assign(branch=groups)
    aucross.mlflow.save_model(clf, tmp_path / "grouped", input_example=rows.head(), band_group_column="branch")
    answers = mlflow.pyfunc.load_model(str(tmp_path / "grouped")).predict(rows)
    assert (answers["decision"] == "automatic").tolist() == clf.select(X, band_groups=groups).tolist()


@pytest.mark.parametrize("keep", [aucross.mlflow.save_model, aucross.mlflow.log_model])
def test_models_that_do_not_select_are_refused_with_the_remedy(keep, credit, tmp_path):
    model = LogisticRegression().fit(credit[0][["income"]].fillna(0), credit[1])
    with pytest.raises(
        TypeError, match=r"clf must be a selective classifier .* got LogisticRegression; wrap the model"
    ):
        keep(model, str(tmp_path / "model"))


def test_more_than_two_classes_have_a_score_each(tmp_path):
    X, y = make_classification(400, n_classes=3, n_informative=4, random_state=0)
    clf = PlugInAUC(LogisticRegression(), coverage=0.8, holdout_size=0.5, random_state=0).fit(X, y)
    aucross.mlflow.save_model(clf, tmp_path / "three", input_example=X[:5])
    answers = mlflow.pyfunc.load_model(str(tmp_path / "three")).predict(X)
    assert list(answers.columns) == ["score 0", "score 1", "score 2", "prediction", "decision"]
    assert (answers["decision"] == "automatic").tolist() == clf.select(X).tolist()


def test_categories_of_whole_numbers_travel_with_missing_ones():
    rows = pd.DataFrame({"code": pd.Categorical([1, None, 3], categories=[1, 2, 3], ordered=True)})
    columns = ServedColumns(**json.loads(json.dumps(asdict(ServedColumns.of_example(rows, ["code"], None)))))
    sent = columns.as_sent(rows)
    assert sent["code"].dtype == "float64"
    pd.testing.assert_frame_equal(columns.read(sent)[0], rows)


# ---- the server ----


@pytest.fixture(scope="module")
def server(logged, store, tmp_path_factory):
    """`mlflow models serve` on the loopback address; the model is given as a folder."""
    folder = mlflow.artifacts.download_artifacts(logged.model_uri)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (tmp_path_factory.mktemp("server") / "log").open("w+")
    command = [sys.executable, "-m", "mlflow", "models", "serve", "-m", folder, "--env-manager", "local"]
    run = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port), "--workers", "1"],
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # so that it can be ended with what it starts, and nothing else
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"},
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if run.poll() is not None or answers(address):
                break
            time.sleep(0.5)
        log.seek(0)
        assert run.poll() is None, log.read()
        yield address
    finally:
        os.killpg(run.pid, signal.SIGTERM)
        run.wait(timeout=60)
        log.close()


def answers(address):
    try:
        return urllib.request.urlopen(f"{address}/ping", timeout=5).status == 200
    except OSError:
        return False


def test_the_server_of_mlflow_decides_over_the_loopback_address(server, clf, credit):
    X = credit[0][300:340]
    rows = X.astype({"grade": "str", "region": "str"})  # whole numbers stay whole
    body = {"dataframe_split": json.loads(rows.to_json(orient="split")), "params": {"coverage": 0.6}}
    request = urllib.request.Request(
        f"{server}/invocations", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as response:
        served = pd.DataFrame(json.load(response)["predictions"])
    wanted = expected(clf, X, 0.6).reset_index(drop=True)
    assert served["decision"].tolist() == wanted["decision"].tolist()
    assert served["prediction"].tolist() == wanted["prediction"].tolist()
    assert np.allclose(served["score"], wanted["score"])
