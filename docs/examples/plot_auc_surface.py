"""
The AUC over both ends of the band
==================================

Every band is a point: where it begins and where it ends. The AUC of the kept rows is a surface over these points, and
placing a band means finding the highest of the points that keep the coverage. Prefix sums make every point cost a
handful of look-ups, so the whole surface can be drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

from aucross.core import OptimalBands, RankedScores, ThresholdBands, estimate_auc_bands

rng = np.random.default_rng(0)
positive = rng.random(4000) < 0.2
evidence = rng.normal(1.2 * positive, 1.0)
# The score is the true probability of the positive class, so that the predicted label changes at 0.5.
score = 1 / (1 + np.exp(-(np.log(0.2 / 0.8) + 1.2 * evidence - 0.72)))
ranked = RankedScores.from_labels(positive, score)

coverage = 0.8

# %%
# Three ways to spend the same budget of a fifth of the rows. Maximum probability rejects the scores nearest to 0.5,
# which is an interval as well.

halves = [RankedScores.from_labels(positive[part::2], score[part::2]) for part in (0, 1)]
correct = (score > 0.5) == positive
threshold = ThresholdBands(RankedScores.from_labels(correct, np.maximum(score, 1 - score))).band(coverage).upper
bands = {
    "optimal": OptimalBands(ranked.isotonic()).band(coverage),
    "centred": estimate_auc_bands(ranked, halves, placement="centered").band(coverage),
}
ends = {name: np.array(ranked.block(band)) / len(ranked) for name, band in bands.items()}
ends["maximum probability"] = np.searchsorted(ranked.scores, (1 - threshold, threshold)) / len(ranked)

# %%
# The surface is drawn on isotonic labels, which are what the search uses. Both axes are in shares of rows. Points under
# the diagonal are no bands; points above the line of full width reject too much.

smooth = ranked.isotonic()
ticks = np.linspace(0, len(smooth), 201).astype(int)
starts, stops = np.meshgrid(ticks, ticks)
won, kept = smooth.pairs(starts.ravel(), stops.ravel())
auc = np.full(starts.size, np.nan)
np.divide(won, kept, out=auc, where=(kept > 0) & (starts.ravel() <= stops.ravel()))
auc = auc.reshape(starts.shape)

share = ticks / len(smooth)
full_width = share[share <= coverage]
figure, axes = plt.subplots(figsize=(7.5, 6), layout="constrained")
surface = axes.pcolormesh(share, share, auc, cmap="viridis", shading="nearest", vmin=0.6, vmax=1.0, rasterized=True)
axes.contour(share, share, auc, levels=np.arange(0.62, 1.0, 0.02), colors="white", linewidths=0.4, alpha=0.6)
axes.fill_between(full_width, full_width + 1 - coverage, 1, color="white", alpha=0.3, linewidth=0)
axes.plot(full_width, full_width + 1 - coverage, color="white", linewidth=2)
axes.plot((0, 1), (0, 1), color="black", linewidth=1)
axes.text(0.06, 0.29, "full width", color="black", rotation=45, rotation_mode="anchor")
axes.text(0.20, 0.60, "rejects too much", color="black", rotation=45, rotation_mode="anchor")
axes.text(0.10, 0.17, "feasible", color="white", rotation=45, rotation_mode="anchor")
axes.text(0.55, 0.50, "empty band", color="black", rotation=45, rotation_mode="anchor")
for (name, (start, stop)), marker in zip(ends.items(), "*os", strict=True):
    block_won, block_kept = smooth.pairs(*(np.array([round(end * len(smooth))]) for end in (start, stop)))
    label = f"{name}: AUC {(block_won / block_kept)[0]:.3f}"
    axes.plot(start, stop, marker, color="#ff5a36", markeredgecolor="black", markersize=13, label=label)
axes.set(xlabel="share of rows below the band", ylabel="share of rows up to its upper end", aspect="equal")
axes.set(xlim=(0, 1), ylim=(0, 1))
axes.legend(loc="lower right", title=f"coverage {coverage}")
figure.colorbar(surface, ax=axes, label="AUC of the kept rows", extend="min")
plt.show()
