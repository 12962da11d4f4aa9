"""
Is one rule better than another, or is it noise?
================================================

Two rules differ by some thousandths of AUC. Both were measured on the same rows, so the interval has to be that of the
paired difference, which :func:`~aucross.compare_selective` gives. :class:`~aucross.AUCross` with its defaults is
compared with three others: with maximum probability, with the centred band of the paper, and with a mean of the fold
models.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross import AUCross, SCross, compare_selective
from aucross.datasets import make_credit

X, y = make_credit(12_000, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X.select_dtypes("number"), y, test_size=0.5, stratify=y, random_state=0
)
base = HistGradientBoostingClassifier(max_iter=30, random_state=0)
rules = {
    "AUCross": AUCross(base, random_state=0),
    "maximum probability": SCross(base, random_state=0),
    "centred band": AUCross(base, placement="centered", random_state=0),
    "mean of fold models": AUCross(base, ensemble=True, random_state=0),
}
coverages = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7]
for rule in rules.values():
    rule.fit(X_train, y_train)
comparison = compare_selective(rules, X_test, y_test, coverages)
tables = dict(iter(comparison.to_frame().groupby("classifier", sort=False)))
print(comparison.advice(coverage=0.8))

# %%
# Points are differences, the other minus AUCross, and bars are their 95 % intervals. Below zero, AUCross is higher. The
# upper panels have the AUC of the selected rows. The lower panels have the coverage reached, and have to be read with
# the upper ones: a rule that selects fewer rows has the easier task.

metrics = {"selective_auc": "AUC", "achieved_coverage": "coverage reached"}
figure, panels = plt.subplots(2, 3, figsize=(9.5, 5.2), sharex=True, layout="constrained")
for column, (name, table) in zip(panels.T, tables.items(), strict=True):
    for axes, metric in zip(column, metrics, strict=True):
        rows = table[table["metric"] == metric]
        clear = (rows["difference_low"] > 0) | (rows["difference_high"] < 0)
        colors = ["#1b6ca8" if certain else "#8a8a8a" for certain in clear]
        axes.axhline(0, color="black", linewidth=0.8, linestyle=":")
        axes.vlines(
            rows["target_coverage"], rows["difference_low"], rows["difference_high"], colors=colors, linewidth=2
        )
        axes.scatter(rows["target_coverage"], rows["difference"], c=colors, s=40, zorder=3)
        axes.grid(alpha=0.3)
    column[0].set_title(f"{name}\nless AUCross")
    column[1].set(xlabel="coverage asked for", xlim=(0.975, 0.675))
for axes, label in zip(panels[:, 0], metrics.values(), strict=True):
    axes.set_ylabel(f"difference in {label}")
for axes in panels[0, 1:]:
    axes.set_ylim(-0.022, 0.022)
for axes in panels[1]:
    axes.set_ylim(-0.045, 0.045)
plt.show()

# %%
# * Maximum probability is far behind in AUC, by more the more is rejected (mind the scale of the first panel).
# * These rows show no difference in AUC between the best band and the centred band of the paper.
# * The mean of the fold models is ahead of ours everywhere, by about a hundredth: as for most boosted trees, it ranks
#   better than one of them. It costs five models to keep and to run.
#
# Grey points have an interval that holds zero: no difference was shown. The AUC is one aim of several. If the aim is
# correct labels, maximum probability wins the first comparison:

rows = tables["maximum probability"]
for row in rows[(rows["metric"] == "selective_accuracy") & rows["target_coverage"].isin([0.9, 0.8])].itertuples():
    print(
        f"accuracy at {row.target_coverage:.1f}: AUCross {row.reference_value:.3f}, {row.classifier} {row.value:.3f}, "
        f"difference {row.difference:+.3f} ({row.difference_low:+.3f} to {row.difference_high:+.3f})"
    )
