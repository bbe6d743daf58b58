"""Boosted trees against the xgboost library: ``python -m benchmarks.boosting``.

100 trees of depth 6 for the log-loss, all parameters at their defaults, on data of
scikit-learn's make_classification with half of the features informative and 10% of the
labels flipped. Both sides start from the matrix: the presort of "exact" and the bins of
"hist" are counted. Margins are compared on the library's own cuts.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded
    os.environ.setdefault(_name, "1")

import itertools  # noqa: E402

import numpy as np  # noqa: E402
import xgboost as library  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402

from benchmarks.measure import (  # noqa: E402
    compare,
    markdown_table,
    peak_megabytes,
    read_cases,
)
from mlbook.ensembles.xgboost import XGBClassifier  # noqa: E402

CASES = [("exact", 10_000, 20), ("hist", 10_000, 20), ("hist", 100_000, 28)]
PARAMETERS = {"objective": "binary:logistic", "max_depth": 6, "eta": 0.3, "nthread": 1}


def data(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n samples of d features, exact in float32, with labels 0 and 1."""
    X, y = make_classification(
        n, d, n_informative=d // 2, n_redundant=2, n_clusters_per_class=8, flip_y=0.1,
        class_sep=0.7, random_state=0,
    )
    return X.astype(np.float32), y


def matrix(X: np.ndarray, y: np.ndarray, method: str) -> library.DMatrix:
    """The library's form of the data."""
    if method == "exact":
        return library.DMatrix(X, y, nthread=1)
    return library.QuantileDMatrix(X, y, max_bin=256, nthread=1)


def train(X: np.ndarray, y: np.ndarray, method: str, trees: int) -> library.Booster:
    """The library's model."""
    given = {**PARAMETERS, "tree_method": method}
    return library.train(given, matrix(X, y, method), trees)


def cuts(X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """The library's cuts x < c as the edges x <= e, for each feature."""
    start, value = matrix(X, y, "hist").get_quantile_cut()
    parts = [value[a + 1 : b - 1] for a, b in itertools.pairwise(start.astype(int))]
    return [np.nextafter(c, np.float32(-np.inf)).astype(float) for c in parts]


def row(method: str, n: int, d: int, trees: int, repeats: int) -> list[str]:
    """One line of the table."""
    X, y = data(n, d)
    ours = XGBClassifier(n_estimators=trees, tree_method=method)
    found = compare(lambda: ours.fit(X, y), lambda: train(X, y, method, trees), repeats)
    memory = peak_megabytes(lambda: ours.fit(X, y))
    edges = cuts(X, y) if method == "hist" else None
    margin = ours.fit(X, y, bin_edges=edges).decision_function(X)
    theirs = train(X, y, method, trees).predict(library.DMatrix(X), output_margin=True)
    off = (np.abs(margin - theirs) / np.maximum(1, np.abs(theirs))).max()
    return [method, f"{n}", f"{d}", f"{found.ours:.2f}", f"{found.theirs:.2f}",
            f"{found.ratio:.2f}", f"{memory:.0f}", f"{off:.0e}"]


def main() -> None:
    """Print the table."""
    rows = [row(*case) for case in read_cases(__doc__, CASES, ("exact", "hist"))]
    print(markdown_table(["method", "n", "d", "mlbook, s", "xgboost, s", "ratio",
                          "mlbook, MB", "margins off by"], rows))


if __name__ == "__main__":
    main()
