"""Descriptions of parameters and attributes that several selective classifiers share."""

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
        Reject less, so that new rows keep the coverage with this probability. The fold models are then kept, and one of
        them, drawn by a hash of the row, judges each new row; see :doc:`/howto/promise`. Without it the coverage is
        met on average. Excludes `sample_weight`.""",
    "placement": """placement : {"optimal", "centered"} or callable, default="optimal"
        How the band is placed: ``"optimal"`` finds the best band exactly, on isotonic labels; ``"centered"`` is the
        published algorithm. A subclass of :class:`~aucross.core.BandRule`, or a function that returns one, is called
        with the ranking of the held-out rows.
    target : {"auc", "auc_mu", "ks", "average_precision", "partial_auc"} or target object, default="auc"
        What the band is placed for: the AUC of the selected rows, their Kolmogorov-Smirnov statistic, average
        precision or standardised partial AUC (``"partial_auc"`` up to a false positive rate of 0.1,
        ``PartialAUC(max_fpr)`` up to another), or the cost of decisions and reviews,
        ``ExpectedCost(review=0.2, false_negative=5)``. With costs, `coverage` is a lower limit: rows that are cheaper
        to decide than to review stay selected. Targets other than the AUC need ``placement="optimal"``.
    nested : bool, default=False
        Whether the rows rejected at a coverage are rejected at every lower coverage too. The band is the best one at
        `coverage`, and close to the best at others.""",
    "folds": """cv : int, splitter, iterable of splits or "oob", default=5
        An integer K means K stratified shuffled folds (with `groups`, folds that keep each group together);
        anything else is used as in scikit-learn. Rows that no split scores do not place the band; rows scored m times
        count 1/m each time. Decision values of different folds have different scales: prefer a model with probabilities
        (:class:`~sklearn.calibration.CalibratedClassifierCV`). With K folds and up to 50,000 rows the coverage is
        corrected for differences between the fold models, which place the band, and the model trained on all rows
        (not with ``placement="centered"``). ``"oob"`` trains a forest or a bagging model once and scores each
        row by the trees that have not seen it, see :doc:`/howto/small-data`.""",
    "ensemble": """ensemble : bool or "judge", default=False
        Whether the K fold models are kept. False drops them: the classifier, refitted on all rows, answers and judges.
        With ``"judge"`` the refitted classifier answers, and one fold model, drawn by a hash of the row, judges each
        new row. New rows then keep the coverage as closely as the number of training rows allows, also with networks
        and on small data. With True the mean of the fold models answers, too, which usually improves the ranking of
        boosted trees. See :doc:`/howto/small-data`.
    n_jobs : int, optional
        Folds to fit at the same time.""",
    "held-out part": """cv : int, splitter or iterable of splits, optional
        None holds out one stratified part of `holdout_size`, with at least one row of each class; otherwise the first
        split is used.
    holdout_size : float in (0, 1), default=0.1
        Share of rows held out if `cv` is None.""",
    "ties and positive class": """ties : {"whole", "split"}, default="whole"
        Whether a band takes all or none of the rows of equal score at its ends, or splits them by a hash of the row, so
        that any coverage can be reached; see :doc:`/howto/small-data`.
    pos_label : label, optional
        The positive one of two classes. By default the higher category if `y` is an ordered pandas Categorical, and
        otherwise the second in sorted order. ``classes_`` and the columns of ``predict_proba`` stay sorted, as in
        scikit-learn; scores, bands and evaluations refer to the positive class.""",
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
        Gives the band to reject for a coverage.""",
}


def with_shared_text(cls: Documented) -> Documented:
    """Replace names in braces in the docstring of a class by the shared descriptions."""
    if cls.__doc__ is not None:  # python -OO has none
        for place, text in _TEXTS.items():
            cls.__doc__ = cls.__doc__.replace(f"{{{place}}}", text)
    return cls
