"""Metrics of a server for Prometheus: requests, refusals, decisions, the coverage so far and its alarm."""

from __future__ import annotations

import warnings
from threading import Lock

import numpy as np
from numpy.typing import NDArray
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, generate_latest

from aucross.estimators.decisions import AUTOMATIC, REVIEW
from aucross.serve.decider import Decided
from aucross.watch.keeper import CoverageKeeper
from aucross.watch.monitor import CoverageMonitor

# Rows that are given to the monitor at a time; a look at the metrics gives it all.
_ROWS_A_BATCH = 200


class ServerMetrics:
    """Counts of requests and decisions, and a monitor of the automatic share."""

    def __init__(
        self, monitor: CoverageMonitor, fingerprints: dict[str, str], keeper: CoverageKeeper | None = None
    ) -> None:
        self._monitor, self._lock = monitor, Lock()
        self._new: list[NDArray[np.bool_]] = []
        self._n_new = self._n_rows = self._n_automatic = 0
        self.registry = registry = CollectorRegistry()
        Info("aucross_model", "Names of rule and model.", registry=registry).info(fingerprints)
        by = ["path", "status"]
        self._requests = Counter("aucross_requests", "Requests by path and status.", by, registry=registry)
        self._refusals = Counter("aucross_refusals", "Refused requests by reason.", ["reason"], registry=registry)
        self._decisions = Counter("aucross_decisions", "Decided rows by decision.", ["decision"], registry=registry)
        self._seconds = Histogram(
            "aucross_request_seconds",
            "Seconds from a request to its answer.",
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
        )
        self._unscored = Counter(
            "aucross_rows_without_score",
            "Rows that go to review because they have no score; the coverage leaves them out.",
            registry=registry,
        )
        reference = monitor.reference
        Gauge(
            "aucross_target_coverage",
            "Share of rows that should be decided automatically: the coverage of the model; if that is a share of "
            "weight, the share of rows that it selected of those held out at the fit.",
            registry=registry,
        ).set(reference.share if reference.is_weighted else reference.coverage)
        self._coverage = Gauge(
            "aucross_coverage",
            "Share of rows decided automatically so far, of rows with a score at the coverage of the model.",
            registry=registry,
        )
        if keeper is not None:
            level = Gauge("aucross_keeper_level", "Coverage that the next row is asked at.", registry=registry)
            level.set_function(lambda: keeper.level)
        self._alarm = Gauge("aucross_coverage_alarm", "1 if the coverage has given an alarm.", registry=registry)
        self._evidence = Gauge("aucross_coverage_evidence", "Evidence against the target coverage.", registry=registry)
        self._coverage.set_function(lambda: self._n_automatic / self._n_rows if self._n_rows else float("nan"))

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(path, str(status)).inc()
        self._seconds.observe(seconds)

    def refused(self, reason: str) -> None:
        """Count a refused request."""
        self._refusals.labels(reason).inc()

    def decided(self, decided: Decided) -> None:
        """Count decisions; pass them to the monitor if they were made at its coverage."""
        made = decided.decisions
        selected = made.selected if made.would_be is None else made.would_be  # by the band, as at the fit
        n_automatic, n_handed_out = int(selected.sum()), int(decided.automatic.sum())
        self._decisions.labels(AUTOMATIC).inc(n_handed_out)
        self._decisions.labels(REVIEW).inc(len(selected) - n_handed_out)
        self._unscored.inc(int((~decided.has_score).sum()))
        if decided.decisions.coverage != self._monitor.reference.coverage:
            return
        # The rows held out at the fit, with which these are compared, all have a score.
        selected = watched = selected[decided.has_score]
        if decided.decisions.level is not None and decided.scored is not None:
            # A keeper hides drift from the selected share, and not from what the band of the fit would have done.
            watched = self._monitor.clf.decide(decided.scored).selected
        with self._lock:
            self._n_rows, self._n_automatic = self._n_rows + len(selected), self._n_automatic + n_automatic
            self._new.append(watched)
            self._n_new += len(selected)
            if self._n_new >= _ROWS_A_BATCH:
                self._tell_monitor()

    def text(self) -> bytes:
        """Return all numbers in the format of Prometheus."""
        with self._lock:
            self._tell_monitor()
            self._alarm.set(float(self._monitor.coverage_alarm))
            self._evidence.set(float(self._monitor.to_dict()["tests"]["coverage"]["evidence"] or 0.0))
        return generate_latest(self.registry)

    def _tell_monitor(self) -> None:
        if self._new:
            with warnings.catch_warnings():
                # That a capacity decides: batches of one size are all that a server has.
                warnings.simplefilter("ignore")
                self._monitor.update_selected(np.concatenate(self._new))
        self._new, self._n_new = [], 0
