"""Fingerprints of models and rules: equal for equal models or rules, and different for different ones.

A fingerprint is computed from the description of an object, entry by entry. The order of the entries does not change
it, nor does it matter whether equal parts are one object.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any
from weakref import ref

from sklearn.utils.validation import check_is_fitted

from aucross.estimators.base import SelectiveClassifier
from aucross.files.description import Description

# What scores a row: a recalibrated classifier has the same model and another rule.
MODEL_PARTS = ("estimator", "gate", "judges", "reader", "classes", "response_method")
RULE = "rule"

# A longer list holds the members of an ensemble; a fit replaces the whole list.
_LONGEST_LIST = 20

# Of loaded models whose description libraries of another version write differently: what they have now, and what their
# file has. It counts only as long as nothing about the model changes. Models are known by their identity, because some
# cannot be hashed.
_in_files: dict[int, tuple[ref[Any], str, str]] = {}


def model_fingerprint(clf: SelectiveClassifier) -> str:
    """Return 64 hexadecimal digits that identify the fitted base model and, if there is one, the gate.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier. A loaded classifier keeps the fingerprint in its file until it is fitted again.
    """
    check_is_fitted(clf)
    now = _described(clf, MODEL_PARTS)
    model, at_load, in_file = _in_files.get(id(clf.estimator_), (None, "", ""))
    is_as_loaded = model is not None and model() is clf.estimator_ and now == at_load
    return in_file if is_as_loaded else now


def rule_fingerprint(clf: SelectiveClassifier) -> str:
    """Return 64 hexadecimal digits that identify the current rule, which places the bands for all coverages.

    Parameters
    ----------
    clf : SelectiveClassifier
        A fitted classifier.
    """
    check_is_fitted(clf)
    return _described(clf, (RULE,))


def keep_fingerprint_of_file(clf: SelectiveClassifier, fingerprint: str) -> None:
    """Let a newly loaded model keep the fingerprint of its file."""
    now = model_fingerprint(clf)
    if now != fingerprint:
        number = id(clf.estimator_)
        _in_files[number] = (ref(clf.estimator_, lambda _: _in_files.pop(number, None)), now, fingerprint)


def fingerprints_in(entries: Sequence[Any], array_digests: Sequence[bytes]) -> tuple[str, str]:
    """Return the fingerprints of model and rule of a described classifier."""
    digests = _entry_digests(entries, array_digests)
    place = entries[-1]["state"].get("fitted_")
    fitted = entries[place["@ref"]].get("state", {}) if isinstance(place, dict) and "@ref" in place else {}
    nodes = ({name: fitted[name] for name in names if name in fitted} for names in (MODEL_PARTS, (RULE,)))
    model, rule = (_digest(part, digests) for part in nodes)
    return model, rule


def _described(clf: SelectiveClassifier, names: Sequence[str]) -> str:
    description = Description()
    nodes = {name: description.node(getattr(clf.fitted_, name)) for name in names}
    return _digest(nodes, _entry_digests(description.entries, description.digests))


def _entry_digests(entries: Sequence[Any], array_digests: Sequence[bytes]) -> list[str]:
    """Return a digest for each entry; a reference counts as the digest of the entry it refers to."""
    digests: list[str] = []
    contents = iter(array_digests)
    for entry in entries:
        digests.append(_digest(entry, digests, next(contents).hex() if "@array" in entry else ""))
    return digests


def _digest(node: Any, digests: Sequence[str], content: str = "") -> str:
    text = json.dumps([_resolved(node, digests), content], sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _resolved(node: Any, digests: Sequence[str]) -> Any:
    if isinstance(node, list):
        return [_resolved(item, digests) for item in node]
    if isinstance(node, dict):
        if "@ref" in node:
            return {"@ref": digests[node["@ref"]]}
        return {key: _resolved(value, digests) for key, value in node.items()}
    return node


# ---- whether a classifier still consists of the objects that it consisted of before ----


def fitted_parts(clf: Any) -> list[Any]:
    """List the objects that a fit replaces: ``fitted_``, and the content of its models, nested models included.

    A change inside an array does not change the list.
    """
    fitted, seen = clf.fitted_, set[int]()
    parts, waiting = [fitted], [fitted.estimator, fitted.gate, *fitted.judges]
    while waiting:
        parts.append(value := waiting.pop())
        if id(value) in seen:
            continue
        seen.add(id(value))
        if hasattr(value, "get_params"):
            waiting += vars(value).values()
        elif isinstance(value, list | tuple) and len(value) <= _LONGEST_LIST:
            waiting += value
    return parts
