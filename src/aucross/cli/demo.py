"""aucross demo and aucross walkthrough: the value of the band, and all steps to decisions, on synthetic loans.

The table of the demo needs no extra; its report and its picture are written if their libraries are installed. The
walkthrough needs the extra ``cli``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from aucross.cli.errors import CommandError, UsageError
from aucross.cli.screen import Screen
from aucross.datasets import make_credit
from aucross.estimators import AUCross, SCross
from aucross.evaluation import SelectiveEvaluation, evaluate_selective
from aucross.system.whole_files import whole_file

if TYPE_CHECKING:
    from aucross.cli.command_options import DemoOptions, WalkthroughOptions

COVERAGES = (1.0, 0.99, 0.95, 0.90, 0.85, 0.80, 0.75)
SHOWN_COVERAGE = 0.80
N_LOANS = 20_000
MORE = 'The same with a report for a risk committee, and commands for tables of your own: pip install "aucross[demo]"'

_WANTED_AUC = 0.80
_FEWEST_ROWS = 500
_OF_THE_REPORT = ("pandas", "pyarrow", "jinja2")
_OF_THE_PICTURE = ("matplotlib",)
_SHARE_OF_NEW_ROWS = 0.2


@dataclass(frozen=True)
class LoanComparison:
    """Two fitted rules and their results on the same loans, which neither has seen."""

    X: Any
    y: Any
    n_loans: int
    default_rate: float
    aucross: AUCross
    of_aucross: SelectiveEvaluation
    of_max_probability: SelectiveEvaluation


def compare_on_loans(n_loans: int) -> LoanComparison:
    """Fit both rules on three quarters of the synthetic loans and evaluate them on the rest."""
    X, y, categorical = _loans(n_loans)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=0)
    model = HistGradientBoostingClassifier(categorical_features=categorical, random_state=0)
    fitted = [rule(model, coverage=SHOWN_COVERAGE, random_state=0).fit(X_train, y_train) for rule in (AUCross, SCross)]
    evaluations = [evaluate_selective(clf, X_test, y_test, COVERAGES, random_state=0) for clf in fitted]
    return LoanComparison(X_test, y_test, len(y), float(y.mean()), fitted[0], *evaluations)


def _loans(n_loans: int) -> tuple[Any, Any, Any]:
    """Return columns and outcomes of synthetic loans, and boosting's argument for which columns are categories."""
    if find_spec("pandas"):
        X, y = make_credit(n_loans, return_X_y=True)
        return X.drop(columns="issue_date"), y, "from_dtype"
    loans = make_credit(n_loans, as_frame=False)
    kept = [column for column, name in enumerate(loans.feature_names) if name != "issue_date"]
    return loans.data[:, kept], loans.target, [loans.feature_names[column] in loans.categories for column in kept]


def print_comparison(compared: LoanComparison, say: Callable[[str], None]) -> None:
    """Print the rules that were compared, the table of results, and its meaning."""
    say(
        f"Synthetic loan portfolio: {compared.n_loans:,} loans, {compared.default_rate:.1%} defaulted; "
        f"{len(compared.y):,} held back for the test."
    )
    say("")
    say(_row("", "AUCross", "max probability"))
    say(_row("asked for", _HEADER, _HEADER))
    for ours, usual in zip(_lines(compared.of_aucross), _lines(compared.of_max_probability), strict=True):
        say(_row(f"{ours['coverage']:.0%}", _cells(ours), _cells(usual)))
    say("")
    for sentence in _conclusion(compared):
        say(sentence)


def _lines(evaluation: SelectiveEvaluation) -> list[dict[str, float]]:
    names = {"coverage": "target_coverage", "automatic": "achieved_coverage"}
    names |= {f"auc{end}": f"selective_auc{end}" for end in ("", "_low", "_high")}
    return [{name: row[source] for name, source in names.items()} for row in evaluation.rows()]


_HEADER = f"{'automatic':>9} {'AUC':>8}  {'95 % interval':<16}"


def _cells(line: dict[str, float]) -> str:
    return f"{line['automatic']:>9.1%} {line['auc']:>8.4f} [{line['auc_low']:.4f}, {line['auc_high']:.4f}]"


def _row(asked: str, ours: str, usual: str) -> str:
    return f"{asked:>9}   {ours:<{len(_HEADER)}}   {usual}".rstrip()


def _conclusion(compared: LoanComparison) -> list[str]:
    lines = {line["coverage"]: line for line in _lines(compared.of_aucross)}
    everyone, shown = lines[1.0], lines[SHOWN_COVERAGE]
    band = compared.aucross.band()
    answer = compared.aucross.coverage_for(auc=_WANTED_AUC)
    sent = (
        f"Sending the {1 - shown['automatic']:.0%} of loans that score between {band.lower:.3f} and {band.upper:.3f} "
        f"to a person moves the AUC on the others from {everyone['auc']:.3f} to {shown['auc']:.3f}."
    )
    n_test, n_training = len(compared.y), compared.n_loans - len(compared.y)
    # The table runs from all loans to the fewest, so that the first line that reaches the AUC decides most loans.
    reached = next((line for line in lines.values() if line["auc"] >= _WANTED_AUC), None)
    if reached is None:
        on_test = f"   none  of the {n_test:,} test loans: no line of the table reaches it"
    else:
        interval = f"{reached['auc']:.3f}, 95 % interval {reached['auc_low']:.3f} to {reached['auc_high']:.3f}"
        on_test = (
            f"{reached['automatic']:>7.0%}  of the {n_test:,} test loans: what these loans happened to reach, the "
            f"highest such line of the table ({interval})"
        )
    return [
        sent,
        "",
        f"Loans that can be decided automatically with an AUC of {_WANTED_AUC:.2f} among them:",
        (
            f"{answer.value:>7.0%}  by held-out scores of the {n_training:,} training loans: what to plan with, "
            f"known before the test (95 % interval {answer.low:.0%} to {answer.high:.0%})"
        ),
        on_test,
    ]


def run_demo(options: DemoOptions, screen: Screen) -> dict[str, Any]:
    """Compare, print, and write the files whose libraries are installed; return the content of the JSON document."""
    folder = options.folder
    _check_rows(options.rows)
    with_report, with_picture = (all(map(find_spec, names)) for names in (_OF_THE_REPORT, _OF_THE_PICTURE))
    report, picture = folder / "report.html", folder / "picture.png"
    if with_report:
        _make_room(folder, report, picture)
    with screen.working("fitting both rules on made-up loans"):
        compared = compare_on_loans(options.rows)
    print_comparison(compared, screen.say)
    document = {
        "command": "demo",
        "test_loans": len(compared.y),
        "aucross": _lines(compared.of_aucross),
        "max_probability": _lines(compared.of_max_probability),
    }
    screen.say("")
    if not with_report:
        screen.say(MORE)
        return document
    from aucross.report import build_summary, write_report  # noqa: PLC0415  (libraries of an extra)

    summary = build_summary(
        *(compared.aucross, compared.X, compared.y),
        title="Loan applications for review",
        data_name=f"make_credit, a quarter of {compared.n_loans:,} synthetic loans",
        class_names=("repaid", "default"),
        command="aucross demo",
    )
    write_report(summary, report)
    screen.say(f"Report:  {report}")
    document["report"] = str(report)
    if with_picture:
        _write_picture(compared, picture)
        screen.say(f"Picture: {picture}")
        document["picture"] = str(picture)
    return document


def _check_rows(n_rows: int) -> None:
    if n_rows < _FEWEST_ROWS:
        raise UsageError(f"--rows must be at least {_FEWEST_ROWS}, got {n_rows}")


def _make_room(folder: Path, *paths: Path) -> None:
    """Make the folder; refuse, before any work, a folder or file that cannot be written."""
    from aucross.cli.table_files import check_writable  # noqa: PLC0415  (needs pyarrow)

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"--folder: cannot make {folder}: {error.strerror}; name another folder") from None
    for path in paths:
        check_writable(path, "--folder")


def _write_picture(compared: LoanComparison, path: Path) -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415  (an extra)

    from aucross.evaluation.plots import BandDisplay, CoverageCurveDisplay  # noqa: PLC0415

    figure = Figure(figsize=(11, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    title = f"Where it abstains, coverage {SHOWN_COVERAGE:.0%}"
    names = ("repaid", "defaulted")
    BandDisplay.from_estimator(compared.aucross, compared.X, compared.y, class_names=names, ax=left, name=title)
    for name, evaluation in (("AUCross", compared.of_aucross), ("max probability", compared.of_max_probability)):
        CoverageCurveDisplay.from_evaluation(evaluation, ax=right, name=name)
    right.set_title("What it is worth")
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=160)


# ---- aucross walkthrough ----


def run_walkthrough(options: WalkthroughOptions, screen: Screen) -> dict[str, Any]:
    """Write two tables, fit on the first and decide on the second; return the content of the JSON document."""
    from aucross.cli.command_options import FitOptions, PredictOptions  # noqa: PLC0415
    from aucross.cli.fit import run_fit  # noqa: PLC0415  (libraries of an extra)
    from aucross.cli.predict import run_predict  # noqa: PLC0415

    folder, n_rows, seed = options.folder, options.rows, options.seed
    _check_rows(n_rows)
    loans, new, model, decisions = (
        folder / name for name in ("loans.csv", "new.csv", "model.aucross", "decisions.csv")
    )
    _make_room(folder, loans, new, model, decisions)
    _write_tables(loans, new, n_rows, seed)
    screen.say(f"Made up {n_rows:,} loans: {loans} with outcomes, {new} without.")
    screen.say("")

    command = f"aucross fit {loans} --target default --id loan --drop issue_date --seed {seed} --out {model}"
    screen.say(f"$ {command}")
    screen.command = command
    to_fit = FitOptions(data=loans, target="default", id_column="loan", out=model, drop=["issue_date"], seed=seed)
    fitted = run_fit(to_fit, screen)

    screen.say("")
    screen.say(f"$ aucross predict {model} {new} --out {decisions}")
    decided = run_predict(PredictOptions(model=model, data=new), decisions, screen)
    return {"command": "walkthrough", "folder": str(folder), "fit": fitted, "predict": decided}


def _write_tables(loans: Path, new: Path, n_rows: int, seed: int) -> None:
    from aucross.cli.table_files import open_table  # noqa: PLC0415  (needs pyarrow)

    table = make_credit(n_rows, random_state=seed).frame
    table.insert(0, "loan", [f"{number:06d}" for number in range(1, n_rows + 1)])
    n_labelled = n_rows - round(_SHARE_OF_NEW_ROWS * n_rows)
    outcome = table.columns[-1]
    labelled = table.iloc[:n_labelled].rename(columns={outcome: "default"})
    parts = ((loans, labelled), (new, table.iloc[n_labelled:].drop(columns=outcome)))
    for path, part in parts:
        # Another walkthrough may be overwritten, a table of the user may not.
        if path.exists() and open_table(path).names != list(part.columns):
            raise CommandError(f"--folder: {path} is no table of the walkthrough; name another folder")
    for path, part in parts:
        with whole_file(path) as file:
            part.to_csv(file, index=False)
