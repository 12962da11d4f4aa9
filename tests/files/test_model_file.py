from __future__ import annotations

import io
import json
import os
import pickle
import stat
import subprocess
import sys
import zipfile
from hashlib import sha256

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted
from xgboost import XGBClassifier

from aucross import AUCGate, AUCross, PlugIn, PlugInAUC, SCross
from aucross.core import (
    AUCTarget,
    CenteredBands,
    ExpectedCost,
    GroupBands,
    KolmogorovSmirnov,
    OptimalBands,
    PartialAUC,
    RankedScores,
    ScoreRounding,
    ThresholdBands,
)
from aucross.core.cautious import Caution
from aucross.core.nested import NestedBands
from aucross.datasets import make_credit
from aucross.files.archive import _sealed
from aucross.files.description import Description
from aucross.files.fingerprints import model_fingerprint, rule_fingerprint
from aucross.files.listed import listed_classes
from aucross.files.model_file import load, read_header, read_metadata, save
from aucross.files.rebuilder import Rebuilder
from aucross.files.signing import KEY_FILE, signing_key

X, y = make_classification(700, n_features=8, n_informative=5, flip_y=0.2, random_state=0)
three_classes = np.digitize(X[:, 0] + y, [-0.5, 1.0])
region = np.where(X[:, 1] > 0, "north", "south")
logistic = LogisticRegression()
shallow = HistGradientBoostingClassifier(max_iter=5, random_state=0)


def round_trip(clf, tmp_path, **options):
    save(clf, tmp_path / "clf.aucross")
    return load(tmp_path / "clf.aucross", **options)


def assert_same_answers(first, second, rows, band_groups=None):
    response = "predict_proba" if hasattr(first, "predict_proba") else "decision_function"
    assert type(first) is type(second)
    np.testing.assert_array_equal(getattr(first, response)(rows), getattr(second, response)(rows))
    np.testing.assert_array_equal(first.predict(rows), second.predict(rows))
    for coverage in (None, 1.0, 0.85, 0.5, 0.1):
        np.testing.assert_array_equal(
            first.select(rows, coverage, band_groups), second.select(rows, coverage, band_groups)
        )
        for group in [None] if band_groups is None else dict.fromkeys(band_groups):
            assert first.band(coverage, group) == second.band(coverage, group)
    for name in vars(first.held_out_):
        np.testing.assert_array_equal(getattr(first.held_out_, name), getattr(second.held_out_, name))


METHODS = {
    "AUCross": AUCross(logistic, coverage=0.8, random_state=0),
    "AUCross, published": AUCross(logistic, placement="centered", cv=StratifiedKFold(3), random_state=0),
    "PlugInAUC": PlugInAUC(shallow, holdout_size=0.4, random_state=0),
    "SCross": SCross(LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1), random_state=0),
    "PlugIn": PlugIn(XGBClassifier(n_estimators=5, n_jobs=1), holdout_size=0.4, random_state=0),
    "AUCGate": AUCGate(logistic, shallow, random_state=0),
    "decision values": AUCross(LinearSVC(), random_state=np.random.RandomState(0)),
    "forest": AUCross(RandomForestClassifier(5, max_depth=3, random_state=0), random_state=0),
    "calibrated": AUCross(CalibratedClassifierCV(LinearSVC(), cv=2), random_state=0),
    "search": PlugInAUC(GridSearchCV(logistic, {"C": [0.1, 1]}, cv=2, scoring="roc_auc"), random_state=0),
    "neighbours": PlugInAUC(KNeighborsClassifier(15), random_state=0),
    "frozen": AUCross(FrozenEstimator(LogisticRegression().fit(X[:300], y[:300])), random_state=0),
    "Kolmogorov-Smirnov": AUCross(logistic, target=KolmogorovSmirnov(), random_state=0),
    "partial AUC": AUCross(logistic, target=PartialAUC(0.3), random_state=0),
    "average precision": AUCross(logistic, target="average_precision", random_state=0),
    "cost": AUCross(logistic, target=ExpectedCost(review=(0.1, 0.2), false_negative=5), random_state=0),
    "list of splits": AUCross(logistic, cv=list(StratifiedKFold(3).split(X, y)), random_state=0),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.few_scores
def test_a_loaded_classifier_answers_and_selects_as_before(name, tmp_path):
    clf = METHODS[name].fit(X, y)
    assert_same_answers(clf, round_trip(clf, tmp_path), X)


@pytest.mark.parametrize("name", ["AUCross", "PlugInAUC", "SCross", "PlugIn", "AUCGate"])
@pytest.mark.few_scores
def test_a_loaded_classifier_gives_the_same_coverage_for_an_auc(name, tmp_path):
    n_rows = 150 if name == "AUCGate" else 300  # a hundred placements are searched
    clf = METHODS[name].fit(X[:n_rows], y[:n_rows])
    assert clf.coverage_for(auc=0.9) == round_trip(clf, tmp_path).coverage_for(auc=0.9)


@pytest.mark.parametrize("clf", [AUCross(shallow, random_state=0), SCross(logistic, random_state=0)])
def test_more_than_two_classes_come_back(clf, tmp_path):
    clf.fit(X[:250], three_classes[:250])
    assert_same_answers(clf, round_trip(clf, tmp_path), X)


@pytest.mark.parametrize(
    "groups",
    [
        region,
        region.astype(object),
        X[:, 1] > 0,
        (X[:, 1] > 0).astype(int),
        np.where(X[:, 1] > 0, 0.1, 0.2),
        np.array([1, "1"], dtype=object)[(X[:, 1] > 0).astype(int)],
        np.where(X[:, 1] > 0, np.datetime64("2024-01-01"), np.datetime64("2025-01-01")),
        pd.Series(pd.cut(X[:, 1], [-np.inf, 0, np.inf])),
    ],
    ids=["text", "objects", "booleans", "integers", "floats", "1 and '1'", "dates", "intervals"],
)
def test_groups_keep_their_bands_whatever_type_names_them(groups, tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y, band_groups=groups)
    assert len(clf.band_rule_.rules) == 2
    loaded = round_trip(clf, tmp_path)
    assert list(loaded.band_rule_.rules) == list(clf.band_rule_.rules)
    assert_same_answers(clf, loaded, X, np.asarray(groups).tolist())


def test_the_groups_of_a_gate_come_back(tmp_path):
    clf = AUCGate(logistic, shallow, cv=3, random_state=0).fit(X, y, band_groups=region)
    loaded = round_trip(clf, tmp_path)
    for coverage in (0.9, 0.5):
        np.testing.assert_array_equal(clf.select(X, coverage, region), loaded.select(X, coverage, region))


@pytest.mark.parametrize("name", ["AUCross", "AUCross, published", "SCross", "AUCGate", "Kolmogorov-Smirnov"])
@pytest.mark.filterwarnings("ignore:label_shift")
@pytest.mark.parametrize("label_shift", [False, True])
def test_a_recalibrated_copy_comes_back(name, label_shift, tmp_path):
    clf = METHODS[name].fit(X, y).recalibrate(X[X[:, 0] > 0], label_shift=label_shift)
    assert_same_answers(clf, round_trip(clf, tmp_path), X)


@pytest.mark.parametrize("parameters", [{"coverage_confidence": 0.9}, {"nested": True}], ids=str)
def test_bands_that_are_promised_nested_or_not_corrected_come_back(parameters, tmp_path):
    clf = AUCross(logistic, random_state=0, **parameters).fit(X, y)
    loaded = round_trip(clf, tmp_path)
    assert loaded.get_params().items() >= parameters.items()
    assert_same_answers(clf, loaded, X)


def test_a_capacity_takes_the_same_rows_after_loading(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    np.testing.assert_array_equal(round_trip(clf, tmp_path).select(X, capacity=50), clf.select(X, capacity=50))


def test_requests_for_metadata_come_back_and_stay_with_their_owners(tmp_path):
    X, y = make_classification(400, flip_y=0.2, random_state=0)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        model = make_pipeline(scaler, LogisticRegression().set_fit_request(sample_weight=True))
        clf = AUCross(model, cv=3, random_state=0).fit(X, y, sample_weight=weight)
        save(clf, tmp_path / "clf.aucross")
        assert clf.estimator_[0].get_metadata_routing().owner is not None
        loaded = load(tmp_path / "clf.aucross")
        assert loaded.estimator[1].get_metadata_routing().fit.requests == {"sample_weight": True}
        again = loaded.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert model_fingerprint(load(tmp_path / "clf.aucross")) == model_fingerprint(clf)
    assert vars(scaler)["_metadata_request"].owner is scaler


def test_text_labels_and_weights_come_back(tmp_path):
    labels = np.where(y == 1, "bad", "good").astype(object)
    weight = np.linspace(0.5, 2, len(y))
    clf = AUCross(logistic, random_state=0).fit(X, labels, sample_weight=weight)
    loaded = round_trip(clf, tmp_path)
    assert loaded.classes_.tolist() == ["bad", "good"]
    assert_same_answers(clf, loaded, X)


class TestFrames:
    frame, target = make_credit(600, return_X_y=True)
    frame = frame.drop(columns="issue_date")

    @pytest.mark.parametrize(
        "model",
        [
            make_pipeline(
                ColumnTransformer(
                    [
                        (
                            "numbers",
                            make_pipeline(SimpleImputer(), StandardScaler()),
                            make_column_selector(dtype_include="number"),
                        ),
                        (
                            "categories",
                            OneHotEncoder(handle_unknown="ignore"),
                            make_column_selector(dtype_include="category"),
                        ),
                    ]
                ),
                LogisticRegression(max_iter=500),
            ),
            HistGradientBoostingClassifier(max_iter=5, random_state=0),
            LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1),
            XGBClassifier(n_estimators=5, n_jobs=1, enable_categorical=True),
        ],
        ids=["pipeline", "HistGradientBoosting", "LightGBM", "XGBoost"],
    )
    def test_models_on_frames_with_categories_come_back(self, model, tmp_path):
        clf = AUCross(model, cv=2, random_state=0).fit(self.frame, self.target)
        loaded = round_trip(clf, tmp_path)
        assert_same_answers(clf, loaded, self.frame)
        assert loaded.feature_names_in_.tolist() == self.frame.columns.tolist()

    def test_another_process_gives_the_same_decisions(self, tmp_path):
        clf = AUCross(LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1), cv=2, random_state=0)
        clf.fit(self.frame, self.target)
        save(clf, tmp_path / "clf.aucross")
        code = f"""
from aucross.datasets import make_credit
from aucross.files.model_file import load
frame, _ = make_credit(600, return_X_y=True)
clf = load({str(tmp_path / "clf.aucross")!r})
print(*clf.select(frame.drop(columns="issue_date"), 0.7).astype(int).tolist(), sep="")
"""
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        assert run.stdout.strip() == "".join(str(int(chosen)) for chosen in clf.select(self.frame, 0.7))


# ---- the description of our own classes ----


def rank(seed):
    rng = np.random.default_rng(seed)
    score = rng.random(200)
    return RankedScores.from_labels(rng.random(200) < score, score)


RULES = {
    "optimal": OptimalBands(rank(0).isotonic(), AUCTarget("any")),
    "centered": CenteredBands(rank(0), 90.5),
    "threshold": ThresholdBands(rank(0), (rank(1), rank(2))),
    "target": OptimalBands(rank(0), ExpectedCost(review=0.2)),
    "groups": GroupBands({("a", 1): OptimalBands(rank(0)), None: OptimalBands(rank(1))}),
    "promised": OptimalBands(rank(0), coverage_map=Caution(200, 0.9)),
    "nested": NestedBands(rank(0), 0.8),
    "rounded": OptimalBands(rank(0), rounding=ScoreRounding(20)),
}


def rebuilt(entries, arrays, **trusted):
    """Send a description through the text of a file, check it and build it."""
    entries = json.loads(json.dumps(entries, allow_nan=False))
    arrays = [bytearray(array) for array in arrays]
    rebuilder = Rebuilder(entries, arrays, 2**26)
    rebuilder.check_nodes(entries[-1]["@object"].rpartition(".")[2])
    return rebuilder.build(trusted)


def described(value):
    description = Description()
    description.node(value)
    return description


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_rebuilt_from_its_fields(name):
    rule = RULES[name]
    written = described(rule)
    again = rebuilt(written.entries, written.arrays)
    rules = zip(rule.rules.values(), again.rules.values(), strict=True) if name == "groups" else [(rule, again)]
    for before, after in rules:
        assert [after.band(coverage) for coverage in (1.0, 0.9, 0.5)] == [
            before.band(coverage) for coverage in (1.0, 0.9, 0.5)
        ]


def test_what_an_object_has_cached_is_not_stored():
    clf = AUCGate(logistic, shallow, cv=3, random_state=0).fit(X, y)
    before = described(clf.band_rule_).entries
    clf.select(X, 0.7)
    assert "InfluenceBands" in json.dumps(before)
    assert described(clf.band_rule_).entries == before


def test_a_field_that_the_file_does_not_know_takes_its_default():
    written = described(OptimalBands(rank(0)))
    del written.entries[-1]["state"]["target"]
    assert rebuilt(written.entries, written.arrays).target == AUCTarget()


def test_a_field_that_this_version_does_not_know_is_an_error_that_names_it():
    written = described(OptimalBands(rank(0)))
    written.entries[-1]["state"]["curvature"] = 2
    with pytest.raises(ValueError, match=r"OptimalBands has no fields \['curvature'\]: .* newer aucross; update"):
        rebuilt(written.entries, written.arrays)


def test_a_parameter_that_the_file_does_not_know_takes_its_default(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    del clf.nested, clf.estimator_.tol  # as if of an earlier version
    loaded = round_trip(clf, tmp_path)
    assert (loaded.nested, loaded.estimator_.tol) == (False, 1e-4)


def test_every_listed_class_is_found():
    for library in ("catboost", "torch"):
        pytest.importorskip(library, reason='needs `pip install "aucross[test]"`')
    for name, listed in listed_classes().items():
        assert isinstance(listed.cls, type), name
    assert listed_classes()["aucross.AUCross"].cls is AUCross


def test_a_frozen_model_is_stored_once_and_stays_one_object(tmp_path):
    loaded = round_trip(METHODS["frozen"].fit(X, y), tmp_path)
    assert loaded.estimator is loaded.estimator_


def test_many_rows_with_text_groups_take_little_space(tmp_path):
    rows = np.tile(np.arange(len(y)), 30)
    groups = region.astype(object)[rows]
    clf = AUCross(logistic, cv=2, random_state=0).fit(X[rows], y[rows], band_groups=groups)
    save(clf, tmp_path / "clf.aucross")
    assert os.path.getsize(tmp_path / "clf.aucross") < 40 * len(rows)


# ---- damage ----


@pytest.fixture
def saved(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    save(clf, tmp_path / "clf.aucross", metadata={"target": "default"})
    return tmp_path / "clf.aucross"


def rewrite(path, change):
    """Change the members of a saved file, each by its name."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def change_header(path, **changes):
    rewrite(path, lambda members: {**members, "header.json": json.dumps(json.loads(members["header.json"]) | changes)})


def reseal(path, **changes):
    """Change the header as somebody would who means harm: the checksum fits."""
    change_header(path, **changes)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    change_header(path, checksum=sha256(_sealed(header)).hexdigest())


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("read", [load, read_header, read_metadata])
def test_a_truncated_file_is_an_error_that_names_the_file_and_the_remedy(saved, share, read):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match=r"clf\.aucross is not a whole file .* take it from a backup or save"):
        read(saved)


def test_a_changed_byte_anywhere_is_found(saved):
    content = saved.read_bytes()
    rng = np.random.default_rng(0)
    unnoticed = []
    for place in rng.choice(len(content), 60, replace=False).tolist():
        changed = bytearray(content)
        changed[place] ^= 0xFF
        saved.write_bytes(bytes(changed))
        try:
            loaded = load(saved)
        except (ValueError, TypeError):
            continue
        unnoticed.append(place)
        # Names, times and flags of the archive are no content.
        assert (loaded.select(X) == AUCross(logistic, random_state=0).fit(X, y).select(X)).all()
    assert len(unnoticed) < 10


@pytest.mark.parametrize("member", ["description.json", "arrays/6.npy", "header.json"])
def test_a_member_that_was_exchanged_is_an_error(saved, member):
    other = saved.with_name("other.aucross")
    save(AUCross(logistic, coverage=0.5, random_state=1).fit(X, y), other)
    with zipfile.ZipFile(other) as archive:
        content = archive.read(member)
    rewrite(saved, lambda members: {**members, member: content})
    with pytest.raises(ValueError, match="its checksum does not fit its content; it was cut off or changed"):
        load(saved)


def test_changed_metadata_are_found(saved):
    change_header(saved, metadata={"target": "other"})
    with pytest.raises(ValueError, match="its checksum does not fit"):
        read_metadata(saved)


def test_further_members_are_an_error(saved):
    rewrite(saved, lambda members: {**members, "more": b""})
    with pytest.raises(ValueError, match=r"it should hold header\.json, description\.json and numbered arrays"):
        load(saved)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", bytes(range(200, 250))])
def test_a_file_of_something_else_is_an_error(tmp_path, content):
    (tmp_path / "clf.aucross").write_bytes(content)
    with pytest.raises(ValueError, match=r"is not a whole file of aucross\.save"):
        load(tmp_path / "clf.aucross")


def _archive_of_another_program(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda path: path.write_bytes(pickle.dumps(GaussianNB())), "a pickle, which would run what it holds"),
        (lambda path: path.write_bytes(pickle.dumps(GaussianNB(), protocol=2)), "a pickle, which would run"),
        (lambda path: joblib.dump(GaussianNB(), path), "a pickle, which would run what it holds"),
        (lambda path: joblib.dump(GaussianNB(), path, compress=3), "a compressed file, as joblib writes pickles"),
        (lambda path: joblib.dump(GaussianNB(), path, compress=("gzip", 3)), "a compressed file, as joblib writes"),
        (lambda path: path.write_text("a,b\r\n1,2\r\n"), "a text file, and models are no text"),
        (lambda path: path.write_text("größe;alter\n" * 200), "a text file, and models are no text"),
        (_archive_of_another_program, "an archive of another program, without a header of aucross"),
    ],
)
@pytest.mark.parametrize("read", [load, read_header])
def test_a_file_of_another_kind_is_called_what_it_is(tmp_path, write, kind, read):
    write(tmp_path / "model.bin")
    with pytest.raises(ValueError, match=rf"model\.bin is no model file: it is {kind}.*(aucross\.save|name a file of)"):
        read(tmp_path / "model.bin")


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def test_a_file_of_a_newer_format_names_the_version_that_wrote_it_and_says_to_update(saved):
    change_header(saved, format_version=3, versions={"aucross": "7.1.0"})
    with pytest.raises(
        ValueError, match=r"has format version 3, written by aucross 7\.1\.0, and version 2 is .*: update aucross"
    ):
        load(saved)


def test_a_file_of_the_format_before_the_first_release_is_refused(saved):
    change_header(saved, format_version=1)
    with pytest.raises(ValueError, match=r"clf\.aucross is refused: it has format version 1, .*; save the classifier"):
        load(saved)


@pytest.mark.parametrize("version", [None, "1", 0])
def test_a_format_version_that_is_none_is_an_error(saved, version):
    change_header(saved, format_version=version)
    with pytest.raises(ValueError, match="its format version is"):
        load(saved)


def test_another_version_of_scikit_learn_gives_one_warning_that_names_both(tmp_path, monkeypatch):
    clf = AUCross(make_pipeline(StandardScaler(), logistic), random_state=0).fit(X, y)
    present = sklearn.__version__
    monkeypatch.setattr(sklearn, "__version__", "1.7.9")
    monkeypatch.setattr("sklearn.base.__version__", "1.7.9")
    save(clf, tmp_path / "clf.aucross")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=rf"saved with scikit-learn 1\.7\.9 and is loaded with {present}") as caught:
        loaded = load(tmp_path / "clf.aucross")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_same_answers(clf, loaded, X)


# ---- types ----

SCORECARD = """
import joblib
import numpy as np
from sklearn.linear_model import LogisticRegression
from aucross import AUCross

class Scorecard(LogisticRegression):
    pass

class Selective(AUCross):
    pass

def double(values):
    return 2 * np.asarray(values)
"""


@pytest.fixture
def scorecard(tmp_path, monkeypatch):
    (tmp_path / "own_scorecard.py").write_text(SCORECARD)
    monkeypatch.syspath_prepend(tmp_path)
    import own_scorecard  # noqa: PLC0415

    yield own_scorecard
    del sys.modules["own_scorecard"]


def test_a_model_of_ones_own_is_refused_by_its_name_before_its_module_is_imported(scorecard, tmp_path):
    save(AUCross(scorecard.Scorecard(), random_state=0).fit(X, y), tmp_path / "clf.aucross")
    del sys.modules["own_scorecard"]
    with pytest.raises(
        TypeError, match=r"types that are not listed: \['own_scorecard\.Scorecard'\]; if you .* trusted"
    ):
        load(tmp_path / "clf.aucross")
    assert "own_scorecard" not in sys.modules
    sys.modules["own_scorecard"] = scorecard


@pytest.mark.parametrize("by_name", [True, False])
def test_a_model_of_ones_own_is_loaded_if_it_is_trusted(scorecard, tmp_path, by_name):
    clf = AUCross(scorecard.Scorecard(), random_state=0).fit(X, y)
    trusted = ["own_scorecard.Scorecard"] if by_name else [scorecard.Scorecard]
    assert_same_answers(clf, round_trip(clf, tmp_path, trusted=trusted), X)


def test_saving_says_which_types_have_to_be_trusted(scorecard, tmp_path, caplog):
    save(AUCross(scorecard.Scorecard(), random_state=0).fit(X, y), tmp_path / "clf.aucross")
    assert "load(path, trusted=['own_scorecard.Scorecard'])" in caplog.text
    assert read_header(tmp_path / "clf.aucross").unlisted_types == ["own_scorecard.Scorecard"]


def test_a_selective_classifier_of_ones_own_needs_trust_as_well(scorecard, tmp_path):
    clf = scorecard.Selective(logistic, random_state=0).fit(X, y)
    save(clf, tmp_path / "clf.aucross")
    with pytest.raises(TypeError, match=r"own_scorecard\.Selective"):
        load(tmp_path / "clf.aucross")
    assert_same_answers(clf, load(tmp_path / "clf.aucross", trusted=[scorecard.Selective]), X)


def test_a_function_of_ones_own_needs_trust(scorecard, tmp_path):
    clf = AUCross(make_pipeline(FunctionTransformer(scorecard.double), logistic), random_state=0).fit(X, y)
    save(clf, tmp_path / "clf.aucross")
    with pytest.raises(TypeError, match=r"own_scorecard\.double"):
        load(tmp_path / "clf.aucross")
    assert_same_answers(clf, load(tmp_path / "clf.aucross", trusted=["own_scorecard.double"]), X)


@pytest.mark.parametrize("trusted", [True, "own.Model", 3])
def test_trusted_must_be_a_list(saved, trusted):
    with pytest.raises(TypeError, match="trusted must be a list of types or of their dotted names"):
        load(saved, trusted=trusted)


def test_no_member_of_a_file_is_a_pickle(saved):
    import pickle  # noqa: PLC0415

    with zipfile.ZipFile(saved) as archive:
        contents = [archive.read(name) for name in archive.namelist()]
    for content in contents:
        with pytest.raises(Exception):  # noqa: B017, PT011 - whatever pickle says of other files
            pickle.loads(content)


def test_every_array_of_a_file_is_a_plain_npy_file(saved):
    with zipfile.ZipFile(saved) as archive:
        names = [name for name in archive.namelist() if name.endswith(".npy")]
        arrays = [np.load(io.BytesIO(archive.read(name)), allow_pickle=False) for name in names]
    assert any(np.array_equal(array, load(saved).held_out_.responses) for array in arrays)


# ---- signatures ----

KEY = b"a secret of the credit department"


def test_a_signed_file_is_loaded_with_its_key_and_without_one(tmp_path):
    clf, path = AUCross(logistic, random_state=0).fit(X, y), tmp_path / "clf.aucross"
    save(clf, path, key=KEY, metadata={"target": "default"})
    for key in (KEY, None):
        assert_same_answers(clf, load(path, key=key), X)
        assert read_metadata(path, key=key) == {"target": "default"}
    assert len(read_header(path, key=KEY).signature) == 64


@pytest.mark.parametrize("read", [load, read_header, read_metadata])
def test_a_file_that_the_key_did_not_sign_is_refused(saved, read):
    with pytest.raises(ValueError, match=r"clf\.aucross is refused: it is not signed, and a key is in use; take"):
        read(saved, key=KEY)
    save(load(saved), saved, key=b"a secret of somebody else")
    with pytest.raises(ValueError, match=r"clf\.aucross is refused: its signature is not by the key in use; take"):
        read(saved, key=KEY)
    for signature in ("", "ä", None, 3, read_header(saved).signature[:-1]):
        reseal(saved, signature=signature)
        with pytest.raises(ValueError, match="is refused: it"):
            read(saved, key=KEY)


def test_whatever_is_changed_in_a_signed_file_is_found_though_the_checksums_fit(tmp_path):
    clf, path = AUCross(logistic, random_state=0).fit(X, y), tmp_path / "clf.aucross"
    save(clf, path, key=KEY)
    signed = path.read_bytes()
    other = tmp_path / "other.aucross"
    save(AUCross(logistic, coverage=0.5, random_state=0).fit(X, y), other)
    with zipfile.ZipFile(other) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    swapped = json.loads(members["header.json"]) | {"signature": read_header(path).signature}
    rewrite(path, lambda _: {**members, "header.json": json.dumps(swapped)})
    reseal(path)
    assert load(path).coverage == 0.5  # whole by its checksums
    with pytest.raises(ValueError, match="its signature is not by the key in use"):
        load(path, key=KEY)
    path.write_bytes(signed)
    reseal(path, metadata={"approved": True})
    assert read_metadata(path) == {"approved": True}
    with pytest.raises(ValueError, match="its signature is not by the key in use"):
        read_metadata(path, key=KEY)


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("a secret of the credit department", TypeError, "key must be bytes, got str; pass"),
        (b"short", ValueError, "key must have at least 16 bytes, got 5; make one"),
    ],
)
def test_a_key_that_is_none_is_refused_by_saving_and_loading(saved, key, error, message):
    before = saved.read_bytes()
    for action in (lambda: save(load(saved), saved, key=key), lambda: load(saved, key=key)):
        with pytest.raises(error, match=message):
            action()
    assert saved.read_bytes() == before


# ---- what cannot be saved ----


def test_a_classifier_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(AUCross(logistic), tmp_path / "clf.aucross")
    assert list(tmp_path.iterdir()) == []


def test_another_estimator_is_refused_with_a_remedy(tmp_path):
    with pytest.raises(TypeError, match=r"clf must be a SelectiveClassifier .* got Pipeline; .* AUCross\(pipeline\)"):
        save(make_pipeline(logistic).fit(X, y), tmp_path / "clf.aucross")


def test_an_iterator_of_splits_is_refused_by_its_place(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y).set_params(cv=iter([1]))
    with pytest.raises(TypeError, match=r"AUCross\.cv cannot be saved: list_iterator .* set_params\(cv=5\)"):
        save(clf, tmp_path / "clf.aucross")


def test_an_object_without_a_stored_form_is_refused_by_its_place(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    clf.view_ = memoryview(b"")
    with pytest.raises(TypeError, match=r"AUCross\.view_ cannot be saved: memoryview has no stored form: "):
        save(clf, tmp_path / "clf.aucross")


def test_a_lambda_is_refused_when_saving(tmp_path):
    clf = AUCross(make_pipeline(FunctionTransformer(lambda rows: rows), logistic), random_state=0).fit(X, y)
    with pytest.raises(
        TypeError, match=r"FunctionTransformer\.func cannot be saved: .*<lambda> has no name .*; define .* with def"
    ):
        save(clf, tmp_path / "clf.aucross")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("metadata", [{"x": {1, 2}}, {"x": float("nan")}, {(1, 2): 3}])
def test_metadata_that_json_cannot_hold_are_refused(tmp_path, metadata):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="metadata must hold only what JSON can hold"):
        save(clf, tmp_path / "clf.aucross", metadata=metadata)


def test_metadata_must_be_a_mapping(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="metadata must be a mapping, got list"):
        save(clf, tmp_path / "clf.aucross", metadata=[1])


# ---- the file ----


def test_metadata_come_back(tmp_path):
    clf = AUCross(logistic, random_state=0).fit(X, y)
    metadata = {"columns": ["age", "Größe"], "target": "default", "rows": {"train": 700}, "note": None}
    save(clf, tmp_path / "clf.aucross", metadata=metadata)
    assert read_metadata(tmp_path / "clf.aucross") == metadata


def test_the_header_tells_class_versions_and_fingerprints(saved):
    header = read_header(saved)
    clf = load(saved)
    assert (header.format_version, header.class_name, header.unlisted_types) == (2, "AUCross", [])
    assert header.versions["sklearn"] == sklearn.__version__
    assert {"python", "aucross", "numpy", "scipy", "sklearn"} == header.versions.keys()
    assert header.model_fingerprint == model_fingerprint(clf)
    assert header.rule_fingerprint == rule_fingerprint(clf)


def test_the_versions_of_boosters_are_named(tmp_path):
    save(METHODS["SCross"].fit(X, y), tmp_path / "clf.aucross")
    assert "lightgbm" in read_header(tmp_path / "clf.aucross").versions


def test_saving_replaces_a_file_and_leaves_nothing_else(saved):
    save(AUCross(logistic, coverage=0.5, random_state=0).fit(X, y), saved)
    assert load(saved).coverage == 0.5
    assert [path.name for path in saved.parent.iterdir()] == ["clf.aucross"]


def test_a_save_that_fails_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        save(AUCross(logistic, coverage=0.5, random_state=0).fit(X, y), saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == ["clf.aucross"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
def test_the_file_has_the_permissions_of_other_new_files(saved):
    (saved.parent / "plain").touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE((saved.parent / "plain").stat().st_mode)


def test_a_path_may_be_text(tmp_path):
    save(AUCross(logistic, random_state=0).fit(X, y), str(tmp_path / "clf.aucross"))
    check_is_fitted(load(str(tmp_path / "clf.aucross")), "band_rule_")


def test_a_loaded_classifier_can_be_saved_and_fitted_again(saved):
    loaded = load(saved)
    save(loaded, saved)
    assert load(saved).fit(X, y).band() == loaded.band()


# ---- fingerprints ----


def test_equal_fits_have_equal_fingerprints_and_others_do_not():
    first, again, other = (AUCross(logistic, random_state=seed).fit(X, y) for seed in (0, 0, 1))
    assert model_fingerprint(first) == model_fingerprint(again) == model_fingerprint(other)  # refitted on all rows
    assert rule_fingerprint(first) == rule_fingerprint(again)
    assert rule_fingerprint(first) != rule_fingerprint(other)
    assert model_fingerprint(AUCross(LogisticRegression(C=0.1), random_state=0).fit(X, y)) != model_fingerprint(first)


@pytest.mark.parametrize("name", ["SCross", "PlugIn", "AUCGate", "forest", "PlugInAUC"])
def test_fingerprints_survive_use_and_storage(name, tmp_path):
    clf = METHODS[name].fit(X, y)
    before = model_fingerprint(clf), rule_fingerprint(clf)
    clf.select(X, 0.6)
    assert (model_fingerprint(clf), rule_fingerprint(clf)) == before
    loaded = round_trip(clf, tmp_path)
    assert (model_fingerprint(loaded), rule_fingerprint(loaded)) == before


def test_a_recalibrated_copy_has_the_same_model_and_another_rule(saved):
    loaded, header = load(saved), read_header(saved)
    again = loaded.recalibrate(X[:300])
    assert model_fingerprint(again) == header.model_fingerprint
    assert rule_fingerprint(again) != header.rule_fingerprint


def test_a_model_that_is_fitted_in_place_has_another_fingerprint(saved):
    loaded = load(saved)
    loaded.estimator_.set_params(C=0.01).fit(X[:300], y[:300])
    assert model_fingerprint(loaded) != read_header(saved).model_fingerprint


def test_after_an_update_of_a_library_a_loaded_model_keeps_the_fingerprint_of_its_file(saved, monkeypatch):
    kept = read_header(saved).model_fingerprint
    plain = Description._object

    def written_by_another_version(self, value):
        entry = plain(self, value)
        if isinstance(value, LogisticRegression):
            entry["state"]["new_in_this_version"] = 1
        return entry

    monkeypatch.setattr(Description, "_object", written_by_another_version)
    monkeypatch.setattr(np, "__version__", "99.0")
    loaded = load(saved)
    assert model_fingerprint(loaded) == kept
    loaded.estimator_.fit(X[:300], y[:300])
    assert model_fingerprint(loaded) != kept


@pytest.mark.parametrize("name", ["model_fingerprint", "rule_fingerprint"])
def test_a_file_that_names_the_fingerprint_of_another_classifier_is_refused(saved, name):
    reseal(saved, **{name: "0" * 64})
    with pytest.raises(ValueError, match=r"clf\.aucross is refused: its header names the fingerprints of another"):
        load(saved)


def test_saving_and_loading_take_no_optional_library(saved):
    code = f"""
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "pyarrow", "lightgbm", "torch", "skops"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
from aucross import load, save
save(load({str(saved)!r}), {str(saved)!r})
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    save(METHODS["SCross"].fit(X, y), tmp_path / "clf.aucross")
    for name in [name for name in sys.modules if name.partition(".")[0] == "lightgbm"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ModuleNotFoundError, match=r"clf\.aucross needs lightgbm.*, which is not installed here"):
        load(tmp_path / "clf.aucross")


def test_a_key_file_needs_sixteen_bytes(tmp_path, monkeypatch):
    path = tmp_path / "key"
    monkeypatch.setenv(KEY_FILE, str(path))
    path.write_bytes(b"k" * 15 + b"\n")
    with pytest.raises(ValueError, match=f"{KEY_FILE}: .* must hold a key of at least 16 bytes, got 15"):
        signing_key()
    path.write_bytes(b"k" * 16 + b"\n")
    assert signing_key() == b"k" * 16
