"""Run every benchmark, one after the other: python -m benchmarks."""

from benchmarks import (
    base_rate,
    gate,
    groups_adult,
    heavy_ties,
    multiclass,
    multiclass_speed,
    placement,
    published_figures,
    speed,
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
    speed,
):
    print(f"\n== {benchmark.__name__}")
    benchmark.main()
speed.growth()
