"""Interpolation held to SciPy, k-means to scikit-learn and brute force, the network
to ridge regression on features written out."""

import itertools
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.interpolate
import sklearn.cluster
import sklearn.linear_model
from sklearn.exceptions import ConvergenceWarning

from mlbook.kernels.kernel_functions import Gaussian, Laplacian, Sigmoid, gram
from mlbook.kernels.rbf_network import (
    InverseMultiquadric,
    KMeans,
    RBFInterpolator,
    RBFNetwork,
    assign,
    cholesky_or_refuse,
    cluster_means,
    lloyd,
    nearest_neighbour_kernel,
    polynomial_terms,
    refuse_missed_targets,
    solve_interpolation,
    starting_centers,
)

rng = np.random.default_rng(8)
X = rng.uniform(-2, 2, size=(40, 2))
y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 3
NEW = rng.uniform(-2.5, 2.5, size=(15, 2))
WEIGHT = rng.integers(1, 5, size=40).astype(float)
BLOBS = np.concatenate([rng.normal(c, 0.8, size=(30, 2))
                        for c in [(0, 0), (4, 0), (0, 4), (5, 5)]])


# Interpolation


@pytest.mark.parametrize("degree", [-1, 0, 1])
@pytest.mark.parametrize(
    ("kernel", "name"),
    [(Gaussian(6.25), "gaussian"), (InverseMultiquadric(6.25), "inverse_multiquadric")],
)
def test_as_scipy(kernel, name, degree):
    """The same bumps and the same polynomial: gamma is epsilon squared."""
    with warnings.catch_warnings():  # SciPy advises against a degree of -1
        warnings.simplefilter("ignore", UserWarning)
        theirs = scipy.interpolate.RBFInterpolator(
            X, y, kernel=name, epsilon=2.5, degree=degree
        )
    ours = RBFInterpolator(kernel, degree).fit(X, y)
    expected = theirs(NEW)
    np.testing.assert_allclose(ours.predict(NEW), expected, rtol=1e-8, atol=1e-8)
    bumps = theirs._coeffs[: len(X), 0]
    np.testing.assert_allclose(ours.dual_coef_, bumps, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("degree", [-1, 0, 1])
def test_every_target_is_met(degree):
    for kernel in (Gaussian(5), Laplacian(1), InverseMultiquadric(3), None):
        model = RBFInterpolator(kernel, degree).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


def test_polynomials_are_reproduced():
    plane = 3 - 2 * X[:, 0] + 0.5 * X[:, 1]
    model = RBFInterpolator(Gaussian(4), degree=1).fit(X, plane)
    expected = 3 - 2 * NEW[:, 0] + 0.5 * NEW[:, 1]
    np.testing.assert_allclose(model.predict(NEW), expected, rtol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, 0, atol=1e-10)
    without = RBFInterpolator(Gaussian(4)).fit(X, plane)
    assert np.abs(without.predict(NEW) - expected).max() > 0.1


def test_weights_of_the_bumps_are_orthogonal_to_the_polynomial():
    model = RBFInterpolator(Gaussian(4), degree=1).fit(X, y)
    terms = np.column_stack([np.ones(40), X])
    np.testing.assert_allclose(terms.T @ model.dual_coef_, 0, atol=1e-10)


def test_interpolant_has_the_least_norm():
    """Of all sums of bumps through the targets, with more bumps too."""
    kernel = Gaussian(3)
    more = np.concatenate([X, NEW])
    K = gram(kernel, more)
    beta = RBFInterpolator(kernel).fit(X, y).dual_coef_
    norm = beta @ gram(kernel, X) @ beta
    for _ in range(10):
        rest = 0.1 * rng.normal(size=15)
        own = solve_interpolation(
            K[:40, :40], np.empty((40, 0)), y - K[:40, 40:] @ rest
        )[0]
        other = np.concatenate([own, rest])
        np.testing.assert_allclose(K[:40] @ other, y, rtol=1e-8)
        assert other @ K @ other > norm


def test_interpolation_by_hand():
    """x = 0, 1 with k = 1/2 between them and y = 2, 0: beta = (8/3, -4/3)."""
    model = RBFInterpolator(Gaussian(np.log(2))).fit([[0.0], [1.0]], [2.0, 0.0])
    np.testing.assert_allclose(model.dual_coef_, [8 / 3, -4 / 3], rtol=1e-14)
    value = model.predict([[2.0]])[0]
    assert value == pytest.approx(8 / 3 / 16 - 4 / 3 / 2, rel=1e-13)


def test_inverse_multiquadric():
    kernel = InverseMultiquadric(2.0)
    assert kernel([[0.0, 0.0]], [[1.0, 1.0]])[0, 0] == pytest.approx(5**-0.5)
    np.testing.assert_array_equal(kernel.diagonal(X), np.diag(kernel(X)))
    assert np.linalg.eigvalsh(gram(kernel, X))[0] > 0
    exact = InverseMultiquadric(Fraction(1, 2))  # any real number will do
    assert exact([[0.0]], [[4.0]])[0, 0] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="gamma must be finite and > 0, got 0"):
        InverseMultiquadric(0)(X)


def test_nearest_neighbour_width():
    assert nearest_neighbour_kernel(np.array([[0.0], [1.0], [4.0]])).gamma == (
        pytest.approx(3 / 11)  # squared distances 1, 1 and 9
    )
    for hopeless in ([[1.0]], [[1.0], [1.0]]):
        assert nearest_neighbour_kernel(np.array(hopeless)).gamma == 1
    moved = nearest_neighbour_kernel(10 * X + 1e6).gamma
    assert moved == pytest.approx(nearest_neighbour_kernel(X).gamma / 100, rel=1e-6)


@pytest.mark.parametrize(
    ("rows", "kernel"),
    [
        (np.repeat(X, 2, axis=0), Gaussian(5)),
        (X, Gaussian(1e-4)),
        (X, Sigmoid(coef0=-1.0)),
    ],
)
def test_conditions_without_a_solution_are_refused(rows, kernel):
    with pytest.raises(ValueError, match="not positive definite to working precision"):
        RBFInterpolator(kernel).fit(rows, np.arange(len(rows)))


def test_bad_polynomials():
    on_a_line = np.column_stack([np.arange(5.0), np.arange(5.0)])
    with pytest.raises(ValueError, match="3 polynomial terms are linearly dependent"):
        RBFInterpolator(Gaussian(), degree=1).fit(on_a_line, np.arange(5.0))
    with pytest.raises(ValueError, match="degree must be between -1 and 1, got 2"):
        RBFInterpolator(degree=2).fit(X, y)
    for degree in (True, 1.0, "1"):
        with pytest.raises(TypeError, match="degree must be a whole number"):
            RBFInterpolator(degree=degree).fit(X, y)


@pytest.mark.parametrize("unit", [1e-17, 1e-150, 1e17, 3e153])
@pytest.mark.parametrize("degree", [-1, 1])
def test_units_of_the_points_do_not_matter(unit, degree):
    """Columns 1 and x of very different sizes are not dependent columns."""
    expected = RBFInterpolator(degree=degree).fit(X, y).predict(NEW)
    model = RBFInterpolator(degree=degree).fit(X * unit, y)
    np.testing.assert_allclose(model.predict(NEW * unit), expected, rtol=1e-8)


def test_pivots_of_the_size_of_rounding_are_refused():
    """1 + a and 1 are told apart where a pivot 1 - 1 / (1 + a) exceeds 2 eps."""
    eps = np.finfo(float).eps
    cholesky_or_refuse(np.array([[1.0, 1.0], [1.0, 1 + 4 * eps]]))
    for a in (0.0, eps, 2 * eps):
        with pytest.raises(ValueError, match="not positive definite to working prec"):
            cholesky_or_refuse(np.array([[1.0, 1.0], [1.0, 1 + a]]))


def test_what_does_not_fit_into_float64_is_refused():
    close = np.array([[0.0], [1e-4]])
    with pytest.raises(ValueError, match="a weight of a bump does not fit"):
        RBFInterpolator(Gaussian(1.0)).fit(close, [1e305, -1e305])
    with pytest.raises(ValueError, match="a prediction does not fit"):
        RBFInterpolator(Gaussian(1.0), 1).fit([[0.0], [1.0]], [0, 1e308]).predict(
            [[9.0]])
    with pytest.raises(ValueError, match="nearest rows is 9.9.*e-321, which leaves"):
        nearest_neighbour_kernel(np.array([[0.0], [1e-160]]))


def test_the_points_are_kept_as_they_were():
    """A caller may write into what he passed: the bumps stay where they were."""
    points = X.copy()
    model = RBFInterpolator(Gaussian(5)).fit(points, y)
    before = model.predict(NEW)
    points += 1
    np.testing.assert_array_equal(model.predict(NEW), before)


def test_one_row():
    model = RBFInterpolator().fit([[3.0]], [7.0])
    np.testing.assert_allclose(model.predict([[3.0], [90.0]]), [7, 0], atol=1e-12)


# k-means


def start(k, seed=0):
    return BLOBS[np.random.default_rng(seed).choice(len(BLOBS), k, replace=False)]


@pytest.mark.parametrize("k", [1, 3, 4, 9])
@pytest.mark.parametrize("weighted", [False, True])
def test_from_the_same_start_as_scikit_learn(k, weighted):
    weight = (np.random.default_rng(1).uniform(0.2, 3, size=120) if weighted
              else np.ones(120))
    for seed in range(8):
        theirs = sklearn.cluster.KMeans(k, init=start(k, seed), n_init=1, tol=0)
        theirs.fit(BLOBS, sample_weight=weight)
        ours = lloyd(BLOBS, start(k, seed), weight)
        assert ours.converged
        assert ours.inertia[-1] <= theirs.inertia_ * (1 + 1e-12)
        np.testing.assert_allclose(ours.centers, theirs.cluster_centers_, rtol=1e-9)
        np.testing.assert_array_equal(ours.labels, theirs.labels_)


def test_inertia_never_rises():
    for seed in range(20):
        inertia = lloyd(BLOBS, start(12, seed)).inertia
        assert len(inertia) > 2
        assert (np.diff(inertia) <= 1e-12 * inertia[0]).all()


def test_no_worse_than_scikit_learn_and_never_below_all_partitions():
    few = BLOBS[::12]
    best = np.inf
    for labels in itertools.product(range(3), repeat=len(few) - 1):
        labels = np.array([0, *labels])
        parts = [few[labels == k] for k in range(3)]
        if all(len(part) for part in parts):
            best = min(best, sum(((p - p.mean(0)) ** 2).sum() for p in parts))
    assert KMeans(3, n_init=50).fit(few).inertia_ == pytest.approx(best, rel=1e-12)
    theirs = sklearn.cluster.KMeans(4, n_init=10, random_state=0).fit(BLOBS)
    ours = KMeans(4).fit(BLOBS)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-4)


def test_centres_are_means_of_the_rows_nearest_to_them():
    model = KMeans(5, tol=0).fit(BLOBS)
    distance = model.transform(BLOBS)
    np.testing.assert_array_equal(model.labels_, distance.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_, model.predict(BLOBS))
    assert model.inertia_ == pytest.approx((distance.min(axis=1) ** 2).sum())
    for k, centre in enumerate(model.cluster_centers_):
        np.testing.assert_allclose(centre, BLOBS[model.labels_ == k].mean(axis=0))


@pytest.mark.parametrize("k", [2, 4])
def test_empty_clusters_take_a_row(k):
    """Centres far from all rows are nearest to none."""
    centers = np.full((k, 2), 1e3) + np.arange(k)[:, np.newaxis]
    centers[0] = 0
    found = lloyd(BLOBS, centers)
    assert sorted(set(found.labels)) == list(range(k))
    assert np.isfinite(found.centers).all()
    assert (np.diff(found.inertia) <= 0).all()


def test_an_empty_cluster_takes_the_costliest_row_of_a_cluster_with_others():
    points = np.array([[0.0], [1.0], [50.0], [10.0], [13.0]])
    labels = np.array([0, 0, 1, 2, 2])  # the row at 50 is alone, however costly
    squares = np.array([1.0, 0.0, 900.0, 1.0, 4.0])
    means = cluster_means(points, labels, squares, np.ones(5), 4)
    np.testing.assert_allclose(means.ravel(), [0.5, 50, 10, 13])
    weight = np.array([9.0, 1.0, 1.0, 1.0, 1.0])  # now the row at 0 costs 9
    means = cluster_means(points, labels, squares, weight, 4)
    np.testing.assert_allclose(means.ravel(), [1, 50, 11.5, 0])


def test_kmeans_by_hand():
    """0, 1, 5, 6: centres 0 and 1, then 0 and 4, then 1/2 and 11/2."""
    found = lloyd(np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([[0.0], [1.0]]))
    np.testing.assert_allclose(found.centers.ravel(), [0.5, 5.5])
    np.testing.assert_allclose(found.inertia, [41, 6, 1])


def test_spread_start():
    """k-means++: rows far apart, each drawn with its share of the squared distance."""
    line = np.array([[0.0], [1.0], [3.0]])
    weight = np.array([1.0, 2.0, 1.0])
    generator, n = np.random.default_rng(0), 20_000
    drawn = np.array([starting_centers(line, 2, weight, generator)[:, 0]
                      for _ in range(n)])
    first = drawn[:, 0]
    for value, share in [(0, 1 / 4), (1, 1 / 2), (3, 1 / 4)]:
        error = np.sqrt(share * (1 - share) / n)
        assert abs((first == value).mean() - share) < 4 * error
    second = drawn[first == 0, 1]  # 1 with 2 * 1, 3 with 1 * 9
    error = np.sqrt(2 / 11 * 9 / 11 / len(second))
    assert abs((second == 1).mean() - 2 / 11) < 4 * error
    assert set(second) == {1, 3}


def test_a_start_is_the_same_for_weights_and_repeated_rows():
    counts = np.arange(120) % 4
    weighted = starting_centers(BLOBS[counts > 0], 6, counts[counts > 0].astype(float),
                                np.random.default_rng(4))
    repeated = starting_centers(np.repeat(BLOBS, counts, axis=0), 6,
                                np.ones(counts.sum()), np.random.default_rng(4))
    np.testing.assert_array_equal(weighted, repeated)


def test_fewer_distinct_rows_than_clusters():
    with pytest.warns(ConvergenceWarning, match="^2 distinct rows cannot have 3 clust"):
        model = KMeans(3).fit([[1.0], [1.0], [2.0], [2.0]])
    assert sorted(model.cluster_centers_.ravel()) == [1, 2]
    assert model.inertia_ == 0


def test_iteration_limit():
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=1 iter"):
        model = KMeans(8, n_init=1, max_iter=1, tol=0).fit(BLOBS)
    assert model.n_iter_ == 1


def test_random_state_and_starts():
    one = KMeans(9, n_init=1, random_state=1).fit(BLOBS)
    two = KMeans(9, n_init=1, random_state=2).fit(BLOBS)
    assert one.inertia_ != two.inertia_
    assert KMeans(9, n_init=20, random_state=1).fit(BLOBS).inertia_ <= one.inertia_


def test_the_first_of_two_nearest_centres():
    labels, squares = assign(np.array([[0.0], [2.0]]), np.array([[1.0], [-1.0]]))
    np.testing.assert_array_equal(labels, [0, 0])
    np.testing.assert_array_equal(squares, [1, 1])


def test_saving_of_a_move_to_the_means():
    """Step (M3) of the chapter: sum_j N_j |c_j - m_j|^2, weights included."""
    weight = np.random.default_rng(2).uniform(0.2, 3, size=120)
    centers = start(6)
    labels, squares = assign(BLOBS, centers)
    means = cluster_means(BLOBS, labels, squares, weight, 6)
    kept = weight @ ((BLOBS - means[labels]) ** 2).sum(axis=1)
    counts = np.bincount(labels, weight, 6)
    saved = counts @ ((centers - means) ** 2).sum(axis=1)
    assert weight @ squares - kept == pytest.approx(saved, rel=1e-10)


def test_tolerance_counts_repeated_rows():
    """The variance that tol is a share of is weighted as the inertia is."""
    counts = np.where(np.arange(120) < 60, 1, 9)
    for tol in (0.003, 0.01, 0.03, 0.1, 0.3):
        weighted = KMeans(5, n_init=3, tol=tol).fit(BLOBS, sample_weight=counts)
        repeated = KMeans(5, n_init=3, tol=tol).fit(np.repeat(BLOBS, counts, axis=0))
        assert weighted.n_iter_ == repeated.n_iter_
        np.testing.assert_allclose(weighted.cluster_centers_,
                                   repeated.cluster_centers_, rtol=1e-9)


@pytest.mark.parametrize("tol", [0.01, 0.02, 0.05, 0.1, 0.2])
def test_tolerance_is_a_share_of_the_mean_variance(tol):
    generator = np.random.default_rng(3)
    centers = starting_centers(BLOBS, 9, np.ones(120), generator)
    for steps in itertools.count(1):
        before, centers = centers, lloyd(BLOBS, centers, max_iter=1).centers
        if ((centers - before) ** 2).sum() <= tol * BLOBS.var(axis=0).mean():
            break
    model = KMeans(9, n_init=1, tol=tol, random_state=3).fit(BLOBS)
    assert model.n_iter_ == steps


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e300])
def test_scale_of_the_weights_does_not_matter(scale):
    expected = KMeans(4).fit(BLOBS)
    model = KMeans(4).fit(BLOBS, sample_weight=np.full(120, scale))
    np.testing.assert_allclose(model.cluster_centers_, expected.cluster_centers_)
    assert model.inertia_ == pytest.approx(scale * expected.inertia_, rel=1e-3)


def test_rows_of_weight_0_have_labels_and_no_influence():
    counted = np.arange(120) % 3 > 0
    model = KMeans(4).fit(BLOBS, sample_weight=counted.astype(float))
    without = KMeans(4).fit(BLOBS[counted])
    np.testing.assert_array_equal(model.cluster_centers_, without.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, without.predict(BLOBS))
    assert model.labels_.shape == (120,)


def test_weights_beside_which_others_vanish():
    """Rows whose share is 0 in float64 are never drawn: fewer centres, no crash."""
    weight = np.where(np.arange(120) < 3, 1e300, 1e-320)
    with pytest.warns(ConvergenceWarning, match="only 3 of 120 distinct rows apart"):
        model = KMeans(6).fit(BLOBS, sample_weight=weight)
    assert len(model.cluster_centers_) == 3


def test_clusterings_that_are_refused():
    with pytest.raises(ValueError, match="3 centres need as many rows, got 2"):
        lloyd(BLOBS[:2], BLOBS[:3])
    with pytest.raises(ValueError, match="sum of squared distances does not fit"):
        KMeans(4).fit(BLOBS * 1.5e153)
    with pytest.raises(ValueError, match="the inertia does not fit"):
        KMeans(4).fit(BLOBS, sample_weight=np.full(120, 1e308))


def test_far_from_the_origin():
    """Distances of 1 at 1e8 keep their digits."""
    points = np.round(BLOBS * 64) / 64  # exact after the shift too
    near = lloyd(points, points[:6])
    far = lloyd(points + 2.0**26, points[:6] + 2.0**26)
    np.testing.assert_array_equal(near.labels, far.labels)
    assert near.inertia[-1] == pytest.approx(far.inertia[-1], rel=1e-6)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters must be >= 1, got 0"),
        ({"n_clusters": 2.0}, TypeError, "n_clusters must be a whole number"),
        ({"n_init": True}, TypeError, "n_init must be a whole number"),
        ({"max_iter": -3}, ValueError, "max_iter must be >= 1, got -3"),
        ({"tol": -1e-3}, ValueError, "tol must be finite and >= 0"),
        ({"tol": "0"}, TypeError, "tol must be a number"),
        ({"n_clusters": 41}, ValueError, "n_samples=40 should be >= n_clusters=41"),
        ({"random_state": -1}, ValueError, "random_state must be"),
    ],
)
def test_bad_parameters_of_kmeans(parameters, error, message):
    with pytest.raises(error, match=message):
        KMeans(**parameters).fit(X)


# The network


@pytest.mark.parametrize("alpha", [0.0, 1e-3, 2.0])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_network_is_ridge_on_its_features(alpha, weight):
    model = RBFNetwork(7, Gaussian(0.8), alpha).fit(X, y, weight)
    squares = ((X[:, np.newaxis] - model.centers_) ** 2).sum(axis=2)
    theirs = sklearn.linear_model.Ridge(alpha=alpha, solver="svd")
    theirs.fit(np.exp(-0.8 * squares), y, sample_weight=weight)
    np.testing.assert_allclose(model.coef_, theirs.coef_, rtol=1e-8)
    assert model.intercept_ == pytest.approx(theirs.intercept_, rel=1e-8)


def test_optimality_of_the_network():
    """Residuals sum to 0, and the features see alpha w of them."""
    model = RBFNetwork(7, alpha=0.3).fit(X, y, WEIGHT)
    features = model.kernel_(X, model.centers_)
    residual = WEIGHT * (y - model.predict(X))
    assert residual.sum() == pytest.approx(0, abs=1e-10)
    np.testing.assert_allclose(features.T @ residual, 0.3 * model.coef_, atol=1e-10)


def test_a_centre_on_every_row_interpolates():
    model = RBFNetwork(40, Gaussian(5), alpha=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-9)


def test_a_shift_of_the_targets_moves_the_intercept_only():
    near, far = RBFNetwork(6).fit(X, y), RBFNetwork(6).fit(X, y + 1e4)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-7)
    assert far.intercept_ == pytest.approx(near.intercept_ + 1e4, rel=1e-10)
    flat = RBFNetwork(6, alpha=1e12).fit(X, y)
    np.testing.assert_allclose(flat.predict(NEW), y.mean(), rtol=1e-6)


def test_the_network_draws_its_centres_from_the_seed():
    for seed in (0, 5):
        centers = KMeans(9, random_state=seed).fit(X, sample_weight=WEIGHT)
        model = RBFNetwork(9, random_state=seed).fit(X, y, WEIGHT)
        np.testing.assert_array_equal(model.centers_, centers.cluster_centers_)
    generator = np.random.default_rng(5)
    again = RBFNetwork(9, random_state=generator).fit(X, y, WEIGHT)
    np.testing.assert_array_equal(again.centers_, model.centers_)


def test_a_prediction_that_overflows_is_refused():
    model = RBFNetwork(2, alpha=0.0).fit([[0.0], [1.0]], [-8e307, 8e307])
    model.intercept_ = 1.7e308
    with pytest.raises(ValueError, match="a prediction does not fit"):
        model.predict([[1.0]])


def test_default_kernels_of_the_network():
    model = RBFNetwork(6).fit(X, y)
    assert model.kernel_.gamma == nearest_neighbour_kernel(model.centers_).gamma
    single = RBFNetwork(1).fit(X, y)
    assert single.kernel_.gamma == pytest.approx(1 / (2 * X.var()))
    np.testing.assert_allclose(single.centers_[0], X.mean(axis=0))
    weighted = RBFNetwork(1).fit(X, y, WEIGHT).kernel_.gamma
    repeated = np.repeat(X, WEIGHT.astype(int), axis=0)
    assert weighted == pytest.approx(1 / (2 * repeated.var()))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_centers": 0}, ValueError, "n_centers must be >= 1, got 0"),
        ({"n_centers": 41}, ValueError, "n_samples=40 should be >= n_centers=41"),
        ({"n_centers": "8"}, TypeError, "n_centers must be a whole number"),
        ({"alpha": -1}, ValueError, "alpha must be finite and >= 0"),
        ({"kernel": "rbf"}, TypeError, "kernel must be a kernel object"),
    ],
)
def test_bad_parameters_of_the_network(parameters, error, message):
    with pytest.raises(error, match=message):
        RBFNetwork(**parameters).fit(X, y)


def test_a_draw_from_subnormal_weights_stays_among_the_rows():
    close = np.array([[0.0], [3e-162]])
    for seed in range(20):
        generator = np.random.default_rng(seed)
        assert len(starting_centers(close, 2, np.ones(2), generator)) == 2
        model = KMeans(2, random_state=seed)
        model.fit([[0.0], [1.4]], sample_weight=[1, 5e-324])
        assert len(model.cluster_centers_) == 2


def test_a_draw_of_0_takes_a_row_with_positive_weight():
    class Zero:
        def random(self):
            return 0.0

    line = np.array([[0.0], [1.0], [3.0]])
    drawn = starting_centers(line, 2, np.ones(3), Zero())
    np.testing.assert_array_equal(drawn.ravel(), [0, 1])


def test_a_coordinate_without_spread_is_a_dependent_term():
    level = [[0.0, 1.0], [1.0, 1.0], [3.0, 1.0], [4.0, 1.0]]
    with pytest.raises(ValueError, match="3 polynomial terms are linearly dependent"):
        RBFInterpolator(degree=1).fit(level, range(4))


def test_a_row_that_was_taken_counts_no_more():
    """The first empty cluster leaves one row behind, so the second looks elsewhere."""
    line = np.array([[0.0], [1.0], [5.0], [6.0]])
    squares = np.array([4.0, 3.0, 1.0, 0.5])
    means = cluster_means(line, np.array([0, 0, 1, 1]), squares, np.ones(4), 4)
    np.testing.assert_array_equal(means.ravel(), [1, 6, 0, 5])


def test_polynomial_is_centred_on_the_rows():
    points = np.round(X * 64) / 64  # exact after the shift too
    near = RBFInterpolator(Gaussian(6), degree=1).fit(points, y)
    np.testing.assert_allclose(near.centre_, points.mean(axis=0), rtol=1e-13)
    far = RBFInterpolator(Gaussian(6), degree=1).fit(points + 2.0**46, y)
    shifted = np.round(NEW * 64) / 64
    np.testing.assert_allclose(far.predict(shifted + 2.0**46), near.predict(shifted),
                               rtol=1e-9)


def test_history_counts_the_weights_from_the_start():
    line = np.array([[0.0], [1.0], [5.0], [6.0]])
    found = lloyd(line, np.array([[0.0], [1.0]]), np.array([1.0, 1.0, 2.0, 1.0]))
    np.testing.assert_allclose(found.inertia, [57, 5.1875, 7 / 6], rtol=1e-13)


@pytest.mark.parametrize("unit", [1e-150, 1e-161, 1e-165, 1e-200])
@pytest.mark.parametrize(
    "model", [KMeans(5), RBFNetwork(5), RBFNetwork(5, Gaussian(1.0))]
)
def test_squared_distances_that_underflow_are_refused(model, unit):
    with pytest.raises(ValueError, match="squared distances underflow.*scale the feat"):
        model.fit(X * unit, y)
    model.fit(X * 1e-140, y)


def test_rows_that_are_equal_do_not_underflow():
    for value in (0.0, 0.1, 1e8):
        assert KMeans(1).fit(np.full((3, 2), value)).inertia_ < 1e-12
    for twice in ([[0.0], [-0.0]], [[1.0], [1.0], [2.0], [2.0]]):
        assert nearest_neighbour_kernel(np.array(twice)).gamma == 1
    for close in ([[0.0], [1e-170]], [[0.0], [1e-170], [1.0], [1.0]]):
        with pytest.raises(ValueError, match="squared distances underflow"):
            nearest_neighbour_kernel(np.array(close))
    with pytest.raises(ValueError, match="squared distances underflow"):
        RBFInterpolator().fit(X * 1e-200, y)


def test_distinct_rows_that_float64_does_not_tell_apart():
    with pytest.warns(ConvergenceWarning, match="only 2 of 3 distinct rows apart"):
        model = KMeans(3).fit([[0.0], [1e-170], [1.0]])
    assert len(model.cluster_centers_) == 2


def test_rows_whose_share_vanishes_are_in_no_mean():
    """Unless left out they would hold a cluster that all other rows have left."""
    centers = np.array([[0.0], [9.0]])
    with pytest.raises(ValueError, match="all weights of a cluster are 0"):
        lloyd(np.array([[0.0], [1.0], [9.0]]), centers, np.array([1.0, 1.0, 0.0]))
    # from this start, -0, -8, 1, -7, the last cluster keeps only the row at -5.5
    line = np.array([[1, 1, 1, -8, -7, -4, 2, 0, -2, -3, 2, -9, -5.5]]).T
    weight = np.array([1e300] * 12 + [1e-320])
    model = KMeans(4, n_init=1, tol=0).fit(line, sample_weight=weight)
    without = KMeans(4, n_init=1, tol=0).fit(line[:12])
    np.testing.assert_allclose(model.cluster_centers_, without.cluster_centers_)


def test_tiny_weights_keep_their_digits():
    weight = [1.0, 1e-323, 1e-323]
    model = KMeans(2).fit([[0.0], [1.4], [1.7]], sample_weight=weight)
    np.testing.assert_allclose(sorted(model.cluster_centers_.ravel()), [0, 1.55])


def test_one_far_row_is_reported_where_it_sets_the_default_width():
    far, target = np.vstack([X, [1e3, 1e3]]), np.append(y, 0.0)
    with pytest.warns(UserWarning, match="is that of the rows farthest from all"):
        RBFNetwork(8).fit(far, target)
    with (pytest.warns(UserWarning, match="1000 times the median"),
          pytest.raises(ValueError, match="not positive definite")):
        RBFInterpolator().fit(far, target)
    RBFNetwork(8, Gaussian(1.0)).fit(far, target)
    # squared distances 1, 1, s: a mean below and at 1000 times the median of 1
    nearest_neighbour_kernel(np.array([[0.0], [1.0], [1 + 2997**0.5]]))
    with pytest.warns(UserWarning, match="gamma=0.001 "):
        nearest_neighbour_kernel(np.array([[0.0], [1.0], [1 + 2999**0.5]]))
    # rows that occur twice are no measure of what is far
    nearest_neighbour_kernel(np.array([[0.0]] * 5 + [[1.0], [2.0]]))


@pytest.mark.parametrize("degree", [-1, 0, 1])
def test_targets_that_rounding_misses_are_refused(degree):
    generator = np.random.default_rng(3)
    points, noise = generator.uniform(0, 3, (240, 2)), generator.normal(size=240)
    with pytest.raises(ValueError, match="miss a target by .*raise gamma"):
        RBFInterpolator(Gaussian(4), degree).fit(points, noise)
    model = RBFInterpolator(Gaussian(8), degree).fit(points, noise)
    np.testing.assert_allclose(model.predict(points), noise, atol=1e-6)


def test_a_missed_target_is_one_of_more_than_a_millionth_of_the_largest():
    K, P, y = np.eye(2), np.ones((2, 1)), np.array([3.0, 4.0])
    for off, refused in ((3.9e-6, False), (4.1e-6, True)):
        beta = y - 2 + [off, 0]  # with 2 for the polynomial
        if refused:
            with pytest.raises(ValueError, match="by 4e-06, where the largest .* 4"):
                refuse_missed_targets(K, P, y, beta, np.array([2.0]))
        else:
            refuse_missed_targets(K, P, y, beta, np.array([2.0]))
    RBFInterpolator(Gaussian(5)).fit(X, np.zeros(40))  # misses none by 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lloyd(X, X[:2], np.ones(3)), "expected .40,."),
        (lambda: lloyd(X, X[:2], -np.ones(40)), "weights must be >= 0"),
        (lambda: lloyd(X, X[:2], tol=np.nan), "tol must be finite and >= 0"),
        (lambda: lloyd(X, X[:2], max_iter=-1), "max_iter must be >= 0"),
        (lambda: starting_centers(X, 2, np.zeros(40), rng), "sample_weight is zero"),
        (lambda: starting_centers(X, 0, np.ones(40), rng), "k must be >= 1"),
        (lambda: polynomial_terms(X, 2), "degree must be between -1 and 1"),
        (lambda: polynomial_terms(X, -2), "degree must be between -1 and 1"),
        (lambda: cluster_means(X, np.zeros(40, int), y, np.ones(40), 41), "k <= n"),
        (lambda: cluster_means(X, np.full(40, 2), y, np.ones(40), 2), "labels must be"),
        (lambda: cluster_means(X, np.full(40, -1), y, np.ones(40), 2), "labels must"),
        (lambda: solve_interpolation(np.eye(3), np.full((3, 1), np.nan), np.ones(3)),
         "P contains NaN"),
        (lambda: solve_interpolation(np.eye(3), np.ones((3, 1)), np.ones(2)),
         "K must have the shape"),
        (lambda: solve_interpolation(np.eye(3), np.ones((2, 1)), np.ones(3)),
         "K must have the shape"),
        (lambda: cholesky_or_refuse(np.array([[1.0, 0.5], [0.2, 1.0]])), "symmetric"),
        (lambda: cholesky_or_refuse(np.ones((2, 3))), "square"),
        (lambda: KMeans(2).fit([[1e308], [1.7e308]]), "a mean of rows does not fit"),
    ],
)
def test_arguments_of_the_functions_are_checked(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("model", [KMeans(8), RBFNetwork(8)])
def test_rows_of_weight_0_are_not_counted_in_the_message(model):
    weight = np.where(np.arange(40) < 3, 1.0, 0.0)
    with pytest.raises(ValueError, match="n_samples=3 of positive weight should be >="):
        model.fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="n_samples=3 should be >="):
        model.fit(X[:3], y[:3])


def test_a_network_on_fewer_distinct_rows_than_centres():
    with pytest.warns(ConvergenceWarning, match="2 distinct rows cannot have 3 clust"):
        model = RBFNetwork(3).fit([[1.0], [1.0], [2.0], [2.0]], range(4))
    assert model.centers_.shape == (2, 1) and model.coef_.shape == (2,)
