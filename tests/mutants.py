"""Small mistakes that the tests must notice: `make mutants`, or `python tests/mutants.py core cli` for some parts.

A mutant is one line of the package, Python or SQL, with a mistake in it. Each is made in a copy of `src`, and the tests
that should notice it run there; one that none of them notices is a missing test. Text that does not stand in its part
exactly once is stale: the line was rewritten, and this list must follow it, as `tests/test_mutants.py` checks. The
tests of each part run without a mistake first, and must pass. No part may be missing here.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing
import os
import shutil
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

# Loaded once, for all processes; not the package itself.
SHARED = ("pytest", "numpy", "pandas", "scipy.stats", "sklearn.ensemble", "sklearn.pipeline")

# By part: the line, the mistake, and the tests that should notice it.
MUTANTS: dict[str, list[tuple[str, str, str]]] = {
    "core": [
        (
            "np.multiply(losers, 0.5, out=won)",
            "np.multiply(losers, 0.0, out=won)",
            "core/test_ranking.py",
        ),
        (
            "beaten_by = 1 - (np.cumsum(positives) - positives / 2)",
            "beaten_by = 1 - np.cumsum(positives)",
            "core/test_ranking.py",
        ),
        (
            'start = int(np.searchsorted(self.scores, band.lower, side="left"))',
            'start = int(np.searchsorted(self.scores, band.lower, side="right"))',
            "core/test_ranking.py",
        ),
        (
            "return np.stack((powers * positive, powers * ~positive))",
            "return np.stack((powers * ~positive, powers * positive))",
            "core/test_ranking.py",
        ),
        (
            "return float(share.sum() ** 2 / (share @ share))",
            "return float(share.sum() / (share @ share))",
            "core/test_ranking.py",
        ),
        (
            "(values >= self.lower) & (values <= self.upper)",
            "(values > self.lower) & (values <= self.upper)",
            "core/test_bands.py",
        ),
        (
            "is_percentage = 2.0 <= value <= 100.0",
            "is_percentage = 1.0 <= value <= 100.0",
            "core/test_bands.py",
        ),
        (
            "boxes = boxes[:, bounds > best.value + _ROUNDING]",
            "boxes = boxes[:, bounds > best.value + 0.01]",
            "core/test_search.py",
        ),
        (
            "best = int(equals[len(equals) // 2])",
            "best = int(equals[0])",
            "core/test_search.py",
        ),
        (
            "return total * (1.0 - coverage) + 1e-12 * total",
            "return total * (1.0 - coverage)",
            "core/test_search.py",
        ),
        (
            "WHOLE_SAMPLE_SHARE = 1 / sqrt(2)",
            "WHOLE_SAMPLE_SHARE = 1 / 2",
            "core/test_rules.py",
        ),
        (
            "return RejectionBand(-inf, min(_blend(whole, halves), whole))",
            "return RejectionBand(-inf, _blend(whole, halves))",
            "core/test_rules.py",
        ),
        (
            "positives_from_top, auc_times_positives + 1",
            "positives_from_top, auc_times_positives - 1",
            "core/test_rules.py golden",
        ),
        (
            "places = np.concatenate([(np.arange(size) + 0.5) / size",
            "places = np.concatenate([(np.arange(size) + 1.0) / size",
            "core/test_capacity.py",
        ),
        (
            'return np.argsort(score, kind="stable") if order is None else np.lexsort((order, score))',
            'return np.argsort(score, kind="stable")',
            "core/test_capacity.py",
        ),
        (
            "return self.cubes / self.squares",
            "return self.squares / self.weight",
            "core/test_bounds.py evaluation/test_promise.py",
        ),
    ],
    "frames": [
        (
            "return datetime(1970, 1, 1) + timedelta(days=float(days))",
            "return datetime(1970, 1, 1) + timedelta(hours=float(days))",
            "test_frames.py estimators/test_text_and_dates.py",
        ),
        (
            'if kind not in ("text", "other")',
            'if kind != "text"',
            "test_frames.py estimators/test_strange_values.py",
        ),
    ],
    "datasets": [
        (
            '0.16 * np.minimum(rows["inquiries_6m"], 6)',
            '0.16 * np.minimum(rows["inquiries_6m"], 1)',
            "datasets",
        ),
        (
            'np.where(unstated, np.nan, rows["debt_to_income"])',
            'rows["debt_to_income"]',
            "datasets",
        ),
        (
            'return _sigmoid(risk + _at(rows["issue_date"], STRESS))',
            "return _sigmoid(risk)",
            "datasets",
        ),
    ],
    "estimators": [
        (
            "return None if (times == 1).all() else 1.0 / times",
            "return None",
            "estimators/test_held_out.py",
        ),
        (
            "return len(np.unique(self.rows))",
            "return len(self.rows)",
            "estimators/test_held_out.py",
        ),
        (
            "missing = OWN_BAND_ROWS - n_own",
            "missing = 0",
            "estimators/test_band_groups.py",
        ),
        (
            "nested = (weight * (count > 1)).max() / weight.sum() > LARGEST_TIE",
            "nested = False",
            "estimators/test_ties.py",
        ),
        (
            "[np.flatnonzero(self.half == number) for number in (0, 1)]",
            "[np.flatnonzero(self.half == number) for number in (0, 0)]",
            "estimators/test_hashed_folds.py",
        ),
        (
            "Caution(n_rows, confidence, tied=self.rows.may_be_tied)",
            "Caution(n_rows, confidence, tied=False)",
            "estimators/test_coverage_promise.py",
        ),
        (
            "return values if self.higher_is_positive else 1.0 - values",
            "return values",
            "estimators/test_score_column.py",
        ),
        (
            "if abs(by_gate - by_score) >= AGREEMENT",
            "if abs(by_gate - by_score) <= AGREEMENT",
            "estimators/test_review.py",
        ),
        (
            "return bits ^ (bits >> np.uint64(31))",
            "return bits",
            "estimators/test_row_hash.py",
        ),
        (
            'return f"{100 * share:.0f} %" if share < 0.995 else "over 99 %"',
            'return f"{100 * share:.0f} %"',
            "estimators/test_review.py",
        ),
        (
            "if len(side.rows) >= _FEWEST_BESIDE]",
            "if len(side.rows)]",
            "estimators/test_reasons.py",
        ),
        (
            "tells = (toward > 0.5 * least) & (beyond > 0)",
            "tells = toward > 0.5 * least",
            "estimators/test_reasons.py",
        ),
    ],
    "evaluation": [
        (
            "ranked.negatives_below / ranked.total_negatives - ranked.positives_below / ranked.total_positives",
            "ranked.positives_below / ranked.total_positives - ranked.negatives_below / ranked.total_negatives",
            "evaluation/test_metrics.py",
        ),
        (
            "is_rare = overall <= 0.5",
            "is_rare = overall >= 0.5",
            "evaluation/test_guard.py",
        ),
        (
            "if self.chance > self.guard.significance:",
            "if self.chance < self.guard.significance:",
            "evaluation/test_guard.py",
        ),
        (
            "return self.share_of_fit == 0 and all(",
            "return all(",
            "evaluation/test_promise.py",
        ),
        (
            "of_shares = {name: share_losses(*powers) for name, powers in self.shares.items()}",
            "of_shares = {name: share_losses(*powers[::-1]) for name, powers in self.shares.items()}",
            "evaluation/test_promise.py",
        ),
        (
            "choice = (drawn[:, None] >= np.cumsum(probability, axis=1)[:, :-1]).sum(axis=1)",
            "choice = (drawn[:, None] < np.cumsum(probability, axis=1)[:, :-1]).sum(axis=1)",
            "evaluation/test_team.py",
        ),
        (
            "if level < 0.5:",
            "if level < 0.4:",
            "evaluation/test_promise.py",
        ),
    ],
    "export": [
        (
            'f"{name} < {sql_number(band.lower)}"',
            'f"{name} <= {sql_number(band.lower)}"',
            "export/test_band_text.py export/test_sql_dialects.py",
        ),
        (
            'is_number = f"+{name} BETWEEN -1e308 AND 1e308"',
            'is_number = f"{name} IS NOT NULL"',
            "export/test_band_text.py export/test_sql_dialects.py",
        ),
        (
            'value.replace("\'", "\'\'")',
            "value",
            "export/test_band_text.py export/test_rule_text.py",
        ),
        (
            "return RejectionBand(-inf if lower is None else float(lower), inf if upper is None else float(upper))",
            "return RejectionBand(0.0 if lower is None else float(lower), inf if upper is None else float(upper))",
            "export/test_band_text.py",
        ),
        (
            'f"x - {origin}" if score.higher_is_positive else f"{origin} - x"',
            'f"x - {origin}"',
            "export/test_rule_text.py",
        ),
        (
            "return Trees(roots, divisor=float(len(roots)), in_float32=True)",
            "return Trees(roots, divisor=1.0, in_float32=True)",
            "export/test_onnx.py",
        ),
    ],
    "files": [
        (
            "if member.file_size > _LARGEST_RATIO * (member.compress_size + 1):",
            "if member.file_size > 2 * _LARGEST_RATIO * (member.compress_size + 1):",
            "files/test_damaged_files.py",
        ),
        (
            "if version != FORMAT_VERSION:",
            "if version < FORMAT_VERSION:",
            "files/test_model_file.py",
        ),
        (
            "if len(key) < 16:",
            "if len(key) < 8:",
            "files/test_model_file.py",
        ),
        (
            'must(labels.min() >= 0 and labels.max() < len(state["classes_"]), "labels must be among the classes")',
            'must(labels.min() >= 0, "labels must be among the classes")',
            "files/test_crafted_files.py",
        ),
        (
            "np.frombuffer(content, dtype=np.uint8, offset=len(prefix)).max(initial=0) > 1",
            "np.frombuffer(content, dtype=np.uint8, offset=len(prefix)).max(initial=0) > 255",
            "files/test_crafted_files.py",
        ),
    ],
    "record": [
        (
            "if made != stored:",
            "if not made:",
            "record/test_case_record.py",
        ),
        (
            "if read[needed[-1]] not in allowed:",
            "if not read[needed[-1]]:",
            "record/test_case_record.py",
        ),
        (
            'yield "inputs", _hash_of(known), _hash_of(mine)',
            'yield "inputs", len(known), len(mine)',
            "record/test_case_record.py",
        ),
    ],
    "watch": [
        (
            "is_new = before <= 0",
            "is_new = before <= -9",
            "watch/test_sequential.py",
        ),
        (
            "if after.log_evidence >= -log(self.false_alarm) else after",
            "if after.log_evidence >= -log(self.false_alarm) / 2 else after",
            "watch/test_sequential.py",
        ),
        (
            "by_chance = spread * (1 / n + 1 / self.n_reference)",
            "by_chance = spread * (1 / n)",
            "watch/test_stability.py",
        ),
        (
            "freedom = int((expected > 0).sum()) - 1",
            "freedom = int((expected > 0).sum())",
            "watch/test_stability.py",
        ),
        (
            "return 1 / (1 + log(batch))",
            "return 1 / batch",
            "watch/test_sequential.py",
        ),
        (
            "            level = target + step * (n * target - k)\n",
            "            level = min(max(target + step * (n * target - k), 0.0), 1.0)\n",
            "watch/test_keeper.py",
        ),
        (
            "self.follow(start + counted, len(block), selects)",
            "self.follow(start, len(block), selects)",
            "watch/test_keeper.py",
        ),
    ],
    "serve": [
        (
            'return token is None or hmac.compare_digest(authorization, b"Bearer " + token)',
            'return token is None or authorization.startswith(b"Bearer ")',
            "serve/test_hostile_requests.py serve/test_serve.py",
        ),
        (
            "int(declared) > self._most_bytes:",
            "int(declared) > 9 * self._most_bytes:",
            "serve/test_hostile_requests.py",
        ),
        (
            "if not batch.is_new:",
            "if batch.is_new:",
            "serve/test_serve.py",
        ),
        (
            "if not is_left_out and converted not in known:",
            "if not is_left_out and not known:",
            "serve/test_serve.py",
        ),
    ],
    "desk": [
        ("if given or self.rules.shows_machine:", "if True:", "desk/test_desk_work.py"),
        (
            'if not hmac.compare_digest(str(form.get("form_token", "")).encode(), expected.encode()):',
            'if "form_token" not in form:',
            "desk/test_desk.py",
        ),
        (
            'if before is not None and before["answer"] == given["answer"]:',
            'if before is None and before["answer"] == given["answer"]:',
            "desk/test_desk.py",
        ),
        ('"reviewer": person.name, "time": appending.time}', '"reviewer": person.name}', "desk/test_desk_work.py"),
        ("places.get(row.number, _RANDOM.random())", "places.get(row.number, 0.999)", "desk/test_desk_work.py"),
        ("_o.needed == 1, ~sa.exists()", "_o.needed >= 1, ~sa.exists()", "desk/test_desk_work.py"),
    ],
    "report": [
        (
            '"n_review": len(rows.positive_of_all) - int(mask.sum()),',
            '"n_review": len(rows.positive_of_all),',
            "report/test_contents.py",
        ),
        (
            "missed, alarm = mask & rows.positive & ~rows.predicted, mask & ~rows.positive & rows.predicted",
            "missed, alarm = rows.positive & ~rows.predicted, mask & ~rows.positive & rows.predicted",
            "report/test_every_figure.py",
        ),
        (
            'high = rows.predicted if band is None else rows.score > (band["lower"] + band["upper"]) / 2.0',
            "high = rows.predicted",
            "report/test_every_figure.py",
        ),
        (
            'amount * (cases or 1000) / summary["data"]["n"]',
            'amount * (cases or 1000) / (summary["data"]["n"] + 1)',
            "report/test_every_figure.py",
        ),
        (
            '"yes" if gap["gap"] > gap["gap_by_chance"] else "no"',
            '"no" if gap["gap"] > gap["gap_by_chance"] else "yes"',
            "report/test_contents.py",
        ),
        (
            "if part.level is None or np.count_nonzero(part.values) >= LEAST_ROWS_SHOWN",
            "if part.level is None or np.count_nonzero(part.values) >= 0",
            "report/test_review_differences.py",
        ),
        (
            "smaller = int(min(rows.positive[selected].sum(), (~rows.positive[selected]).sum()))",
            "smaller = int(max(rows.positive[selected].sum(), (~rows.positive[selected]).sum()))",
            "report/test_contents.py report/test_variants.py",
        ),
        (
            "(50 * value / largest for value in row)",
            "(100 * value / largest for value in row)",
            "report/test_html.py report/test_review_differences.py",
        ),
        (
            "FEWEST_SHOWN = 10",
            "FEWEST_SHOWN = 9",
            "report/test_oversight.py",
        ),
        (
            "(n_hidden == 1 or n_cases[by_size[:n_hidden]].sum() < FEWEST_SHOWN)",
            "(n_hidden == 1)",
            "report/test_oversight.py",
        ),
        (
            "is_needed = labelled < FEWEST_LABELLED * drawn and any(row[2] and row[0] not in late for row in rows)",
            "is_needed = False",
            "report/test_oversight_figures.py",
        ),
        (
            "one, other = np.nonzero((distance < 1e-9) & (together < FEWEST_SHOWN))",
            "one, other = np.nonzero((distance < -1.0) & (together < FEWEST_SHOWN))",
            "report/test_oversight_figures.py",
        ),
        (
            "CASE WHEN would_be = 'automatic' THEN 1.0 / audit_probability",
            "CASE WHEN would_be = 'automatic' THEN 1.0",
            "report/test_oversight.py",
        ),
        (
            "ELSE 1.0 / coalesce(strip_probability, 1.0) END AS w",
            "ELSE 1.0 END AS w",
            "report/test_oversight.py",
        ),
    ],
    "cli": [
        (
            "if len(labels) > 2:",
            "if len(labels) > 3:",
            "cli/test_labels.py",
        ),
        (
            "start = np.sort(times)[n_rows - max(1, round(test_size * n_rows))]",
            "start = np.sort(times)[max(1, round(test_size * n_rows))]",
            "cli/test_splitting.py",
        ),
        (
            "elif fewest[0] < FEWEST_ROWS_TO_CONCLUDE:",
            "elif fewest[0] <= FEWEST_ROWS_TO_CONCLUDE:",
            "cli/test_conclusion.py",
        ),
        (
            "if len(distinct) > max(_FEW_CATEGORIES, _NEARLY_UNIQUE * len(text)):",
            "if len(distinct) > len(text):",
            "cli/test_columns.py cli/test_privacy.py",
        ),
        (
            'return f"got {floats[row]:g} in row {first_row + row}"',
            'return f"got {floats[row]:g} in row {row}"',
            "cli/test_columns.py cli/test_weights_groups_dates.py cli/test_errors.py",
        ),
        (
            'if capacity is not None and capacity < found["unscored"]:',
            "if capacity is not None and capacity <= 0:",
            "cli/test_score.py",
        ),
        (
            "delimiter = separator or max(DELIMITERS, key=",
            "delimiter = separator or min(DELIMITERS, key=",
            "cli/test_tables.py",
        ),
        (
            "capacity = max(self.options.capacity - int((~has_score).sum()), 0)",
            "capacity = self.options.capacity",
            "cli/test_score.py cli/test_unscored.py",
        ),
    ],
    "mlflow": [
        (
            "if FLAVOR_NAME not in flavors:",
            "if not flavors:",
            "mlflow",
        ),
        (
            "for value in column.dropna().unique() if value not in categories})",
            "for value in column.unique() if value in categories})",
            "mlflow",
        ),
    ],
    "torch": [
        (
            "shortfall = penalty * torch.relu(coverage - mean_selected) ** 2",
            "shortfall = penalty * torch.relu(mean_selected - coverage) ** 2",
            "torch/test_losses.py",
        ),
        (
            "return momentum * targets + (1 - momentum) * probabilities",
            "return (1 - momentum) * targets + momentum * probabilities",
            "torch/test_losses.py",
        ),
        (
            "return weighted_mean(-torch.logaddexp(of_label, reserve), weight)",
            "return weighted_mean(-torch.logaddexp(of_label, reserve), None)",
            "torch/test_losses.py",
        ),
        (
            "return torch.tensor_split(order, ceil(len(order) / batch_size))",
            "return torch.split(order, batch_size)",
            "torch/test_training.py",
        ),
        (
            "self.generator = torch.Generator().manual_seed(seed)",
            "self.generator = torch.Generator().manual_seed(0)",
            "torch/test_training.py",
        ),
    ],
    "audit": [
        (
            "return np.asarray(places, dtype=np.float64) / 2.0**64 < wanted",
            "return np.asarray(places, dtype=np.float64) / 2.0**64 > wanted",
            "audit/test_audit_draw.py",
        ),
        (
            "if n_of_class < FEWEST_OF_A_CLASS:",
            "if n_of_class < 1:",
            "audit/test_audited_auc.py",
        ),
        (
            "fits = ((checked >= 0.0) if may_be_zero else (checked > 0.0))",
            "fits = (checked >= 0.0)",
            "audit/test_audited_auc.py",
        ),
        (
            "added = np.array([1.0, -1.0, 0.0, 0.0])",
            "added = np.empty(0)",
            "audit/test_effect_of_review.py",
        ),
        (
            "((drawn, chance), (~drawn, 1 - chance))",
            "((drawn, chance), (~drawn, chance))",
            "audit/test_effect_of_review.py",
        ),
        (
            "chosen = max((place for place in range(1, at) if steps[place].low >= promise), default=0)",
            "chosen = max(at - 1, 0)",
            "audit/test_earned_coverage.py",
        ),
        (
            "- (spent[1] - spent[0]), -span, span)",
            "- spent[1], -span, span)",
            "audit/test_earned_coverage.py",
        ),
    ],
    "cluster": [
        (
            "own = np.flatnonzero(part.fold == fold)",
            "own = np.flatnonzero(part.fold == (fold + 1) % len(counting.models))",
            "cluster/test_dask.py",
        ),
        (
            "half = None if part.half is None else part.half[held]",
            "half = None if part.half is None else 1 - part.half[held] % 1",
            "cluster/test_dask.py",
        ),
        (
            "return replace(evaluation, at_least=asks_for_at_least(clf))",
            "return evaluation",
            "cluster/test_third_engine.py",
        ),
    ],
    "system": [
        (
            "return MARK + text if _is_formula(text) else text",
            "return text",
            "system/test_spreadsheets.py",
        ),
        (
            "return percent(floor(1000 * share + 1e-9) / 1000)",
            "return percent(round(1000 * share) / 1000)",
            "system/test_text.py",
        ),
        (
            'return f"{round(100 * share, 1):g} %"',
            'return f"{round(100 * share):g} %"',
            "system/test_text.py",
        ),
    ],
}


class Mutant(NamedTuple):
    """A mistake in one line of a part of the package; without a line, none, which the tests must pass."""

    part: str
    old: str
    new: str
    tests: str

    def places(self, source: Path) -> list[Path]:
        """Return the file of each place where the line stands; one that is not stale has one place."""
        named = (f"{self.part}/**/*.py", f"{self.part}/**/*.sql", f"{self.part}.py")
        files = sorted(path for name in named for path in (source / "aucross").glob(name))
        return [path for path in files for _ in range(path.read_text(encoding="utf-8").count(self.old))]

    def fate(self) -> str:
        """Make the mistake in a copy of the package and say what the tests made of it."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "src"
            shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
            if not self.old:
                return self._judged(source, passed="passes", failed="FAILS")
            found = self.places(source)
            if len(found) != 1:
                return f"STALE: {len(found)} times in {self.part}"
            text = found[0].read_text(encoding="utf-8")
            found[0].write_text(text.replace(self.old, self.new), encoding="utf-8")
            return self._judged(source, passed="NOT NOTICED", failed="noticed")

    def _judged(self, source: Path, *, passed: str, failed: str) -> str:
        """Run the tests in this process, which has not loaded the package yet."""
        import pytest  # noqa: PLC0415 - loaded by then, and this file needs it nowhere else

        os.environ["PYTHONPATH"] = str(source)  # for processes that tests start
        sys.path.insert(0, str(source))
        sys.dont_write_bytecode = False  # else every mutant would translate the tests again
        os.chdir(ROOT)
        paths = [f"tests/{name}" for name in self.tests.split()]
        with redirect_stdout(io.StringIO()) as said, redirect_stderr(said):
            code = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *paths])
        # Tests that could not run are no answer.
        return {0: passed, 1: failed}.get(int(code), f"BROKEN: {said.getvalue()[-300:]}")

    def fate_apart(self) -> str:
        """Return the fate, found by a process of its own that may start others, as workers of a pool may not."""
        context = multiprocessing.get_context("fork")
        answer = context.SimpleQueue()

        def find() -> None:
            answer.put(self.fate())
            os._exit(0)  # without waiting for threads that the tests have left

        process = context.Process(target=find)
        process.start()
        process.join()
        return "BROKEN: its process ended without an answer" if answer.empty() else answer.get()


def mutants_of(part: str) -> list[Mutant]:
    """Return the mutants of a part, behind the part without a mistake: tests that fail anyway notice nothing."""
    tests = {name: None for _, _, names in MUTANTS[part] for name in names.split()}
    return [Mutant(part, "", "", " ".join(tests)), *(Mutant(part, *rest) for rest in MUTANTS[part])]


def main() -> int:
    """Try the mutants of all parts, or of those that are named, and print what became of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="parts of the package, such as core; all by default")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="mutants at a time")
    options = parser.parse_args()
    mutants = [mutant for part in options.parts or MUTANTS for mutant in mutants_of(part)]
    for name in SHARED:
        import_module(name)
    fates = []
    with ThreadPool(options.jobs) as pool:
        for mutant, fate in zip(mutants, pool.imap(Mutant.fate_apart, mutants), strict=True):
            sys.stdout.write(f"{mutant.part:<11}{fate:<12}{mutant.old.strip() or 'without a mistake'}\n")
            sys.stdout.flush()
            fates.append(fate)
    n_mutants = sum(bool(mutant.old) for mutant in mutants)
    sys.stdout.write(f"{fates.count('noticed')} of {n_mutants} mutants were noticed\n")
    return int(set(fates) != {"noticed", "passes"})


if __name__ == "__main__":
    sys.exit(main())
