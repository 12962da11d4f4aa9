"""Classifiers that train a network: plain networks, and the network inside a selective classifier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from aucross.core.ranking import FloatArray, check_weights
from aucross.frames import as_pandas, library_of, names_of
from aucross.torch.fitted_network import FittedNetwork, Recipe, train_network
from aucross.torch.images import check_images, is_images
from aucross.torch.methods import CrossEntropy, NetworkMethod
from aucross.torch.networks import VGG16, Body, ResNet
from aucross.torch.options import (
    ImageParameters,
    NetworkOptions,
    TrainingParameters,
    options_of,
    with_shared_parameters,
)


class NetworkClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base class of classifiers that train a network: checks, training and prediction.

    A subclass supplies its recipe.
    """

    random_state: Any
    warm_start: bool

    @abstractmethod
    def _recipe(self, X: Any) -> Recipe:
        """Return method, body, options and starting network for training on these rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Train the network.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features), or array of shape (n_samples, height, width, 3)
            A table, or images as bytes.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the loss, the scaling of numbers, and normalisation layers of networks for tables.
        """
        before = dict(vars(self))
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:  # the earlier fit stays whole
            self.__dict__ = before
            raise

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Any:
        goes_on = self._start() is not None
        X = self._check_rows(X, is_fit=not goes_on)
        if y is None:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        weight = None if sample_weight is None else check_weights(sample_weight, len(y))
        classes = np.unique(y)
        if goes_on:
            self._check_same_classes(classes)
        _check_classes(classes, y if weight is None else y[weight > 0], len(y))
        recipe = self._recipe(X)
        options = recipe[2]
        options.check()
        self.network_, history = train_network(recipe, X, y, weight, classes=classes, seed=self._seed(options))
        self.classes_, self.history_, self.n_epochs_ = classes, vars(history), history.n_epochs
        return self

    def check_goes_on(self, X: Any, classes: NDArray[Any]) -> None:
        """Refuse rows and classes on which this fitted network cannot continue training."""
        self._check_rows(X, is_fit=False)
        self._check_same_classes(classes)

    def _check_same_classes(self, classes: NDArray[Any]) -> None:
        if not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"y must have the classes of the earlier fit with warm_start=True, which are {self.classes_.tolist()}, "
                f"got {classes.tolist()}; pass warm_start=False"
            )

    def _seed(self, options: NetworkOptions) -> int:
        if options.checkpoint_folder is not None and not isinstance(self.random_state, Integral):
            raise ValueError(
                "random_state must be an integer with checkpoint_folder, because a training is found again by its "
                f"seed, got {self.random_state!r}; pass random_state=0"
            )
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _start(self) -> FittedNetwork | None:
        return getattr(self, "network_", None) if self.warm_start else None

    def _check_rows(self, X: Any, *, is_fit: bool) -> Any:
        """Return rows as an array or frame with the columns or shape seen in fit."""
        if is_images(X):
            X = check_images(X, None if is_fit else getattr(self, "image_shape_", None))
            if is_fit:
                self.image_shape_, self.n_features_in_ = X.shape[1:], int(np.prod(X.shape[1:]))
            elif not hasattr(self, "image_shape_"):
                raise ValueError(f"X must be a table as in fit, got images of shape {X.shape}")
            return X
        # Three dimensions are gray images, which need their channels.
        if (not is_fit and hasattr(self, "image_shape_")) or getattr(X, "ndim", 2) == 3:
            check_images(X)
        if library_of(X) == "pyarrow":
            X = as_pandas(X)
        if names_of(X) is not None:
            return validate_data(self, X, reset=is_fit, skip_check_array=True)
        X = validate_data(self, X, reset=is_fit, dtype=None, ensure_all_finite=False)
        if X.dtype.kind not in "OUS":
            check_array(X, ensure_all_finite="allow-nan", ensure_min_samples=0)
        return X

    def answers(self, X: Any) -> tuple[FloatArray, FloatArray]:
        """Return class probabilities and selection scores, from one pass through the network."""
        check_is_fitted(self, "network_")
        return self.network_.answers(self._check_rows(X, is_fit=False))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``, for rows as in :meth:`fit`."""
        return self.answers(X)[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the most probable class, for rows as in :meth:`fit`."""
        probabilities = self.predict_proba(X)
        return self.classes_[probabilities.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _check_classes(classes: NDArray[Any], weighed: NDArray[Any], n_rows: int) -> None:
    if len(classes) < 2:
        raise ValueError(
            f"y must hold at least two classes, got one class in {n_rows} rows: a classifier cannot be trained on "
            f"1 class"
        )
    without = np.setdiff1d(classes, weighed)
    if len(without):
        raise ValueError(
            f"sample_weight must be above 0 for some rows of each class, got 0 for all rows of {without.tolist()}: a "
            "classifier cannot be trained on 1 class and nothing is learnt of one without weight; leave these rows out"
        )


class SelectiveNetwork(NetworkClassifier):
    """The network inside a selective classifier: gives probabilities and selection scores."""

    warm_start = False

    def __init__(
        self, *, method: NetworkMethod, body: Body, options: NetworkOptions, start: Any = None, random_state: Any = None
    ) -> None:
        self.method, self.body, self.options = method, body, options
        self.start, self.random_state = start, random_state

    def _recipe(self, X: Any) -> Recipe:
        return self.method, body_for(self.body, X), self.options, self.start

    def _seed(self, options: NetworkOptions) -> int:  # noqa: ARG002
        # The selective classifier, which owns the seed, has checked it.
        return int(self.random_state.randint(np.iinfo(np.int32).max))

    def selection_score(self, X: Any) -> FloatArray:
        """Return the selection score of each row, low for rows to reject."""
        return self.answers(X)[1]


def body_for(body: Body, X: Any) -> Body:
    """Return the body, or the default for this kind of rows; refuse a named body that does not suit the rows."""
    if body is None:
        return "vgg16" if is_images(X) else "resnet"
    if body == "vgg16" and not is_images(X):
        check_images(X)
    if isinstance(body, str) and body in ("mlp", "resnet") and is_images(X):
        raise ValueError(f'body must be one for images, got {body!r} and X of shape {X.shape}; pass "vgg16"')
    return body


# ---- plain networks ----

# What the two docstrings share, by the place that it fills.
_SHARED = {
    "seed": """random_state : int, RandomState instance or None, default=None
        Seed of weights, batches, dropout and augmentation. With an integer and the same number of threads a fit on a
        processor is the same each time.""",
    "fitted parts": """classes_ : ndarray of shape (n_classes,)
        Class labels.
    network_ : FittedNetwork
        The trained network.
    history_ : dict
        Loss, coverage and validation loss of each epoch.
    n_epochs_ : int
        Epochs done.""",
}


@with_shared_parameters(_SHARED)
@dataclass(kw_only=True, eq=False, repr=False)
class ResNetClassifier(TrainingParameters, NetworkClassifier):
    """Residual network for tables.

    Numbers are scaled, categories (text and category columns of pandas or polars) embedded, missing values marked.

    Parameters
    ----------
    n_blocks : int, default=2
        Residual blocks.
    width : int, default=192
        Units between the blocks.
    hidden_multiplier : float, default=2.0
        Units inside a block, as a multiple of `width`.
    dropout, residual_dropout : float, default=0.15 and 0.0
        Shares of units set to zero during training, inside each block and at its end.
    {shared parameters}
    {seed}

    Attributes
    ----------
    {fitted parts}
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they are all text.

    See Also
    --------
    ResNet : The network itself, with its source.
    VGGClassifier : For images.
    SelfAdaptiveTraining : A network that learns when to abstain.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from aucross import AUCross
    >>> from aucross.torch import ResNetClassifier
    >>> X, y = make_classification(400, flip_y=0.2, random_state=0)
    >>> network = ResNetClassifier(width=16, max_epochs=5, schedule="one-cycle", random_state=0)
    >>> clf = AUCross(network, cv=2, random_state=0).fit(X, y)
    >>> clf.select(X, coverage=0.8).shape
    (400,)
    """

    n_blocks: int = 2
    width: int = 192
    hidden_multiplier: float = 2.0
    dropout: float = 0.15
    residual_dropout: float = 0.0
    warm_start: bool = False
    random_state: Any = None

    def _check_rows(self, X: Any, *, is_fit: bool) -> Any:
        if is_images(X):
            raise ValueError(f"X must be a table, got an array of shape {X.shape}; images go to VGGClassifier")
        return super()._check_rows(X, is_fit=is_fit)

    def _recipe(self, X: Any) -> Recipe:  # noqa: ARG002
        names = ("n_blocks", "width", "hidden_multiplier", "dropout", "residual_dropout")
        body = partial(ResNet, **{name: getattr(self, name) for name in names})
        return CrossEntropy(), body, options_of(self), self._start()


@with_shared_parameters(_SHARED)
@dataclass(kw_only=True, eq=False, repr=False)
class VGGClassifier(ImageParameters, NetworkClassifier):
    """VGG16 with batch normalisation, for images.

    Images are an array of bytes of shape (n, height, width, 3).

    Parameters
    ----------
    width : float, default=1.0
        Factor for the number of channels of every layer; 0.25 has a sixteenth of the weights and trains on a CPU.
    dropout : float, default=0.0
        Share of features set to zero during training.
    {shared parameters}
    {seed}

    Attributes
    ----------
    {fitted parts}
    image_shape_ : tuple
        Height, width and channels of the images seen during fit.
    n_features_in_ : int
        Number of values of an image.

    See Also
    --------
    VGG16 : The network itself, with its source.
    ResNetClassifier : For tables.

    Examples
    --------
    >>> import numpy as np
    >>> from aucross.torch import VGGClassifier
    >>> y = np.arange(64) % 2
    >>> X = np.random.default_rng(0).integers(0, 100, (64, 8, 8, 3)) + 100 * y[:, None, None, None]
    >>> clf = VGGClassifier(width=0.05, max_epochs=4, batch_size=16, random_state=0).fit(X.astype(np.uint8), y)
    >>> clf.predict_proba(X.astype(np.uint8)).shape
    (64, 2)
    """

    width: float = 1.0
    dropout: float = 0.0
    warm_start: bool = False
    random_state: Any = None

    def _check_rows(self, X: Any, *, is_fit: bool) -> Any:
        return super()._check_rows(check_images(X), is_fit=is_fit)

    def _recipe(self, X: Any) -> Recipe:  # noqa: ARG002
        body = partial(VGG16, width=self.width, dropout=self.dropout)
        return CrossEntropy(), body, options_of(self), self._start()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = False
        return tags
