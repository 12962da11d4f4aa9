"""Save, log and load selective classifiers with MLflow."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import packages_distributions, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlflow
from mlflow.models import Model, ModelSignature, infer_signature
from mlflow.types import ColSpec, DataType, Schema

from aucross.estimators.base import SelectiveClassifier, check_classifier
from aucross.files import FileHeader, load, model_fingerprint, read_header, rule_fingerprint, save
from aucross.files.signing import signing_key, trusted_types_in_use
from aucross.mlflow.selective_model import OWN_COVERAGE, SelectiveModel, ServedColumns, values_of_fit
from aucross.system.libraries import import_library

FLAVOR_NAME = "aucross"

_FILE = "model.aucross"
_ROWS_OF_EXAMPLE = 5


def save_model(
    clf: SelectiveClassifier,
    path: str | Path,
    *,
    input_example: Any = None,
    band_group_column: str | None = None,
    signature: ModelSignature | None = None,
    pip_requirements: Sequence[str] | None = None,
    mlflow_model: Model | None = None,
    metadata: dict[str, Any] | None = None,
) -> None:
    """Write a fitted classifier to a folder as an MLflow model.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.
    path : path-like
        The folder, which must not exist.
    input_example : DataFrame or ndarray, optional
        Some rows in the form that the classifier takes. They give the signature, and the categories of columns, because
        MLflow does not store them; a few rows are kept as an example. Without rows the model has no signature. The
        signature lists numbers as optional doubles, since later rows may have decimals and missing values.
    band_group_column : str, optional
        Column with the group of each row, if the bands were fitted per group.
    signature : ModelSignature, optional
        Signature to use instead of the one made from `input_example`.
    pip_requirements : list of str, optional
        Requirements to use instead of the installed versions.
    mlflow_model : Model, optional
        Passed by MLflow when it logs a model; leave it out otherwise.
    metadata : dict, optional
        Facts that MLflow keeps beside the model.

    Notes
    -----
    The model is the file of :func:`~aucross.save`, without pickle. With a key in ``AUCROSS_KEY_FILE`` it is
    signed.
    """
    check_classifier(clf)
    has_groups = clf.held_out_.band_groups is not None
    if has_groups != (band_group_column is not None):
        bands = "per group; pass the name of the column" if has_groups else "of all rows; leave it out"
        raise ValueError(
            f"band_group_column must name the column of groups if the bands were fitted per group, and only then, got "
            f"{band_group_column!r} for bands {bands}"
        )
    names = getattr(clf, "feature_names_in_", None)
    features = None if names is None else [str(name) for name in names]
    reader = ServedColumns.of_example(input_example, features, band_group_column)
    # Columns that were made categories of few rows: others of the fit would not be served.
    for name, values in values_of_fit(clf).items():
        known, _ = reader.categories.get(name, (values, False))
        if lacking := [value for value in values if value not in known]:
            raise ValueError(
                f"input_example must have the categories of the fit, got a column {name!r} that lacks {lacking[:5]}; "
                "take rows of the training frame, as in X_train.head(20)"
            )
    if signature is None and input_example is not None:
        signature = _signature(clf, reader, input_example)
    model = Model() if mlflow_model is None else mlflow_model
    with TemporaryDirectory() as folder:
        file = Path(folder) / _FILE
        save(clf, file, metadata=asdict(reader), key=signing_key())
        header = read_header(file)
        facts = ("class_name", "format_version", "model_fingerprint", "rule_fingerprint", "unlisted_types")
        told = {name: getattr(header, name) for name in facts}
        model.add_flavor(FLAVOR_NAME, **told, aucross_version=header.versions["aucross"])
        mlflow.pyfunc.save_model(
            str(path),
            loader_module="aucross.mlflow.selective_model",
            data_path=str(file),
            mlflow_model=model,
            signature=signature,
            input_example=None if input_example is None else reader.as_sent(input_example[:_ROWS_OF_EXAMPLE]),
            pip_requirements=_requirements(header) if pip_requirements is None else list(pip_requirements),
            metadata=metadata,
        )


def log_model(
    clf: SelectiveClassifier,
    name: str | None = None,
    *,
    input_example: Any = None,
    registered_model_name: str | None = None,
    tags: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Log a fitted classifier as a model of the current run.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.
    name : str, optional
        Name of the model in the run.
    input_example
        As in :func:`save_model`.
    registered_model_name : str, optional
        Register the model under this name.
    tags : dict, optional
        Tags of the model. The fingerprints of the model and of its rule are added; they link a recorded decision to
        the model that made it.
    **options : dict
        ``band_group_column``, ``signature``, ``pip_requirements`` and ``metadata`` of :func:`save_model`; ``params``,
        ``step``, ``model_type`` and the like of ``mlflow.models.Model.log``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        What MLflow knows of the model, with the ``model_uri`` to pass to :func:`load_model`.
    """
    check_classifier(clf)
    of_model = {"model_fingerprint": model_fingerprint(clf), "rule_fingerprint": rule_fingerprint(clf)}
    return Model.log(
        artifact_path=None,
        name=name,
        flavor=sys.modules[__name__],
        registered_model_name=registered_model_name,
        tags={**of_model, **(tags or {})},
        clf=clf,
        input_example=input_example,
        **options,
    )


def load_model(
    model_uri: str, *, dst_path: str | None = None, trusted: Iterable[str | type] = (), key: bytes | None = None
) -> Any:
    """Load a classifier that :func:`save_model` or :func:`log_model` wrote.

    Parameters
    ----------
    model_uri : str
        Location of the model: a folder, ``runs:/...``, ``models:/...``.
    dst_path : str, optional
        An existing folder to download to.
    trusted : iterable of str or type, default=()
        Further types that the file may hold, as in :func:`~aucross.load`; ``AUCROSS_TRUSTED_TYPES`` can name more.
    key : bytes, optional
        Load only a file that was signed with this key; by default the key in ``AUCROSS_KEY_FILE``.
    """
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path))
    flavors = Model.load(str(folder)).flavors
    if FLAVOR_NAME not in flavors:
        raise ValueError(
            f"{model_uri} must be a model of the flavor {FLAVOR_NAME}, got {sorted(flavors)}; log it with "
            "aucross.mlflow.log_model"
        )
    allowed = [*trusted_types_in_use(), *trusted]
    return load(folder / "data" / _FILE, trusted=allowed, key=signing_key() if key is None else key)


def trusted_types(clf: SelectiveClassifier) -> list[str]:
    """Return the types that skops must trust to load a classifier, for users of ``mlflow.sklearn``.

    Parameters
    ----------
    clf : SelectiveClassifier
        A classifier, fitted or not.

    Returns
    -------
    list of str
        Names of types, for ``mlflow.sklearn.log_model(clf, skops_trusted_types=trusted_types(clf))``.
    """
    skops = import_library("skops.io", purpose="trusted_types", extra="mlflow")
    return list(skops.get_untrusted_types(data=skops.dumps(clf)))


def _signature(clf: SelectiveClassifier, reader: ServedColumns, example: Any) -> ModelSignature:
    sent = reader.as_sent(example)
    answers = SelectiveModel(clf, reader).predict(sent)
    with warnings.catch_warnings():
        # Labels and groups of whole numbers stay what they are: none of them may be missing.
        warnings.filterwarnings("ignore", message=".*integer column", category=UserWarning)
        inferred = infer_signature(sent, answers, params={"coverage": OWN_COVERAGE})
    if inferred.inputs.has_input_names():
        # Few rows do not tell whether a number can be missing.
        columns = [ColSpec(c.type, c.name, c.required and c.type != DataType.double) for c in inferred.inputs]
        return ModelSignature(Schema(columns), inferred.outputs, inferred.params)
    return inferred


def _requirements(header: FileHeader) -> list[str]:
    """Return requirements with the versions that wrote the file, because MLflow would need minutes to find them."""
    distributions = packages_distributions()
    others = {name for name in header.versions if name not in ("python", "aucross")} | {"pandas"}
    found = sorted({distributions[name][0] for name in others if name in distributions})
    return [f"aucross[arrow]=={header.versions['aucross']}", *(f"{name}=={version(name)}" for name in found)]
