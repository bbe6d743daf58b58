"""Random forests against scikit-learn's: ``python -m benchmarks.forest``.

Data of scikit-learn's make_classification with 20 features, half of them informative,
and 10% of the labels flipped; 100 trees grown to the end, four features for each node,
one thread. The accuracies are those of both on 2,000 rows that neither has seen.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import RandomForestClassifier as LibForest  # noqa: E402

from benchmarks.measure import compare, markdown_table, peak_megabytes  # noqa: E402
from mlbook.ensembles.random_forest import RandomForestClassifier  # noqa: E402


def data(n: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """n samples of 20 features, exact in float32 as scikit-learn's trees take them."""
    X, y = make_classification(
        n, 20, n_informative=10, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    return X.astype(np.float32).astype(float), y


def row(n: int, n_classes: int, n_trees: int, repeats: int) -> list[str]:
    """One line of the table."""
    X, y = data(n + 2000, n_classes)
    X, X_new, y, y_new = X[:n], X[n:], y[:n], y[n:]
    ours = RandomForestClassifier(n_trees, random_state=0)
    theirs = LibForest(n_trees, random_state=0)
    fit = compare(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeats)
    memory = peak_megabytes(lambda: ours.fit(X, y))
    predict = compare(
        lambda: ours.predict_proba(X_new), lambda: theirs.predict_proba(X_new), repeats
    )
    return [f"{n}", f"{n_classes}", f"{fit.ours:.2f}", f"{fit.theirs:.2f}",
            f"{fit.ratio:.2f}", f"{predict.ratio:.2f}", f"{memory:.0f}",
            f"{ours.score(X_new, y_new):.3f}", f"{theirs.score(X_new, y_new):.3f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--classes", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = [row(n, K, options.trees, options.repeats)
            for n in options.sizes for K in options.classes]
    print(markdown_table(
        ["n", "classes", "mlbook, s", "scikit-learn, s", "ratio", "ratio of predict",
         "mlbook, MB", "accuracy", "scikit-learn's"], rows))


if __name__ == "__main__":
    main()
