"""Short names of content: a fingerprint is the same for equal models and rules, and another for all others.

Saved files cannot be compared byte by byte, since skops numbers objects by their address. A fingerprint is taken of the
values instead: plain values as JSON, arrays element by element, models of other libraries as skops writes them, without
the addresses.
"""

from __future__ import annotations

import io
import json
from hashlib import sha256
from operator import is_
from typing import Any
from weakref import WeakKeyDictionary
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from aucross.deploy.object_tree import ObjectTree
from aucross.deploy.skops_bytes import skops_bytes
from aucross.estimators.base import SelectiveClassifier

# What scores a row: a recalibrated classifier has the same model and another rule.
_MODEL_PARTS = ("estimator_", "gate_", "reader_", "classes_", "response_method_")

# Fingerprints that loaded models had when they were saved, by the base model and with the other parts they describe.
_remembered: WeakKeyDictionary[Any, tuple[list[Any], str]] = WeakKeyDictionary()


def model_fingerprint(clf: SelectiveClassifier) -> str:
    """Fingerprint of what scores the rows: the fitted base model, and the gate where there is one.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.

    Returns
    -------
    str
        64 hexadecimal digits. A loaded classifier has the fingerprint that its file names. Fingerprints taken with
        different versions of scikit-learn or skops may differ for the same model.
    """
    check_is_fitted(clf, "band_rule_")
    model, *others = _model_parts(clf)
    known, fingerprint = _remembered.get(model, ([], ""))
    if fingerprint and len(known) == len(others) and all(map(is_, known, others)):
        return fingerprint
    return _fingerprint([model, *others])


def remember_model_fingerprint(clf: SelectiveClassifier, fingerprint: str) -> None:
    """Keep the fingerprint that a file names, so that decisions can be traced to it after libraries were updated."""
    model, *others = _model_parts(clf)
    _remembered[model] = (others, fingerprint)


def _model_parts(clf: SelectiveClassifier) -> list[Any]:
    return [getattr(clf, name) for name in _MODEL_PARTS if name in vars(clf)]


def rule_fingerprint(clf: SelectiveClassifier) -> str:
    """Fingerprint of the rule that places the bands, for all coverages.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.

    Returns
    -------
    str
        64 hexadecimal digits.
    """
    check_is_fitted(clf, "band_rule_")
    return _fingerprint(clf.band_rule_)


def _fingerprint(value: Any) -> str:
    tree = ObjectTree.of(value)
    leaves = [_of_leaf(leaf) for leaf in tree.leaves]
    return _of_json(_with_leaves(tree.root, leaves))


def _with_leaves(node: Any, leaves: list[str]) -> Any:
    """The tree with every leaf as its fingerprint: its number depends on which equal arrays are one object."""
    if isinstance(node, list):
        return [_with_leaves(item, leaves) for item in node]
    if isinstance(node, dict):
        if "@leaf" in node:
            return {"@leaf": leaves[node["@leaf"]]}
        return {key: _with_leaves(value, leaves) for key, value in node.items()}
    return node


def _of_json(value: Any) -> str:
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _of_leaf(leaf: Any) -> str:
    if type(leaf) is np.ndarray and leaf.dtype != object:
        return _of_array(leaf)
    with ZipFile(io.BytesIO(skops_bytes(leaf))) as stored:
        members = {name: _of_member(name, stored.read(name)) for name in stored.namelist() if name != "schema.json"}
        schema = json.loads(stored.read("schema.json"))
    return _of_json(_without_addresses(schema, members))


def _of_member(name: str, content: bytes) -> str:
    if name.endswith(".npy"):
        return _of_array(np.load(io.BytesIO(content), allow_pickle=False))
    return sha256(content).hexdigest()


def _of_array(values: NDArray[Any]) -> str:
    """By field, because the nodes of trees have gaps between their fields, which hold whatever was there before."""
    digest = sha256(f"{values.shape} {values.dtype.descr}".encode())
    for part in [values] if values.dtype.names is None else [values[name] for name in values.dtype.names]:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def _without_addresses(node: Any, members: dict[str, str]) -> Any:
    if isinstance(node, list):
        return [_without_addresses(item, members) for item in node]
    if isinstance(node, dict):
        left_out = ("__id__", "_skops_version", "protocol")
        return {key: _without_addresses(value, members) for key, value in node.items() if key not in left_out}
    return members.get(node, node) if isinstance(node, str) else node
