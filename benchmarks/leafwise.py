"""Leaf-wise trees against the lightgbm library: ``python -m benchmarks.leafwise``.

100 trees of 31 leaves for the log-loss, all parameters at their defaults, on data of
scikit-learn's make_classification with half of the features informative and 10% of the
labels flipped. Both sides start from the matrix, and their own binning is counted. Both
use their own bins, so that the trees differ; what is compared is the log-loss on as many
new rows.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded
    os.environ.setdefault(_name, "1")


import lightgbm as library  # noqa: E402
import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402

from benchmarks.measure import (  # noqa: E402
    compare,
    markdown_table,
    peak_megabytes,
    read_cases,
)
from mlbook.ensembles.lightgbm import LGBMClassifier  # noqa: E402

CASES = [("bagging", 10_000, 20), ("goss", 10_000, 20), ("bagging", 100_000, 28)]


def data(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """2n samples of d features, with labels 0 and 1: half to learn from."""
    return make_classification(
        2 * n, d, n_informative=d // 2, n_redundant=2, n_clusters_per_class=8,
        flip_y=0.1, class_sep=0.7, random_state=0,
    )


def train(X: np.ndarray, y: np.ndarray, strategy: str, trees: int) -> library.Booster:
    """The library's model."""
    given = {"objective": "binary", "num_threads": 1, "verbose": -1,
             "data_sample_strategy": strategy}
    return library.train(given, library.Dataset(X, y), trees)


def log_loss(p: np.ndarray, y: np.ndarray) -> float:
    """Mean log-loss of the probabilities p of class 1."""
    return float(-np.log(np.where(y == 1, p, 1 - p)).mean())


def row(strategy: str, n: int, d: int, trees: int, repeats: int) -> list[str]:
    """One line of the table."""
    X, y = data(n, d)
    new, y_new, X, y = X[n:], y[n:], X[:n].copy(), y[:n].copy()
    ours = LGBMClassifier(n_estimators=trees, data_sample_strategy=strategy,
                          random_state=0)
    found = compare(
        lambda: ours.fit(X, y), lambda: train(X, y, strategy, trees), repeats
    )
    memory = peak_megabytes(lambda: ours.fit(X, y))
    losses = (log_loss(ours.predict_proba(new)[:, 1], y_new),
              log_loss(train(X, y, strategy, trees).predict(new), y_new))
    return [strategy, f"{n}", f"{d}", f"{found.ours:.2f}", f"{found.theirs:.2f}",
            f"{found.ratio:.2f}", f"{memory:.0f}", *(f"{v:.4f}" for v in losses)]


def main() -> None:
    """Print the table."""
    rows = [row(*case) for case in read_cases(__doc__, CASES, ("bagging", "goss"))]
    print(markdown_table(["rows", "n", "d", "mlbook, s", "lightgbm, s", "ratio",
                          "mlbook, MB", "mlbook, new loss", "lightgbm, new loss"], rows))


if __name__ == "__main__":
    main()
