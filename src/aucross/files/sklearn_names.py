"""Names of scikit-learn that are not public but needed by model files: attributes by class and release, and modules.

Files store the fitted attributes of models, private ones included, and private names change without notice. They are
listed only here; ``tests/files/test_sklearn_names.py`` compares them with the installed release and says which names it
added or removed.
"""

from __future__ import annotations

from collections.abc import Mapping

_ENCODER = "_infrequent_enabled _infrequent_indices _default_to_infrequent_mappings"
_FOREST = "estimator_params _n_samples _n_samples_bootstrap"
_NEIGHBOURS = "_y _fit_method _fit_X"
_SUPPORT = "_sparse _gamma _n_support _probA _probB _num_iter _intercept_ _dual_coef_"

# Attributes beside the parameters and those that end in an underscore, in scikit-learn 1.8 and later.
_PRIVATE: Mapping[str, str] = {
    "AdaBoostClassifier": "estimator_params",
    "AdamOptimizer": "learning_rate t ms vs",
    "BaggingClassifier": "estimator_params _n_samples _max_samples _max_features _sample_weight _seeds",
    "ColumnTransformer": "_columns _transformer_to_input_indices _remainder",
    "DummyClassifier": "_strategy",
    "ExtraTreesClassifier": _FOREST,
    "GradientBoostingClassifier": "_loss _rng",
    "GroupShuffleSplit": "_default_test_size",
    "HistGradientBoostingClassifier": "_preprocessor _is_categorical_remapped _label_encoder _random_seed "
    "_feature_subsample_rng _n_features _loss _use_validation_data _bin_mapper _baseline_prediction _predictors "
    "_scorer _fitted_with_sw",
    "KBinsDiscretizer": "_encoder",
    "KNNImputer": "_fit_X _mask_fit_X _valid_mask",
    "KNeighborsClassifier": _NEIGHBOURS,
    "LinearDiscriminantAnalysis": "_max_components",
    "MLPClassifier": "_label_binarizer _random_state _best_coefs _best_intercepts _no_improvement_count _optimizer "
    "_coef_indptr _intercept_indptr",
    "MissingIndicator": "_precomputed _n_features",
    "NuSVC": _SUPPORT,
    "OneHotEncoder": f"{_ENCODER} _drop_idx_after_grouping",
    "OrdinalEncoder": f"{_ENCODER} _missing_indices",
    "PCA": "_fit_svd_solver",
    "Perceptron": "_expanded_class_weight",
    "PolynomialFeatures": "_min_degree _max_degree _n_out_full",
    "PowerTransformer": "_scaler",
    "PredefinedSplit": "unique_folds",
    "RadiusNeighborsClassifier": _NEIGHBOURS,
    "RandomForestClassifier": _FOREST,
    "RidgeClassifier": "_label_binarizer",
    "RidgeClassifierCV": "_label_binarizer",
    "SGDClassifier": "_expanded_class_weight",
    "SGDOptimizer": "learning_rate velocities",
    "SVC": _SUPPORT,
    "ShuffleSplit": "_default_test_size",
    "SimpleImputer": "_fit_dtype _fill_dtype",
    "StackingClassifier": "_label_encoder _n_feature_outs",
    "StratifiedShuffleSplit": "_default_test_size",
    "TargetEncoder": _ENCODER,
    "_CalibratedClassifier": "estimator calibrators classes method",
}
# Attributes that came with a later release.
_SINCE: Mapping[str, Mapping[str, str]] = {
    "1.9": {
        "ColumnTransformer": "_transformers_feature_names_out",
        "ExtraTreesClassifier": "_sample_weight",
        "GridSearchCV": "_checked_cv_orig",
        "NuSVC": "_effective_probability",  # before, compiled code read the parameter `probability`
        "RandomForestClassifier": "_sample_weight",
        "RandomizedSearchCV": "_checked_cv_orig",
        "SVC": "_effective_probability",
    }
}
# Attributes that are not stored: found or computed again when an object is put together, or needed for training alone.
LEFT_OUT: Mapping[str, str] = {
    "GridSearchCV": "scorer_",
    "IsotonicRegression": "f_",
    "KNeighborsClassifier": "_tree",
    "OneHotEncoder": "_n_features_outs",
    "Perceptron": "_loss_function_",
    "RadiusNeighborsClassifier": "_tree",
    "RandomizedSearchCV": "scorer_",
    "SGDClassifier": "_loss_function_",
    "StackingClassifier": "named_estimators_",
    "TunedThresholdClassifierCV": "_curve_scorer",
    "VotingClassifier": "named_estimators_",
}
# Attributes that every estimator may have: requests for metadata, the frame to return, names of the output.
OF_ESTIMATORS = frozenset({"_metadata_request", "_sklearn_output_config", "_n_features_out"})
# Attributes of every estimator that are no part of the model: who watches a fit, and the release that pickled it.
OF_RUNS = frozenset({"_skl_callbacks", "_skl_callbacks_to_teardown", "_sklearn_version"})

# Modules of classes that stand inside models.
TREE = "sklearn.tree._tree"
HISTOGRAM = "sklearn.ensemble._hist_gradient_boosting"
LOSSES = "sklearn._loss.loss"
OPTIMIZERS = "sklearn.neural_network._stochastic_optimizers"
SPLITS = "sklearn.model_selection._split"


def private_names(class_name: str, release: str | None = None) -> frozenset[str]:
    """Return the private attributes of a class in a release such as "1.9", or in any known release."""
    names = _PRIVATE.get(class_name, "").split()
    for since, later in _SINCE.items():
        if release is None or _as_numbers(release) >= _as_numbers(since):
            names += later.get(class_name, "").split()
    return frozenset(names)


def _as_numbers(release: str) -> tuple[int, int]:
    major, minor = release.split(".")[:2]
    return int(major), int(minor)
