"""
Must probabilities be calibrated first?
=======================================

Naive Bayes is known for probabilities that are too near to 0 and 1. A calibration by a logistic curve repairs that and
leaves the order of the rows as it is. What does it change about who is rejected? For the band of
:class:`~aucross.AUCross` nothing, because it depends on the order alone. For maximum probability a lot.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from aucross import AUCross, SCross
from aucross.datasets import make_credit
from aucross.evaluation import selective_auc

X, y = make_credit(18_000, return_X_y=True)
X, y = X.select_dtypes("number").fillna(0.0).to_numpy(), y.to_numpy()
X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, stratify=y, random_state=0)
X_place, X_test, y_place, y_test = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0)

raw = GaussianNB().fit(X_train, y_train)
models = {
    "as it is": raw,
    "calibrated": CalibratedClassifierCV(FrozenEstimator(raw), method="sigmoid").fit(X_place, y_place),
}

# %%
# The left panel shows the given probabilities against the true shares, the right panel the rejected rows by the rank of
# their score. Both models rank alike, so the stripes can be compared.

score = {name: model.predict_proba(X_test)[:, 1] for name, model in models.items()}
rank = score["as it is"].argsort().argsort() / len(y_test)
selections = {
    f"{kind.__name__}, {name}": kind(FrozenEstimator(model), coverage=0.8).fit(X_place, y_place).select(X_test)
    for kind in (AUCross, SCross)
    for name, model in models.items()
}

colors = {"as it is": "#c8402f", "calibrated": "#1b6ca8"}
figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
left.plot((0, 1), (0, 1), color="#cccccc", linewidth=5)
for (name, values), marker in zip(score.items(), "so", strict=True):
    share, mean = calibration_curve(y_test, values, n_bins=12, strategy="quantile")
    left.plot(mean, share, f"{marker}-", color=colors[name], label=name)
left.set(xlabel="probability of default given by the model", ylabel="share of defaults", aspect="equal")
left.legend(frameon=False, loc="upper left")
for place, (name, selected) in enumerate(selections.items()):
    right.eventplot(
        rank[~selected], lineoffsets=place, linelengths=0.5, linewidths=0.4, color=colors[name.split(", ")[1]]
    )
    auc = selective_auc(y_test, score["as it is"], selected)
    right.text(0.01, place - 0.3, f"AUC {auc:.3f} at coverage {selected.mean():.2f}", va="bottom")
right.set_yticks(range(len(selections)), [name.replace(", ", "\n") for name in selections])
right.invert_yaxis()
right.set(xlabel="rank of the rejected rows by score", xlim=(0, 1))
plt.show()

# %%
# The upper two stripes are the same rows. The lower two are not: calibration moves the scores around 0.5, and maximum
# probability rejects other rows. Only one in five of these loans defaults, so rejecting by maximum probability lowers
# the AUC either way, here even more with the better probabilities.

print(f"AUC of all rows: {selective_auc(y_test, score['as it is']):.3f}")
first, second, third, fourth = selections.values()
print(f"rows on which the two models differ: AUCross {(first != second).sum()}, SCross {(third != fourth).sum()}")

# %%
# That holds for calibrations that keep the order. An isotonic one makes ties, and one that differs between groups
# changes the order: then the band is a different one. Where costs decide, probabilities have to be right, see
# :doc:`/auto_examples/bands/plot_targets`.
