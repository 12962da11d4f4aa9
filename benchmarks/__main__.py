"""Run every benchmark, one after the other: python -m benchmarks."""

from importlib.util import find_spec

from benchmarks import (
    auc_promise,
    base_rate,
    coverage_promise,
    drift_alarm,
    gate,
    groups_adult,
    heavy_ties,
    intervals,
    multiclass,
    multiclass_speed,
    placement,
    published_figures,
    recalibrate,
    speed,
    startup,
)

for benchmark in (
    published_figures,
    placement,
    heavy_ties,
    gate,
    groups_adult,
    base_rate,
    multiclass,
    multiclass_speed,
    auc_promise,
    recalibrate,
    drift_alarm,
    startup,
    speed,
):
    print(f"\n== {benchmark.__name__}")
    benchmark.main()
speed.growth()
print("\n== benchmarks.intervals")
intervals.main([])
print("\n== benchmarks.coverage_promise, the quick parts")
coverage_promise.main(["rules", "weights"])  # all parts take about an hour
if find_spec("torch") is None:
    print('\nnot run: torch_speed and torch_auc, which need pip install "aucross[torch]"')
else:
    from benchmarks import torch_auc, torch_speed

    for networks in (torch_speed, torch_auc):
        print(f"\n== {networks.__name__}")
        networks.main()
