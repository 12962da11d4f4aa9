"""Noise in the last digits of scores: which scores count as equal, and how far from a score a band ends.

The score of a row can differ in its last digits between batches, numbers of threads or machines, because sums are
computed in another order. So one rule applies wherever scores are compared with each other or with the end of a band:

- Scores that differ by less than the noise are ranked as one (:func:`without_noise`).
- A band ends beyond its last score by the noise, or half way to the next score where that is nearer
  (:func:`kept_clear`). So last digits move neither score across the end, and the band keeps its share of rows.

The noise is taken to be a billionth of the score (for a probability near 1, of its distance from 1), although in fact
it is 1e-16 to 1e-13. Scores in single precision have a noise of 4e-6. Whole numbers, such as the points of a scorecard,
have none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from aucross.core.bands import RejectionBand

FloatArray = NDArray[np.float64]

# Noise as a share of the score: scores of one row in two batches were seen 6e-14 apart, in single precision 4e-7. Then
# the rounding of probabilities themselves, which is all that is left near 1, and the least noise, as a share of the
# largest score: decision values near 0 are differences of large terms.
_IN_DOUBLE = (1e-9, 64 * float(np.finfo(np.float64).eps), 1e-12)
_IN_SINGLE = (4e-6, 8 * float(np.finfo(np.float32).eps), 1e-6)

# Scores that lie closer than the noise over more than its length are many different ones: they are told apart by gaps
# an eighth as large, so many times.
_FINER = 6


def noise_share(scores: FloatArray) -> float:
    """Return the noise relative to the size of a score, given the precision of the scores."""
    return (_IN_SINGLE if _are_in_single_precision(scores) else _IN_DOUBLE)[0]


def noise_of(scores: FloatArray) -> FloatArray:
    """Return how much each score of a model may differ between batches or machines; 0 if all are whole numbers."""
    if not len(scores) or (scores == np.rint(scores)).all():
        return np.zeros(len(scores))
    share, digits, least = _IN_SINGLE if _are_in_single_precision(scores) else _IN_DOUBLE
    if scores.min() >= 0 and scores.max() <= 1:  # probabilities, or how sure a model is
        return np.asarray(share * np.minimum(scores, 1.0 - scores) + digits * scores)
    size = np.abs(scores)
    return np.asarray(np.maximum(share * size, least * size.max()))


def _are_in_single_precision(scores: FloatArray) -> bool:
    """Return whether scores, or 1 minus them, are float32 numbers; scores next to 1 are ignored."""
    with np.errstate(over="ignore"):
        is_single = scores.astype(np.float32) == scores
    if is_single.all():
        return True
    rest = 1.0 - scores[~is_single]
    if (np.abs(rest) > 1).any():
        return False
    telling = rest[rest >= 1e-6]
    return len(telling) > 0 and bool((np.abs(telling.astype(np.float32) - telling) <= 2e-16).all())


def without_noise(scores: FloatArray) -> FloatArray:
    """Return scores, column by column, after making those equal that differ only by noise; their order stays."""
    if scores.ndim == 2:
        return np.column_stack([without_noise(column) for column in scores.T]) if scores.size else scores
    distinct, place = np.unique(scores, return_inverse=True)
    noise = noise_of(distinct)
    if not (np.diff(distinct) < noise[1:]).any():
        return scores
    is_first = _is_first(distinct, noise, _FINER)
    starts = np.flatnonzero(is_first)
    middle = (starts + np.append(starts[1:], len(distinct)) - 1) // 2  # one of them, so that float32 stays float32
    return np.asarray(distinct[middle][(np.cumsum(is_first) - 1)[place]])


def _is_first(ascending: FloatArray, noise: FloatArray, finer: int) -> NDArray[np.bool_]:
    """Return whether each distinct score begins a run of scores that count as equal."""
    is_first = np.append(True, np.diff(ascending) >= noise[1:])
    starts = np.flatnonzero(is_first)
    stops = np.append(starts[1:], len(ascending))
    is_long = ascending[stops - 1] - ascending[starts] > noise[starts] / 2
    if is_long.any():
        inside = np.repeat(is_long, stops - starts)
        is_first[inside] = _is_first(ascending[inside], noise[inside] / 8, finer - 1) if finer else True
    return is_first


def kept_clear(band: RejectionBand, known: FloatArray, noise: FloatArray) -> RejectionBand:
    """Move the ends of a band away from the distinct ascending `known` scores; it rejects the same ones as before."""
    if band.is_empty or not len(known):
        return band
    start = int(np.searchsorted(known, band.lower, side="left"))
    stop = int(np.searchsorted(known, band.upper, side="right"))
    return RejectionBand(_between(band.lower, known, noise, start), _between(band.upper, known, noise, stop))


def _between(end: float, known: FloatArray, noise: FloatArray, place: int) -> float:
    """Return an end of a band between the neighbours `place` - 1 and `place`, away from both."""
    if np.isinf(end):
        return end
    below = float(known[place - 1]) if place else -np.inf
    above = float(known[place]) if place < len(known) else np.inf
    half = (above - below) / 2
    lowest = below + min(float(noise[place - 1]), half) if place else -np.inf
    highest = above - min(float(noise[place]), half) if place < len(known) else np.inf
    moved = min(max(end, lowest), highest)
    return moved if below < moved < above else end  # not between neighbours in the last digit


def ends_above(known: FloatArray) -> FloatArray:
    """Return the upper end of each distinct ascending score: beyond its noise, at most half way to the next."""
    gaps = np.append(np.diff(known), np.inf)
    ends = known + np.minimum(noise_of(known), gaps / 2)
    return np.asarray(np.where(ends < np.append(known[1:], np.inf), ends, known))


def nearest_known(scores: FloatArray, known: FloatArray, noise: FloatArray) -> FloatArray:
    """Replace each score by the known score that equals it up to noise; `known` is ascending and not empty."""
    place = np.searchsorted((known[1:] + known[:-1]) / 2, scores)
    return np.asarray(np.where(np.abs(scores - known[place]) <= noise[place], known[place], scores))
