"""AdaBoost on stumps against scikit-learn: ``python -m benchmarks.adaboost``.

Data of scikit-learn's make_classification with 20 features, half of them informative,
and 10% of the labels flipped, exact in float32, to which scikit-learn rounds; 100 Gini
stumps on both sides. The sorting of the features is counted.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.ensemble import AdaBoostClassifier as Library  # noqa: E402

from benchmarks.measure import compare, markdown_table, peak_megabytes  # noqa: E402
from mlbook.ensembles.adaboost import AdaBoostClassifier  # noqa: E402

ROUNDS = 100


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n samples of 20 features, exact in float32, with labels 0 and 1."""
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.1, random_state=0)
    return X.astype(np.float32).astype(np.float64), y


def row(n: int, repeats: int) -> list[str]:
    """One line of the table."""
    X, y = data(n)
    ours = AdaBoostClassifier(ROUNDS)
    theirs = Library(n_estimators=ROUNDS, random_state=0)
    found = compare(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeats)
    memory = peak_megabytes(lambda: ours.fit(X, y))
    same = sum(
        stump.feature == tree.tree_.feature[0]
        and stump.threshold == tree.tree_.threshold[0]
        for stump, tree in zip(ours.estimators_, theirs.estimators_))
    off = np.abs(2 * ours.estimator_weights_ - theirs.estimator_weights_).max()
    return [f"{n}", f"{found.ours:.3f}", f"{found.theirs:.3f}", f"{found.ratio:.3f}",
            f"{memory:.0f}", f"{same}", f"{off:.0e}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = [row(n, options.repeats) for n in options.sizes]
    print(markdown_table(["n", "mlbook, s", "scikit-learn, s", "ratio", "mlbook, MB",
                          f"equal stumps of {ROUNDS}", "vote off by"], rows))


if __name__ == "__main__":
    main()
