"""Descriptions of parameters and fitted attributes that several selective classifiers share."""

from __future__ import annotations

from typing import TypeVar

Documented = TypeVar("Documented", bound=type)

_TEXTS = {
    "estimator and coverage": """estimator : classifier
        Base classifier, scored by ``predict_proba`` or, if it has none, by ``decision_function``. Wrap a trained one in
        :class:`sklearn.frozen.FrozenEstimator` and fit on rows that it has not seen.
    coverage : float in (0, 1], default=0.9
        Share of rows to select by default; `select` and `band` take any other.""",
    "confidence with folds": """coverage_confidence : float in (0, 1), optional
        Reject less, so that new rows keep the coverage with this probability. For this the fold models are kept and
        one of them, drawn by a hash of the row, judges each new row, see :doc:`/howto/promise`. Without it the
        coverage is met on average. Excludes `sample_weight`.""",
    "placement": """placement : {"optimal", "centered"} or callable, default="optimal"
        How the band is placed: ``"optimal"`` searches the best band exactly, on isotonic labels; ``"centered"`` is
        the published algorithm. Or a rule of your own: a subclass of :class:`~aucross.core.BandRule`, or a function,
        that is called with the ranking of the held-out rows and returns a rule.
    target : {"auc", "auc_mu", "ks", "average_precision", "partial_auc"} or target object, default="auc"
        What the band is placed for: the AUC of the selected rows, their Kolmogorov-Smirnov statistic, average
        precision or standardised partial AUC (``"partial_auc"`` up to a false positive rate of 0.1,
        ``PartialAUC(max_fpr)`` up to another), or the cost of decisions and reviews,
        ``ExpectedCost(review=0.2, false_negative=5)``. With costs `coverage` is a lower limit: rows that are cheaper
        to decide than to review stay selected. Other targets than the AUC need ``placement="optimal"``.
    nested : bool, default=False
        Whether the rows rejected at a coverage are rejected at every lower coverage too. The band is the best one at
        `coverage`, and close to the best at others.""",
    "folds": """cv : int, splitter, iterable of splits or "oob", default=5
        An integer K means K stratified shuffled folds (with `groups`, folds that keep each group together);
        anything else is used as scikit-learn does. Rows that no split scores do not take part in placing the band;
        rows scored m times count 1/m each time. Decision values of different folds share no scale: prefer a model with
        probabilities (:class:`~sklearn.calibration.CalibratedClassifierCV`). With K folds and up to 50,000 rows the
        coverage is corrected for differences between the fold models, which place the band, and the model trained on
        all rows (not with ``placement="centered"``). ``"oob"`` trains a forest or a bagging model once and scores each
        row by the trees that have not seen it, see :doc:`/howto/small-data`.""",
    "ensemble": """ensemble : bool or "judge", default=False
        What becomes of the K fold models. False lets go of them: the classifier is refitted on all rows, answers and
        judges. ``"judge"`` keeps them: the refitted classifier answers, and one fold model, drawn by a hash of the row,
        judges each new row. Then new rows have the coverage as closely as the number of training rows allows, also
        with networks and on small data. True lets their mean answer too: boosted trees usually rank better so. See
        :doc:`/howto/small-data`.
    n_jobs : int, optional
        Folds to fit at the same time.""",
    "held-out part": """cv : int, splitter or iterable of splits, optional
        None holds out one stratified part of `holdout_size`, with at least one row of each class; of anything else
        the first split is used.
    holdout_size : float in (0, 1), default=0.1
        Share of rows held out if `cv` is None.""",
    "ties and positive class": """ties : {"whole", "split"}, default="whole"
        What a band does with rows of equal score at its ends: it takes all or none of them, or it cuts through them by
        a hash of the row, so that any coverage can be reached, see :doc:`/howto/small-data`.
    pos_label : label, optional
        The positive one of two classes. By default the higher category where `y` is an ordered Categorical of pandas,
        and else the second in sorted order. ``classes_`` and the columns of ``predict_proba`` stay sorted, as
        scikit-learn has them; scores, bands and evaluations are of the positive class.""",
    "features": """n_features_in_ : int
        Number of features seen during fit, if the base classifier knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if the base classifier knows them.""",
    "fitted folds": """estimator_ : classifier
        The base classifier, fitted on all rows; with ``ensemble=True`` the fold models, as a
        :class:`~aucross.estimators.FoldEnsemble`.
    judges_ : list of FoldEnsemble
        The fold models that judge new rows; only with an `ensemble` or a `coverage_confidence`.
    {classes and rule}
    held_out_ : HeldOutScores
        Out-of-fold scores of the training rows.""",
    "fitted on a part": """estimator_ : classifier
        The base classifier, fitted on the rows that were not held out.
    {classes and rule}
    held_out_ : HeldOutScores
        Scores of the rows held out.""",
    "classes and rule": """classes_ : ndarray of shape (n_classes,)
        Class labels, sorted; of two, the positive class is ``fitted_.classes[1]``.
    band_rule_ : BandRule
        Answers which band to reject for a coverage.""",
}


def with_shared_text(cls: Documented) -> Documented:
    """Write the shared descriptions into the docstring of a class, at the places in braces."""
    if cls.__doc__ is not None:  # python -OO has none
        for place, text in _TEXTS.items():
            cls.__doc__ = cls.__doc__.replace(f"{{{place}}}", text)
    return cls
