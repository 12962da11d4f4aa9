"""Metrics as objects: a function with its kind of input, the direction that is better, and a label in words.

The scorer, the evaluations, the displays, the report and the table of metrics in the documentation use these objects,
so that a metric is described once, beside its definition::

    @metric(reads="scores", better="higher", label="AUC of the automatic cases")
    def selective_auc(y_true, y_score, selected=None, *, sample_weight=None): ...

Parameter descriptions that many metrics share are written into their docstrings here.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import WRAPPER_ASSIGNMENTS, partial
from textwrap import indent
from typing import Any, Generic, Literal, ParamSpec, TypeVar, cast, get_args

from numpy.typing import ArrayLike

Parameters = ParamSpec("Parameters")
Described = TypeVar("Described", bound=Callable[..., Any])

Reads = Literal["scores", "labels", "outcomes", "selection", "class_scores", "losses"]
Better = Literal["higher", "lower", "zero"]

# What each kind of metric takes before the selection.
_ARGUMENTS = {
    "scores": ("y_true", "y_score"),
    "labels": ("y_true", "y_pred"),
    "outcomes": ("y_true",),
    "class_scores": ("y_true", "y_score"),
}

_DESCRIPTIONS = """
y_true : array-like of shape (n,)
    True for positive rows: boolean, 0/1 or -1/1.
y_score : array-like of shape (n,)
    Finite scores, higher for rows that are more likely positive; some metrics need probabilities.
y_pred : array-like of shape (n,)
    Predicted labels, in the form of `y_true`.
selected : array-like of shape (n,), bool
    True for the rows whose prediction is used; where it may be left out, None means all rows.
loss : array-like of shape (n,)
    Loss of each row, not negative; 0/1 errors (boolean) in the usual case.
confidence : array-like of shape (n,)
    Finite confidences; the highest are selected first.
convention : {"grouped", "mean", "trapezoid", "trapezoid_origin"}, default="grouped"
    How the area is computed; see the table at the top of the module. Only ``"grouped"`` does not depend on the order of
    tied rows; the others take tied rows in the given order.
optimum : {"exact", "limit"}, default="exact"
    How the best possible confidence is scored: ``"exact"`` on these rows without ties; ``"limit"`` as if there were
    infinitely many rows with these losses, as fd-shifts does, for every convention.
sample_weight : array-like of shape (n,), optional
    Weights of the rows.
"""


@dataclass(frozen=True)
class Metric(Generic[Parameters]):
    """Function that rates a selection, with its kind of input, better direction and label; call it like the function.

    Parameters
    ----------
    function : callable
        Returns a number.
    reads : {"scores", "labels", "outcomes", "selection", "class_scores", "losses"}, default="scores"
        What the function takes: ``"scores"`` means ``(y_true, y_score, selected, sample_weight=...)``, ``"labels"``
        ``(y_true, y_pred, selected, sample_weight=...)``, ``"outcomes"`` ``(y_true, selected, sample_weight=...)``,
        ``"class_scores"`` ``(y_true, y_prob, selected, classes=..., sample_weight=...)`` for any number of classes,
        ``"selection"`` the mask alone, ``"losses"`` the losses and confidences of all rows without a selection.
    better : {"higher", "lower", "zero"} or None, default="higher"
        Which values are better; ``"zero"`` if values close to 0 are best, None if no value is better.
    label : str, optional
        The metric in words, for axes and tables; ``{positive}`` stands for the name of the positive class. The name of
        the function by default.

    Examples
    --------
    >>> from aucross.evaluation import Metric, selective_auc
    >>> selective_auc.reads, selective_auc.better, selective_auc.label
    ('scores', 'higher', 'AUC of the automatic cases')
    >>> def missed(y_true, y_pred, selected, *, sample_weight=None):
    ...     return sum(w for t, p, s, w in zip(y_true, y_pred, selected, sample_weight) if s and t and not p)
    >>> missed = Metric(missed, reads="labels", better="lower", label="missed {positive}")
    >>> missed.words(positive="defaults")
    'missed defaults'
    """

    function: Callable[Parameters, float]
    reads: Reads = "scores"
    better: Better | None = "higher"
    label: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}")
        if self.reads not in get_args(Reads):
            raise ValueError(f"reads must be one of {', '.join(get_args(Reads))}, got {self.reads!r}")
        if self.better not in (None, *get_args(Better)):
            raise ValueError(f"better must be one of {', '.join(get_args(Better))} or None, got {self.better!r}")
        # Its documentation, name and module are those of the function, for help(), doctest and pickle.
        for name in WRAPPER_ASSIGNMENTS:
            if hasattr(self.function, name) and name != "__annotations__":
                object.__setattr__(self, name, getattr(self.function, name))
        object.__setattr__(self, "__wrapped__", self.function)

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> float:
        """Call the function."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<metric {self.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        # A metric of a module is found there again. Under __main__ a worker process would not find it.
        name = self.name
        if self.__module__ != "__main__" and getattr(sys.modules.get(self.__module__), name, None) is self:
            return name
        return Metric, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def name(self) -> str:
        """Name of the function; for a partial, the name of the function inside."""
        function = inside_partials(self.function)
        return str(getattr(function, "__name__", repr(function)))

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of keyword arguments that must be given beforehand, with :func:`functools.partial`."""
        try:
            parameters = inspect.signature(self.function).parameters.values()
        except ValueError:  # a function written in C may not say
            return ()
        return tuple(
            parameter.name
            for parameter in parameters
            if parameter.kind is parameter.KEYWORD_ONLY
            and parameter.default is parameter.empty
            and parameter.name not in ("sample_weight", "classes")
        )

    def words(self, *, positive: str = "positives") -> str:
        """Return the label with the name of the positive class filled in."""
        return self.label.format(positive=positive) if self.label else self.name.replace("_", " ")

    def as_score(self, value: float) -> float:
        """Return the value, negated where needed so that greater is better."""
        if self.better is None:
            raise ValueError(f"metric must have a better and a worse, got {self.name!r}, which has none")
        return {"higher": value, "lower": -value, "zero": -abs(value)}[self.better]

    def of(
        self,
        selected: ArrayLike,
        *,
        y_true: ArrayLike,
        y_score: ArrayLike,
        y_pred: ArrayLike,
        sample_weight: ArrayLike,
        classes: ArrayLike | None = None,
    ) -> float:
        """Call the function for a selection with the arguments that it reads."""
        rows = {"y_true": y_true, "y_score": y_score, "y_pred": y_pred}
        named = {"classes": classes} if self.reads == "class_scores" else {}
        function = cast(Callable[..., float], self.function)
        read = (rows[name] for name in _ARGUMENTS[self.reads])
        return float(function(*read, selected, sample_weight=sample_weight, **named))


def metric(
    *, reads: Reads = "scores", better: Better | None = "higher", label: str = ""
) -> Callable[[Callable[Parameters, float]], Metric[Parameters]]:
    """Make a :class:`Metric` from the decorated function.

    Parameters
    ----------
    reads, better, label
        As for :class:`Metric`.

    Examples
    --------
    >>> from aucross.evaluation import metric
    >>> @metric(reads="outcomes", better="lower", label="{positive} that a review must catch")
    ... def rejected(y_true, selected, *, sample_weight=None):
    ...     return float(sum(w for t, s, w in zip(y_true, selected, sample_weight) if t and not s))
    >>> rejected([1, 0, 1], [True, False, False], sample_weight=[1, 1, 1])
    1.0
    """

    def decorate(function: Callable[Parameters, float]) -> Metric[Parameters]:
        is_ours = (function.__module__ or "").startswith(f"{__package__}.")  # code that is run from text has none
        return Metric(described(function) if is_ours else function, reads, better, label)

    return decorate


def described(function: Described) -> Described:
    """Add shared parameter descriptions, the return type and the import line to the docstring of a metric.

    The second paragraph of the docstring becomes the description of the returned value.
    """
    if function.__doc__ is None:  # python -OO has none
        return function
    doc, signature = inspect.cleandoc(function.__doc__), inspect.signature(function)
    known = re.finditer(r"^(\w+) :.*\n(    .*\n)+", _DESCRIPTIONS, re.MULTILINE)
    shared = "".join(part[0] for part in known if part[1] in signature.parameters and f"\n{part[1]} :" not in doc)
    summary, value, rest = doc.split("\n\n", 2)
    own, head = "", "Parameters\n----------\n"
    if rest.startswith(head):
        own, _, rest = rest.removeprefix(head).partition("\n\n")
    returned = f"Returns\n-------\n{signature.return_annotation}\n{indent(value, '    ')}"
    first = f">>> from {__package__} import {function.__name__}\n>>> "
    if " import " not in rest:
        rest = re.sub(r"^>>> ", first, rest, count=1, flags=re.MULTILINE)
    function.__doc__ = "\n\n".join((summary, (head + shared + own).rstrip(), returned, rest))
    return function


def as_metric(function: Callable[..., float]) -> Metric[...]:
    """Return a metric unchanged; turn any other function into a metric of scores that is better when higher."""
    if isinstance(function, Metric):
        return function
    inner = inside_partials(function)
    return replace(inner, function=function) if isinstance(inner, Metric) else Metric(function)


def inside_partials(function: Any) -> Any:
    """Return the function inside any number of partials."""
    while isinstance(function, partial):
        function = function.func
    return function
