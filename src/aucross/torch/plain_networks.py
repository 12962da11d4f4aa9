"""Plain network classifiers, as base models of the selective classifiers or alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from aucross.torch.fitted_network import NetworkRecipe
from aucross.torch.images import check_images, is_images
from aucross.torch.methods import CrossEntropy
from aucross.torch.network_classifier import NetworkClassifier
from aucross.torch.networks import VGG16, ResNet
from aucross.torch.options import ImageParameters, TrainingParameters, options_of, with_shared_parameters

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
        Share of units set to zero during training inside a block and at its end.
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

    def _recipe(self, X: Any) -> NetworkRecipe:  # noqa: ARG002
        names = ("n_blocks", "width", "hidden_multiplier", "dropout", "residual_dropout")
        body = partial(ResNet, **{name: getattr(self, name) for name in names})
        return NetworkRecipe(CrossEntropy(), body, options_of(self), self._start())


@with_shared_parameters(_SHARED)
@dataclass(kw_only=True, eq=False, repr=False)
class VGGClassifier(ImageParameters, NetworkClassifier):
    """VGG16 with batch normalisation, for images.

    Images are an array of bytes of shape (n, height, width, 3).

    Parameters
    ----------
    width : float, default=1.0
        Factor of the number of channels of every layer; 0.25 has a sixteenth of the weights and trains on a processor.
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

    def _recipe(self, X: Any) -> NetworkRecipe:  # noqa: ARG002
        body = partial(VGG16, width=self.width, dropout=self.dropout)
        return NetworkRecipe(CrossEntropy(), body, options_of(self), self._start())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = False
        return tags
