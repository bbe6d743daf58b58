"""Radial basis functions: interpolation, k-means, and the network with few centres.

A radial kernel is a bump that depends only on the distance from its centre. With a bump
on every point a sum of bumps goes through all targets: K beta = y, where K is the Gram
matrix. With bumps on M < n centres, found by k-means, the model

    f(x) = b + sum_j w_j k(x, c_j)

is linear in its weights: ridge regression on M radial features.

Sources: Broomhead and Lowe (1988); Moody and Darken (1989); Micchelli (1986) for the
solvability; Lloyd (1982); Arthur and Vassilvitskii (2007) for k-means++.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Regressor, Transformer
from mlbook.exceptions import warn, warn_not_converged
from mlbook.kernels.kernel_functions import (
    Gaussian,
    Kernel,
    _squared_distances,
    check_kernel,
    gram,
    squared_distances,
)
from mlbook.kernels.soft_margin_svm import default_kernel, expansion
from mlbook.linear.ridge import Ridge, refuse_overflow
from mlbook.validation import (
    Floats,
    as_float,
    as_matrix,
    check_integer,
    check_number,
    check_sample_weight,
    random_generator,
)

SMALLEST = 1e-292  # smaller squared distances lose digits to the end of float64's range
UNDERFLOW = "squared distances underflow on these points: scale the features."
FAR = 1000.0  # squared distances this many times the median are those of far rows
MISSED = 1e-6  # share of the largest target by which a target may be missed


class InverseMultiquadric(Kernel):
    """1 / sqrt(1 + gamma |x - z|^2); gamma in 1 / (feature units)^2.

    Positive definite like the Gaussian, but its tails fall only like 1 / distance.
    """

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, above=0)

    def _pairs(self, X: Floats, Z: Floats) -> Floats:
        return 1 / np.sqrt(1 + float(self.gamma) * _squared_distances(X, Z))

    def _diagonal(self, X: Floats) -> Floats:
        return np.ones(len(X))


# Interpolation


class RBFInterpolator(Regressor):
    """A sum of bumps, one on every training row, that meets every target.

    Wide bumps have large weights that cancel, and rounding then misses the targets, by
    about 2.2e-16 times the sum of all |beta|. A fit that misses one by more than 1e-6
    of the largest |y| is refused.

    Parameters
    ----------
    kernel : Kernel, optional
        A positive definite kernel. By default the Gaussian whose gamma is 1 over the
        mean squared distance of a row from its nearest neighbour. One far row can make
        this mean, and the bumps, too wide for all the others: then ``fit`` warns.
    degree : -1, 0 or 1
        A polynomial that is added to the bumps: none, a constant, a plane. The weights
        of the bumps are then orthogonal to it, so that a polynomial of this degree is
        reproduced exactly.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,), beta, in units of y per unit of the kernel
    polynomial_coef_ : ndarray of shape (0,), (1,) or (1 + d,): of the polynomial in
        X - ``centre_``, in units of y (per unit of X)
    centre_ : ndarray of shape (d,), the mean of the rows
    X_fit_ : ndarray of shape (n, d)
    kernel_ : Kernel
    """

    def __init__(self, kernel: Kernel | None = None, degree: int = -1) -> None:
        self.kernel = kernel
        self.degree = degree

    def fit(self, X: ArrayLike, y: ArrayLike) -> RBFInterpolator:
        """Fit to X of shape (n, d), with no row twice, and y of shape (n,).

        Raises ValueError or TypeError for bad parameters and bad data, and ValueError
        where the conditions have no solution to working precision.
        """
        degree = check_integer("degree", self.degree, low=-1, high=1)
        X, y, _ = self._check_fit_data_and_target(X, y)
        kernel = (nearest_neighbour_kernel(X) if self.kernel is None
                  else check_kernel(self.kernel))
        centre = X.mean(axis=0)
        K, P = gram(kernel, X), polynomial_terms(X - centre, degree)
        beta, polynomial = solve_interpolation(K, P, y)
        refuse_missed_targets(K, P, y, beta, polynomial)
        self.dual_coef_, self.polynomial_coef_ = beta, polynomial
        self.centre_, self.kernel_, self.X_fit_ = centre, kernel, X.copy()
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the sum of bumps and the polynomial, of shape (m,), in units of y."""
        X = self._check_new_data(X)
        bumps = expansion(self.kernel_, X, self.X_fit_, self.dual_coef_)
        degree = {0: -1, 1: 0}.get(len(self.polynomial_coef_), 1)
        terms = polynomial_terms(X - self.centre_, degree)
        with np.errstate(over="ignore", invalid="ignore"):
            return refuse_overflow(bumps + terms @ self.polynomial_coef_,
                                   "a prediction")


def polynomial_terms(X: Floats, degree: int) -> Floats:
    """Columns none, 1, or 1 and the features, for degree -1, 0 and 1; X is (n, d).

    Raises ValueError or TypeError for another degree.
    """
    degree = check_integer("degree", degree, low=-1, high=1)
    return np.column_stack([np.ones(len(X)), X])[:, : (0, 1, None)[degree + 1]]


def solve_interpolation(K: Floats, P: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return beta (n,) and c (q,) with K beta + P c = y and P'beta = 0.

    K is a positive definite Gram matrix (n, n), P holds q polynomial terms (n, q), and
    q may be 0. Raises ValueError for other shapes, NaN or infinity, where K is not
    positive definite to working precision, where the terms are dependent on these rows,
    or where a result overflows.
    """
    K, P, y = as_float(K, "K"), as_float(P, "P"), as_float(y, "y")
    if y.ndim != 1 or P.ndim != 2 or K.shape != 2 * y.shape or len(P) != len(y):
        raise ValueError(
            "K must have the shape (n, n), P (n, q) and y (n,), got "
            f"{K.shape}, {P.shape} and {y.shape}."
        )
    # a term in small units is not a dependent one: bring all to the same size
    size = np.abs(P).max(axis=0)
    size[size == 0] = 1.0
    P = P / size
    if np.linalg.matrix_rank(P) < P.shape[1]:
        raise ValueError(
            f"the {P.shape[1]} polynomial terms are linearly dependent on n_samples="
            f"{len(P)} rows: lower degree or add rows that do not lie in a plane."
        )
    L = cholesky_or_refuse(K)
    # with K = LL' the polynomial is least squares on whitened columns
    whitened, target = np.linalg.solve(L, P), np.linalg.solve(L, y)
    c = np.linalg.lstsq(whitened, target, rcond=None)[0]
    with np.errstate(over="ignore", invalid="ignore"):
        beta = np.linalg.solve(L.T, target - whitened @ c)
        return (refuse_overflow(beta, "a weight of a bump"),
                refuse_overflow(c / size, "a coefficient of the polynomial"))


def refuse_missed_targets(K: Floats, P: Floats, y: Floats, beta: Floats,
                          c: Floats) -> None:
    """Raise ValueError where K beta + P c misses one of y by 1e-6 of the largest.

    Shapes as in ``solve_interpolation``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        missed, largest = np.abs(K @ beta + P @ c - y).max(), np.abs(y).max()
    if not missed <= MISSED * largest:
        raise ValueError(
            f"rounding makes the sum of bumps miss a target by {missed:.1g}, where the "
            f"largest |y| is {largest:.3g}: the bumps are too wide for the distances "
            "of the rows, raise gamma."
        )


def cholesky_or_refuse(K: Floats) -> Floats:
    """Factor K (n, n) as LL', or raise where rounding makes the factor meaningless.

    Raises ValueError unless K is square and symmetric and every squared pivot exceeds
    n eps times the largest entry of the diagonal, eps = 2.2e-16.
    """
    if (K.ndim != 2 or K.shape != K.shape[::-1]
            or np.abs(K - K.T).max() > 1e-8 * np.abs(K).max()):
        raise ValueError("K must be square and symmetric, such as gram(kernel, X).")
    try:
        L = np.linalg.cholesky(K)
        # a pivot of this size is what rounding left of one that may have been 0
        if (np.diag(L) ** 2 > len(K) * np.finfo(float).eps * np.diag(K).max()).all():
            return L
    except np.linalg.LinAlgError:
        pass
    raise ValueError(
        "the Gram matrix is not positive definite to working precision: a row occurs "
        "twice, the bumps are too wide for the distances of the rows (raise gamma), or "
        "the kernel is not positive definite."
    )


def nearest_neighbour_kernel(X: Floats) -> Gaussian:
    """The Gaussian with gamma = 1 / (mean squared distance to the nearest other row).

    For rows X of shape (n, d). A single row, or rows that all occur twice, have no such
    distance: then gamma is 1. Warns where rows far from all others make the mean 1000
    times the median or more. Raises ValueError where the squares underflow or gamma
    leaves the range of float64.
    """
    if len(X) == 1:
        return Gaussian(1.0)
    squares = squared_distances(X, X)
    np.fill_diagonal(squares, np.inf)
    nearest = squares.min(axis=1)
    if not nearest.any():
        # + 0.0 makes -0.0 the same as 0.0
        if (np.unique(X + 0.0, axis=0, return_counts=True)[1] == 1).any():
            raise ValueError(UNDERFLOW)
        return Gaussian(1.0)
    with np.errstate(over="ignore", divide="ignore"):
        mean = nearest.mean()
        gamma = 1 / mean
    if not (np.isfinite(gamma) and gamma > 0):
        raise ValueError(
            f"The mean squared distance of nearest rows is {mean:g}, which leaves no "
            "gamma: scale the features."
        )
    if mean / FAR >= np.median(nearest[nearest > 0]):
        warn(
            f"The default gamma={gamma:.3g} is that of the rows farthest from all "
            "others: the mean squared distance of nearest rows is 1000 times the "
            "median or more. Remove these rows or choose a kernel."
        )
    return Gaussian(float(gamma))


# k-means

SAME = 1e-10  # relative difference of the inertia that is taken for rounding


class Clustering(NamedTuple):
    """What ``lloyd`` found: k centres (k, d), the row's nearest one (n,), history."""

    centers: Floats
    labels: NDArray[np.intp]
    inertia: list[float]  # at the start and after every iteration
    converged: bool


class KMeans(Transformer):
    """Centres that minimise sum_i s_i |x_i - nearest centre|^2, the inertia.

    Lloyd's iterations from ``n_init`` random starts (k-means++); the lowest inertia
    wins, of equal ones the first. It is a local minimum: no start guarantees the
    lowest of all.

    Parameters
    ----------
    n_clusters : int >= 1, at most the number of rows
    n_init : int >= 1
    max_iter : int >= 1
    tol : float >= 0
        Stop when the centres' squared moves sum to at most tol times the mean
        (weighted) variance of the features.
    random_state : None, int or numpy.random.Generator

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (k, d), k = n_clusters, or the number of
        distinct rows where that is less (of those that float64 tells apart)
    labels_ : ndarray of shape (n,), position of each row's centre; rows of weight 0
        included
    inertia_ : float, in squared units of X
    n_iter_ : int, iterations of the best start
    """

    _estimator_type = "clusterer"

    def __init__(self, n_clusters: int = 8, n_init: int = 10, max_iter: int = 300,
                 tol: float = 1e-4, random_state: Any = 0) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None,
            sample_weight: ArrayLike | None = None) -> KMeans:
        """Fit to X of shape (n, d); y is ignored.

        Raises ValueError or TypeError for bad parameters and bad data, and ValueError
        where squared distances leave the range of float64; warns when the iterations
        end before they converge, and when there are fewer centres than ``n_clusters``.
        """
        for name in ("n_clusters", "n_init", "max_iter"):
            check_integer(name, getattr(self, name), low=1)
        check_number("tol", self.tol, low=0)
        rng = random_generator(self.random_state)
        given, (X, weight) = X, self._check_fit_data(X, sample_weight)
        check_enough_rows(len(X), given, "n_clusters", self.n_clusters)
        # weights of about 1 neither overflow in a sum nor vanish by a small distance
        unit = 2.0 ** np.floor(np.log2(weight.max()))
        with np.errstate(over="ignore"):
            share = weight / unit
            # a cluster of rows whose share underflows to 0 would have no mean
            best = self._best_start(X[share > 0], share[share > 0], rng)
            inertia = refuse_overflow(best.inertia[-1] * unit, "the inertia")
        self._warn(best, X)
        self.cluster_centers_ = best.centers
        self.inertia_, self.n_iter_ = float(inertia), len(best.inertia) - 1
        self.labels_ = self._nearest(given)
        return self

    def _best_start(self, X: Floats, weight: Floats,
                    rng: np.random.Generator) -> Clustering:
        mean = refuse_overflow(np.average(X, axis=0, weights=weight), "a mean of rows")
        squares = squared_distances(X, mean[np.newaxis])[:, 0]
        if squares.max() < SMALLEST and (X != X[0]).any():
            raise ValueError(UNDERFLOW)
        tol = self.tol * np.average(squares, weights=weight) / X.shape[1]
        best = None
        for _ in range(self.n_init):
            centers = starting_centers(X, self.n_clusters, weight, rng)
            run = lloyd(X, centers, weight, self.max_iter, tol)
            # rounding does not choose between starts that found the same clusters
            if best is None or run.inertia[-1] < (1 - SAME) * best.inertia[-1]:
                best = run
        return best

    def _warn(self, best: Clustering, X: Floats) -> None:
        found, distinct = len(best.centers), len(np.unique(X + 0.0, axis=0))
        if found < min(distinct, self.n_clusters):
            warn_not_converged(
                f"k-means tells only {found} of {distinct} distinct rows apart and "
                f"found {found} clusters, not {self.n_clusters}: weights or squared "
                "distances of the others vanish in float64. Scale them."
            )
        elif found < self.n_clusters:
            warn_not_converged(
                f"{found} distinct rows cannot have {self.n_clusters} clusters: each "
                "got its own."
            )
        if not best.converged:
            warn_not_converged(
                f"k-means stopped after max_iter={self.max_iter} iterations: raise "
                "max_iter or tol."
            )

    def _nearest(self, X: ArrayLike) -> NDArray[np.intp]:
        return squared_distances(as_matrix(X), self.cluster_centers_).argmin(axis=1)

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the position of the nearest centre for each row, shape (m,)."""
        return self._nearest(self._check_new_data(X))

    def fit_predict(self, X: ArrayLike, y: Any = None,
                    sample_weight: ArrayLike | None = None) -> NDArray[np.intp]:
        """Fit and return ``labels_``."""
        return self.fit(X, y, sample_weight).labels_

    def transform(self, X: ArrayLike) -> Floats:
        """Return the distances of the rows from all centres, (m, k), in units of X."""
        return np.sqrt(squared_distances(self._check_new_data(X),
                                         self.cluster_centers_))


def check_enough_rows(n: int, given: ArrayLike, name: str, value: int) -> None:
    """Raise ValueError if the n rows of ``given`` with positive weight are too few."""
    if n < value:
        positive = " of positive weight" if n < len(np.asarray(given)) else ""
        raise ValueError(f"n_samples={n}{positive} should be >= {name}={value}.")


def lloyd(X: Floats, centers: Floats, weight: Floats | None = None,
          max_iter: int = 300, tol: float = 0.0) -> Clustering:
    """Move centres (k, d) to the means of the rows nearest to them, until they stay.

    Neither half of an iteration can raise the inertia. ``tol`` is in squared units of
    X: iterations end when no row changes its centre, or when the squared moves of all
    centres sum to at most ``tol``. Raises ValueError for more centres than rows, for
    weights of another shape than (n,), below 0 or of sum 0 in a cluster, and for a bad
    ``max_iter`` or ``tol``.
    """
    if len(centers) > len(X):
        raise ValueError(f"{len(centers)} centres need as many rows, got {len(X)}.")
    check_integer("max_iter", max_iter, low=0)
    check_number("tol", tol, low=0)
    if weight is not None:
        check_sample_weight(weight, len(X))
    weight = np.ones(len(X)) if weight is None else weight
    labels, squares = assign(X, centers)
    inertia = [float(weight @ squares)]
    for _ in range(max_iter):
        moved = cluster_means(X, labels, squares, weight, len(centers))
        shift = ((moved - centers) ** 2).sum()
        centers, before = moved, labels
        labels, squares = assign(X, centers)
        inertia.append(float(weight @ squares))
        if shift <= tol or (labels == before).all():
            return Clustering(centers, labels, inertia, True)
    return Clustering(centers, labels, inertia, False)


def assign(X: Floats, centers: Floats) -> tuple[NDArray[np.intp], Floats]:
    """Return each row's nearest centre and its squared distance from it, both (n,).

    Of two centres that are equally near, the first.
    """
    squares = squared_distances(X, centers)
    labels = squares.argmin(axis=1)
    return labels, squares[np.arange(len(X)), labels]


def cluster_means(X: Floats, labels: NDArray[np.intp], squares: Floats,
                  weight: Floats, k: int) -> Floats:
    """Return the (weighted) mean of the rows of each cluster, shape (k, d).

    An empty cluster takes the row that costs most from a cluster that has others: a
    mean of no rows does not exist, and a centre far from all rows is wasted. ``labels``
    are 0, 1, ..., k - 1. Raises ValueError for other labels, for k above n, and where
    all weights of a cluster are 0.
    """
    if k > len(labels) or not ((labels >= 0) & (labels < k)).all():
        raise ValueError(f"labels must be 0, ..., k - 1 with k <= n, got k={k}.")
    labels, cost = labels.copy(), weight * squares
    counts = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(counts == 0):
        i = np.where(counts[labels] > 1, cost, -1.0).argmax()
        counts[labels[i]] -= 1
        labels[i], cost[i], counts[empty] = empty, 0.0, 1
    member = weight * (labels == np.arange(k)[:, np.newaxis])
    largest = member.max(axis=1, keepdims=True)
    if not largest.all():
        raise ValueError("all weights of a cluster are 0: leave out rows of weight 0.")
    member /= largest  # tiny weights keep their digits
    return member @ X / member.sum(axis=1, keepdims=True)


def starting_centers(X: Floats, k: int, weight: Floats,
                     rng: np.random.Generator) -> Floats:
    """Draw k rows far from each other (k-means++), shape (k, d).

    The first is drawn by weight, each further one by weight times the squared distance
    from the nearest that was drawn before. Fewer are returned when all rows are taken.
    Raises ValueError where the sum of these overflows, and for weights that are not of
    shape (n,), are below 0, or are all 0.
    """
    check_integer("k", k, low=1)
    check_sample_weight(weight, len(X))
    chosen, squares = [], np.ones(len(X))
    while len(chosen) < k and (weight * squares).any():
        cumulative = np.cumsum(weight * squares)
        refuse_overflow(cumulative[-1], "a sum of squared distances")
        drawn = np.searchsorted(cumulative, rng.random() * cumulative[-1], "right")
        # a product of tiny numbers can round up to the total itself
        drawn = min(drawn, np.searchsorted(cumulative, cumulative[-1]))
        chosen.append(X[drawn])
        own = squared_distances(X, X[[drawn]])[:, 0]
        squares = own if len(chosen) == 1 else np.minimum(squares, own)
    return np.array(chosen)


# The network


class RBFNetwork(Regressor):
    """Ridge regression on radial features: f(x) = b + sum_j w_j k(x, c_j).

    The centres c_j come from k-means, which does not see y. Then the weights minimise
    sum_i s_i (y_i - f(x_i))^2 + alpha |w|^2; the intercept b is not penalised.

    Parameters
    ----------
    n_centers : int >= 1, M, at most the number of rows
    kernel : Kernel, optional
        By default the Gaussian whose gamma is 1 over the mean squared distance of a
        centre from its nearest neighbour; with one centre, 1 / (d Var X). One far row
        takes a centre and can make this mean too large for all others: ``fit`` warns.
    alpha : float >= 0, in squared units of the kernel
    random_state : None, int or numpy.random.Generator, for k-means

    Attributes
    ----------
    centers_ : ndarray of shape (M, d); fewer rows where ``KMeans`` finds fewer
    coef_ : ndarray of shape (M,), w, one for each centre, in units of y per unit of
        the kernel
    intercept_ : float, b, in units of y
    kernel_ : Kernel
    """

    def __init__(self, n_centers: int = 8, kernel: Kernel | None = None,
                 alpha: float = 1e-3, random_state: Any = 0) -> None:
        self.n_centers = n_centers
        self.kernel = kernel
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike,
            sample_weight: ArrayLike | None = None) -> RBFNetwork:
        """Fit to X of shape (n, d) and y of shape (n,).

        Raises ValueError or TypeError for bad parameters and bad data; warns as
        ``KMeans(n_centers, random_state=random_state)`` does.
        """
        given = X
        check_integer("n_centers", self.n_centers, low=1)
        alpha = check_number("alpha", self.alpha, low=0)
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        check_enough_rows(len(X), given, "n_centers", self.n_centers)
        clusters = KMeans(self.n_centers, random_state=self.random_state)
        centers = clusters.fit(X, sample_weight=weight).cluster_centers_
        if self.kernel is not None:
            kernel = check_kernel(self.kernel)
        elif len(centers) > 1:
            kernel = nearest_neighbour_kernel(centers)
        else:
            kernel = default_kernel(X, weight)
        output = Ridge(alpha).fit(kernel(X, centers), y, weight)
        self.centers_, self.kernel_ = centers, kernel
        self.coef_, self.intercept_ = output.coef_, output.intercept_
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return b + sum_j w_j k(x, c_j), of shape (m,), in units of y."""
        X = self._check_new_data(X)
        bumps = expansion(self.kernel_, X, self.centers_, self.coef_)
        with np.errstate(over="ignore"):
            return refuse_overflow(self.intercept_ + bumps, "a prediction")
