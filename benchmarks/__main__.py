"""Run every benchmark, one after the other: python -m benchmarks."""

from benchmarks import heavy_ties, placement, published_figures, speed

for benchmark in (published_figures, placement, heavy_ties, speed):
    print(f"\n== {benchmark.__name__}")
    benchmark.main()
speed.growth()
