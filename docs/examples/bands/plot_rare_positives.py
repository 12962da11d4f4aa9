"""
Why maximum probability fails when positives are rare
=====================================================

The usual way to abstain is to reject the rows with the lowest maximum probability, those with a score near 0.5. With as
many positives as negatives this is a good rule for the AUC, too. With few positives it is not. Then the rows near 0.5
are not those in the middle of the ranking: they are those at its top, and the ranking loses its best part.

Here the scores are true probabilities, so that no model is to blame, and only the share of positives changes.
"""

import matplotlib.pyplot as plt
import numpy as np

from aucross.core import OptimalBands, RankedScores

rng = np.random.default_rng(0)
n_rows, coverage, distance = 100_000, 0.8, 1.5


def draw(share):
    """Labels, and the probability of the positive class given one normal feature."""
    positive = rng.random(n_rows) < share
    feature = rng.normal(distance * positive, 1.0)
    log_odds = np.log(share / (1 - share)) + distance * feature - distance**2 / 2
    return positive, 1 / (1 + np.exp(-log_odds))


def gains(share):
    """AUC won by both rules, on other rows than those that placed them, and the share of scores below each of them."""
    placing, test = draw(share), draw(share)
    ranked = RankedScores.from_labels(*test)
    band = OptimalBands(RankedScores.from_labels(*placing).isotonic()).band(coverage)
    unsure = np.abs(test[1] - 0.5) <= np.quantile(np.abs(placing[1] - 0.5), 1 - coverage)
    by_confidence = RankedScores.from_labels(test[0][~unsure], test[1][~unsure])
    positions = [test[1] < band.lower, test[1] < test[1][unsure].min()]
    return ranked.auc(band) - ranked.auc(), by_confidence.auc() - ranked.auc(), *(part.mean() for part in positions)


shares = np.array([0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02])
of_band, of_confidence, band_starts, confidence_starts = np.array([gains(share) for share in shares]).T

# %%
# Both rules reject a fifth of the rows. This is what they do to the AUC:


def finish(axes):
    """The share of positives on the horizontal axis, falling to the right."""
    axes.set_xscale("log")
    axes.set_xticks([0.5, 0.2, 0.1, 0.05, 0.02], ["50 %", "20 %", "10 %", "5 %", "2 %"])
    axes.minorticks_off()
    axes.set(xlabel="share of positives", xlim=(0.53, 0.019))
    axes.grid(alpha=0.3)


figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
axes.axhline(0, color="black", linewidth=0.8, linestyle=":")
axes.plot(shares, of_band, "o-", color="#1b6ca8", linewidth=2, label="best band")
axes.plot(shares, of_confidence, "s--", color="#e08e0b", linewidth=2, label="maximum probability")
axes.set(ylabel="gain in AUC by rejecting a fifth of the rows")
axes.legend(frameon=False, loc="lower left")
finish(axes)
plt.show()

# %%
# With half of the rows positive both rules reject the same rows. The gain of maximum probability disappears between one
# positive in four and one in five, and with fewer positives the rule does harm.

for share, band_gain, confidence_gain in zip(shares[::2], of_band[::2], of_confidence[::2], strict=True):
    print(f"{share:4.0%} positives: best band {band_gain:+.3f}, maximum probability {confidence_gain:+.3f}")

# %%
# Which fifth is it? Each stripe shows the ranks that are rejected, from the lowest score at the bottom to the highest
# at the top. The fewer positives there are, the higher are the scores that maximum probability rejects, until they are
# the highest, where the positives are.

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for starts, color, label in (
    (band_starts, "#1b6ca8", "best band"),
    (confidence_starts, "#e08e0b", "maximum probability"),
):
    axes.fill_between(shares, starts, starts + 1 - coverage, color=color, alpha=0.45, linewidth=0, label=label)
axes.set(ylabel="rank of the rejected scores", ylim=(0, 1.02))
axes.legend(frameon=False, loc="lower right")
finish(axes)
plt.show()

# %%
# The AUC is not the only aim. If what counts is how many predicted labels are right, maximum probability is the rule to
# use: see the risk in :doc:`/auto_examples/plot_displays`. With a fitted model on synthetic loans the
# curves are those of :doc:`/auto_examples/plot_coverage_curve`.
