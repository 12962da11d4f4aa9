"""MLflow flavor for selective classifiers; needs the extra "mlflow"."""

# ruff: noqa: E402 - all that follows imports mlflow
from aucross.system.libraries import import_library as _import_library

_import_library("mlflow", purpose="aucross.mlflow", extra="mlflow")

from aucross.mlflow.flavor import FLAVOR_NAME, load_model, log_model, save_model, trusted_types

__all__ = ["FLAVOR_NAME", "load_model", "log_model", "save_model", "trusted_types"]
