"""Which types a saved file may hold besides the classes of the core and the estimators.

skops refuses types that it does not know, and knows the estimators of scikit-learn. This list adds what fitted models
of scikit-learn, LightGBM and XGBoost hold besides, and the networks of this package. Some of them (the nodes of trees,
the native formats of the boosters) are read by compiled code that does not check what it reads: a file made to do harm
could crash the process or worse. That is why the documentation says to load only files that one trusts.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

LISTED_TYPES = frozenset(
    {
        "builtins.frozenset",
        "collections.OrderedDict",
        "datetime.date",
        "datetime.datetime",
        "datetime.timedelta",
        "decimal.Decimal",
        "functools.partial",  # of listed functions
        "numpy.dtype",
        "pandas._libs.interval.Interval",
        "pandas.Interval",
        "aucross.estimators.score_column.ScoreColumn",  # a parameter of an estimator, stored like other base models
        # Boosters: their content is parsed by the libraries themselves.
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "xgboost.sklearn.XGBRFClassifier",
        # Networks; by name, because only a file that holds one may import torch.
        *(
            f"aucross.torch.{name}"
            for name in (
                "classifiers.ResNetClassifier",
                "classifiers.VGGClassifier",
                "estimators.DeepGamblers",
                "estimators.SelectiveNet",
                "estimators.SelfAdaptiveTraining",
                "fitted.FittedNetwork",
                "fitted.Reader",
                "images.ImageScale",
                "methods.CrossEntropy",
                "methods.GamblersMethod",
                "methods.SelectiveNetMethod",
                "methods.SelfAdaptiveMethod",
                "network_classifier.SelectiveNetwork",
                "networks.MLP",
                "networks.ResNet",
                "networks.VGG16",
                "options.TrainingOptions",
                "tables.TableEncoder",
            )
        ),
        # Trees, neighbours and kernels of scikit-learn.
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        # Losses and bins of boosting, which newer versions of skops know.
        "sklearn._loss.link.HalfLogitLink",
        "sklearn._loss.link.Interval",
        "sklearn._loss.link.LogitLink",
        "sklearn._loss.link.MultinomialLogit",
        "sklearn._loss.loss.ExponentialLoss",
        "sklearn._loss.loss.HalfBinomialLoss",
        "sklearn._loss.loss.HalfMultinomialLoss",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        # Parts of scikit-learn's meta-estimators, transformers and networks.
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        "sklearn.utils.validation.check_array",
        "scipy.interpolate._bsplines.BSpline",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "numpy.asarray",
        # Splitters, as cv and inside searches.
        *(
            f"sklearn.model_selection._split.{name}"
            for name in (
                "GroupKFold",
                "GroupShuffleSplit",
                "KFold",
                "LeaveOneGroupOut",
                "PredefinedSplit",
                "RepeatedKFold",
                "RepeatedStratifiedKFold",
                "ShuffleSplit",
                "StratifiedGroupKFold",
                "StratifiedKFold",
                "StratifiedShuffleSplit",
                "TimeSeriesSplit",
                "_CVIterableWrapper",
            )
        ),
        # Scorers of searches and tests of feature selection.
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        *(
            f"sklearn.metrics.{name}"
            for name in (
                "_classification.accuracy_score",
                "_classification.balanced_accuracy_score",
                "_classification.brier_score_loss",
                "_classification.f1_score",
                "_classification.log_loss",
                "_ranking.average_precision_score",
                "_ranking.roc_auc_score",
            )
        ),
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._mutual_info.mutual_info_classif",
    }
)


def trusted_names(trusted: Any) -> list[str]:
    """Names of the types that a caller trusts, given as names or as the types themselves."""
    if isinstance(trusted, str | bool) or not isinstance(trusted, Iterable):
        raise TypeError(
            f"trusted must be a list of types or of their dotted names, got {trusted!r}; pass for example "
            'trusted=["my_package.models.Scorecard"]'
        )
    return [name if isinstance(name, str) else f"{name.__module__}.{name.__qualname__}" for name in trusted]


def class_by_name(name: str) -> type:
    """Import a class that is listed or that the caller named as trusted."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)
