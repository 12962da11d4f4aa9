"""Parameters of the estimators on Spark, in the manner of ``pyspark.ml``."""

from __future__ import annotations

from typing import Any, Self

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasLabelCol, HasPredictionCol, HasSeed, HasWeightCol


def _text_or_texts(value: Any) -> Any:
    return value if isinstance(value, str) else TypeConverters.toListString(value)


class _Owner(Params):
    """Stands for the owner of parameters that belong to a class; each object gets copies of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.uid = "undefined"


OF_A_CLASS = _Owner()


class SelectiveParams(HasLabelCol, HasPredictionCol, HasWeightCol, HasSeed):
    """What estimators and models share.

    ``featuresCol`` is one column of vectors or a list of columns. ``bandGroupCol`` names the column of groups that have
    bands of their own.
    """

    featuresCol: Param[Any] = Param(OF_A_CLASS, "featuresCol", "column of vectors, or list", _text_or_texts)
    coverage: Param[float] = Param(
        OF_A_CLASS, "coverage", "share of rows to decide automatically", TypeConverters.toFloat
    )
    scoreCol: Param[str] = Param(
        OF_A_CLASS, "scoreCol", "column for the probability of the positive class", TypeConverters.toString
    )
    decisionCol: Param[str] = Param(
        OF_A_CLASS, "decisionCol", "column for automatic or review", TypeConverters.toString
    )
    bandGroupCol: Param[str] = Param(
        OF_A_CLASS, "bandGroupCol", "column of groups with bands of their own", TypeConverters.toString
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            featuresCol="features",
            labelCol="label",
            predictionCol="prediction",
            scoreCol="score",
            decisionCol="decision",
            coverage=0.9,
            seed=0,
        )

    def setParams(self, **given: Any) -> Self:
        """Set parameters by name."""
        for name, value in given.items():
            if not self.hasParam(name):
                known = ", ".join(sorted(param.name for param in self.params))
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}; it has {known}")
            if value is not None:
                self._set(**{name: value})
        return self

    def setCoverage(self, value: float) -> Self:
        """Set the share of rows to decide automatically; a fitted model answers for any."""
        return self.setParams(coverage=value)

    def with_uid(self, uid: str) -> Self:
        """Take the name that was stored."""
        self._resetUid(uid)
        return self

    def value_of(self, name: str) -> Any:
        """The value of a parameter; None if it is not set and has no default."""
        param = self.getParam(name)
        return self.getOrDefault(param) if self.isDefined(param) else None
