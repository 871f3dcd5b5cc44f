"""Time ROC curves of many scores with a band, of very many without or in bins; print seconds and peak bytes as JSON."""

import json
import time

import numpy as np
import polars as pl
from peak_memory import peak_bytes

import bayesperf as bp


def scored(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels of two equally frequent classes and normal scores."""
    rng = np.random.default_rng(0)
    y_true = rng.integers(2, size=n)
    return y_true, rng.normal(1.2 * y_true)


def main() -> None:
    """Measure in a process of its own: the band first, so that the peak of memory is the band's."""
    figures: dict[str, float] = {}

    def timed(name: str, start: float) -> None:
        figures[name] = time.perf_counter() - start

    scores = scored(100_000)
    start = time.perf_counter()
    curve = bp.roc_curve(*scores, draws=1000)
    curve.dataset, curve.band()
    timed("band", start)
    figures["band_bytes"] = peak_bytes()

    scores = scored(10_000_000)
    start = time.perf_counter()
    bp.roc_curve(*scores).dataset  # noqa: B018
    timed("points", start)
    start = time.perf_counter()
    bp.roc_auc(*scores, method="delong").eti()
    timed("delong", start)
    frame = pl.DataFrame({"y": scores[0], "score": scores[1]})
    start = time.perf_counter()
    binned = bp.curves.BinnedScores.from_frame(frame, actual="y", score="score", bins=1000, limits=(-10, 10))
    timed("bins_counted", start)
    start = time.perf_counter()
    bp.roc_curve(binned).band()
    timed("bins_band", start)
    start = time.perf_counter()
    bp.roc_auc(binned)
    timed("bins_area", start)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
