"""SVC against libsvm, Gaussian kernel: ``python -m benchmarks.svc``.

Data of scikit-learn's make_classification with 20 standardised features, half of them
informative, and 10% of the labels flipped; gamma = 0.05 and tol = 1e-3 on both sides.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # before NumPy is loaded
    os.environ.setdefault(_name, "1")

import argparse  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.svm import SVC as LibSVC  # noqa: E402

from benchmarks.measure import compare, markdown_table, peak_megabytes  # noqa: E402
from mlbook.kernels.kernel_functions import Gaussian  # noqa: E402
from mlbook.kernels.soft_margin_svm import SVC  # noqa: E402


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n samples of 20 standardised features with labels 0 and 1."""
    X, y = make_classification(n, 20, n_informative=10, flip_y=0.1, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def row(n: int, C: float, repeats: int) -> list[str]:
    """One line of the table."""
    X, y = data(n)
    ours = SVC(C=C, kernel=Gaussian(0.05))
    theirs = LibSVC(C=C, gamma=0.05, cache_size=200)
    found = compare(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeats)
    memory = peak_megabytes(lambda: ours.fit(X, y))
    objective = abs(theirs.dual_coef_[0]).sum() - 0.5 * (
        theirs.dual_coef_[0] @ ours.kernel_(theirs.support_vectors_)
        @ theirs.dual_coef_[0])
    off = abs(ours.dual_objective_[0] / objective - 1)
    return [f"{n}", f"{C:g}", f"{found.ours:.3f}", f"{found.theirs:.3f}",
            f"{found.ratio:.2f}", f"{memory:.0f}", f"{off:.0e}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 2000, 5000])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = [row(n, C, options.repeats) for n in options.sizes for C in (1.0, 10.0)]
    print(markdown_table(["n", "C", "mlbook, s", "libsvm, s", "ratio",
                          "mlbook, MB", "dual objective off by"], rows))


if __name__ == "__main__":
    main()
