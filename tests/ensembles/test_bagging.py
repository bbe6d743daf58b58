"""Blends, stacks and bags held to scikit-learn, to exact results and to sums by hand."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.linear_model import Ridge as LibraryRidge
from sklearn.linear_model import SGDRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler as LibraryScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier as LibraryClassifier
from sklearn.tree import DecisionTreeRegressor as LibraryRegressor

from mlbook.ensembles import bagging
from mlbook.ensembles.bagging import (
    BaggingClassifier,
    BaggingRegressor,
    LinearBlend,
    LinearLogistic,
    StackingClassifier,
    StackingRegressor,
    UniformBlend,
    affine_weights,
    blend_weights,
    check_folds,
    convex_weights,
    draw_rows,
    drawn_share,
    fit_copy,
    fresh_copy,
    k_fold,
    minimum_variance_weights,
    out_of_fold,
    sample_size,
    stratified_k_fold,
    takes_weights,
)
from mlbook.ensembles.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from mlbook.foundations.bias_variance import variance_of_mean
from mlbook.linear.ridge import Ridge
from mlbook.preprocessing import StandardScaler


def single(X):
    """Exact in float32, which scikit-learn's trees compute in."""
    return X.astype(np.float32).astype(float)


def numbers(n=200, d=5, seed=0):
    X, y = make_regression(n, d, n_informative=3, noise=20.0, random_state=seed)
    return single(X), y


def classes(n=200, d=6, K=3, seed=0):
    X, y = make_classification(n, d, n_informative=4, n_redundant=0, n_classes=K,
                               flip_y=0.1, random_state=seed)
    return single(X), y


def new_data(d, n=300):
    return single(np.random.default_rng(9).normal(size=(n, d)))


def spread_matrix(rng, T):
    """A positive definite matrix, some of whose best weights are negative."""
    A = rng.normal(size=(T, T + 2))
    return A @ A.T + 0.5 * rng.uniform() * np.ones((T, T))


# Weights


@pytest.mark.parametrize("seed", range(10))
def test_minimum_variance_weights_are_the_formula(seed):
    rng = np.random.default_rng(seed)
    S = spread_matrix(rng, T := int(rng.integers(1, 7)))
    z = np.linalg.solve(S, np.ones(T))
    found = minimum_variance_weights(S)
    np.testing.assert_allclose(found, z / z.sum(), rtol=1e-9, atol=1e-9)
    assert found @ S @ found == pytest.approx(1 / z.sum())


def test_two_members_by_hand():
    for c, expected in [(0, [0.8, 0.2]), (1, [1, 0]), (1.5, [1.25, -0.25]), (2, [2, -1])]:
        S = np.array([[1.0, c], [c, 4.0]])
        np.testing.assert_allclose(minimum_variance_weights(S), expected, atol=1e-9)
    # the worse member is left out from the covariance on at which it would be negative
    np.testing.assert_allclose(minimum_variance_weights(S, nonnegative=True), [1, 0])


def test_members_of_one_kind_get_equal_weights_and_the_known_variance():
    for B, rho, s2 in [(1, 0.0, 2.0), (4, 0.3, 2.0), (5, -0.25, 1.0), (6, 1.0, 3.0)]:
        S = s2 * (rho + (1 - rho) * np.eye(B))
        w = minimum_variance_weights(S)
        np.testing.assert_allclose(w, 1 / B, atol=1e-12)
        assert w @ S @ w == pytest.approx(variance_of_mean(rho, s2, B), abs=1e-12)


def best_on_some_face(S):
    """The least w'S w on the simplex, by the formula on every face of it."""
    T, best = len(S), (np.inf, None)
    for size in range(1, T + 1):
        for face in map(list, itertools.combinations(range(T), size)):
            z = np.linalg.solve(S[np.ix_(face, face)], np.ones(size))
            w = np.zeros(T)
            w[face] = z / z.sum()
            if (w >= 0).all() and w @ S @ w < best[0]:
                best = w @ S @ w, w
    return best[1]


@pytest.mark.parametrize("seed", range(20))
def test_convex_weights_are_the_best_of_all_faces(seed):
    rng = np.random.default_rng(seed)
    S = spread_matrix(rng, int(rng.integers(1, 7)))
    expected = best_on_some_face(S)
    found = minimum_variance_weights(S, nonnegative=True)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert (found >= 0).all() and found.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_convex_weights_where_members_err_on_different_scales(seed):
    """One member with huge errors must not hide what the others can gain."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-3, 5, size=6)
    S = spread_matrix(rng, 6) * scale * scale[:, np.newaxis]
    expected = best_on_some_face(S)
    found = minimum_variance_weights(S, nonnegative=True)
    np.testing.assert_allclose(found * scale, expected * scale, rtol=1e-6,
                               atol=1e-6 * (expected * scale).max())


def test_one_diverging_member():
    for huge in (1e6, 1e12, 1e20):
        for nonnegative in (False, True):
            found = minimum_variance_weights(np.diag([1, 2, huge]), nonnegative)
            z = 1 / np.array([1, 2, huge])
            np.testing.assert_allclose(found, z / z.sum(), atol=1e-6)
    P = np.random.default_rng(0).normal(size=(50, 3)) * [1, 1, 1e7]
    mean_square = [np.mean((P[:, :k] @ convex_weights(P[:, :k])) ** 2) for k in (2, 3)]
    assert mean_square[1] <= mean_square[0] * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(100))
def test_convex_weights_stop_at_a_minimum_on_all_scales(seed):
    rng = np.random.default_rng(seed)
    n, T = rng.integers(1, 9), rng.integers(1, 7)
    D = rng.normal(size=(n, T)) * 10.0 ** rng.uniform(-4, 4, size=T)
    w = convex_weights(D)
    x, length = D @ w, np.linalg.norm(D, axis=0)
    assert (w >= 0).all() and w.sum() == pytest.approx(1, abs=1e-12)
    gap = (x @ x - x @ D) / length
    nothing = 1e-14 * length[w > 0].max()  # for an x that is 0 but for rounding
    assert gap.max() <= max(1e-6 * np.linalg.norm(x), nothing)


def test_a_corner_that_is_let_in_with_the_weight_zero():
    """0 lies between two corners; a third is let in and let go at once."""
    D = np.array([[1.0, 1, -2, -1], [2, 0, 0, 2]])
    np.testing.assert_allclose(convex_weights(D), [0, 2 / 3, 1 / 3, 0], atol=1e-12)


def test_faces_are_really_met():
    """The comparison above is worth something only if weights are often 0."""
    zeros = [np.sum(best_on_some_face(spread_matrix(rng, 6)) == 0)
             for rng in map(np.random.default_rng, range(20))]
    assert min(zeros) < max(zeros) and sum(zeros) > 20


@pytest.mark.parametrize("seed", range(5))
def test_many_members_satisfy_the_conditions_of_a_minimum(seed):
    """No corner lies nearer than the point: x'd_t >= x'x, with equality in use."""
    D = np.random.default_rng(seed).normal(size=(15, 40)) + 0.5
    w = convex_weights(D)
    x = D @ w
    slack = x @ D - x @ x
    assert slack.min() > -1e-9 and np.abs(slack[w > 0]).max() < 1e-9


def test_weights_do_not_depend_on_units():
    rng = np.random.default_rng(1)
    D = rng.normal(size=(20, 4)) + 0.2
    D /= np.abs(D).max()
    for scale in (1e-300, 1e-170, 1e-120, 1e120, 1e170, 1e300, 1.7e308):
        for find in (affine_weights, convex_weights):
            np.testing.assert_allclose(find(scale * D), find(D), atol=1e-12)
        for weights in bagging.WEIGHTS:
            P, y = D[:, :3], -D[:, 3]
            np.testing.assert_allclose(
                blend_weights(scale * P, scale * y, weights),
                blend_weights(P, y, weights), atol=1e-12)


def test_weights_at_the_end_of_the_floats():
    many = np.random.default_rng(0).random((500, 3))
    np.testing.assert_allclose(affine_weights(1e308 * many), affine_weights(many))
    D = [[1.7e308, -1.2e308], [1.0, 2.0]]
    np.testing.assert_allclose(affine_weights(D), [12 / 29, 17 / 29])
    for nonnegative in (False, True):
        np.testing.assert_allclose(
            minimum_variance_weights(np.diag([1e308, 1.5e308]), nonnegative), [0.6, 0.4])
    # the errors are (-3e308, 0) and (-1.5e308, -1): too large for a float
    P, y = [[1.5e308, 1.0], [1.0, 2.0]], [-1.5e308, 1.0]
    np.testing.assert_allclose(blend_weights(P, y, "convex"), [0, 1], atol=1e-12)
    np.testing.assert_allclose(blend_weights(P, y, "sum_to_one"), [-1, 2], atol=1e-12)


def test_a_member_that_diverges_does_not_hide_the_others():
    rng = np.random.default_rng(0)
    P, far = rng.normal(size=(50, 2)), rng.normal(size=50)
    y = P @ [0.5, 0.7] + 0.01 * rng.normal(size=50)
    for huge in (1e3, 1e10, 1e17, 1e40):
        found = blend_weights(np.column_stack([P, huge * far]), y)
        expected = np.linalg.lstsq(np.column_stack([P, far]), y, rcond=None)[0]
        np.testing.assert_allclose(found * [1, 1, huge], expected, atol=1e-12)


def test_a_prediction_that_is_only_rounding_gets_no_large_weight():
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    P[:, 1] = 1e-17
    assert abs(blend_weights(P, y)[1]) < 1


def test_copies_share_a_weight_and_nothing_fails():
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 30))
    D = np.column_stack([one, other, one])
    apart = affine_weights(D[:, :2])
    np.testing.assert_allclose(
        affine_weights(D), [apart[0] / 2, apart[1], apart[0] / 2], atol=1e-9)
    w = convex_weights(D)
    assert np.sum((D @ w) ** 2) == pytest.approx(
        np.sum((D[:, :2] @ convex_weights(D[:, :2])) ** 2))
    np.testing.assert_allclose(convex_weights(np.ones((3, 2))).sum(), 1)
    np.testing.assert_allclose(affine_weights(np.zeros((3, 2))), 0.5)


def test_free_weights_are_least_squares():
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    expected = np.linalg.lstsq(P, y, rcond=None)[0]
    np.testing.assert_allclose(blend_weights(P, y), expected, atol=1e-12)
    gradient = P.T @ (y - P @ blend_weights(P, y))
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


@pytest.mark.parametrize("weights", bagging.WEIGHTS)
def test_sample_weights_of_a_blend_are_counts(weights):
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    counts = rng.integers(0, 4, size=30)
    np.testing.assert_allclose(
        blend_weights(P, y, weights, counts),
        blend_weights(np.repeat(P, counts, axis=0), np.repeat(y, counts), weights),
        atol=1e-10)
    assert not np.allclose(blend_weights(P, y, weights, counts),
                           blend_weights(P, y, weights))


def test_each_restriction_costs_something():
    rng = np.random.default_rng(3)
    f, e = rng.normal(size=(2, 30, 1))
    P, y = f + e * [1, 2, 0.5] + 0.3 * rng.normal(size=(30, 3)), f[:, 0]
    found = [blend_weights(P, y, weights) for weights in bagging.WEIGHTS]
    errors = [np.sum((y - P @ w) ** 2) for w in found]
    assert errors[0] < errors[1] < errors[2]
    assert abs(found[0].sum() - 1) > 0.01 and found[1].min() < 0


def test_an_offset_shared_by_all_does_not_move_weights_of_sum_one():
    rng = np.random.default_rng(0)
    P, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    for weights in ("sum_to_one", "convex"):
        np.testing.assert_allclose(blend_weights(P + 100, y + 100, weights),
                                   blend_weights(P, y, weights), atol=1e-10)


# Memorisers


def test_a_memoriser_takes_all_the_weight_in_sample():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    members = [Ridge().fit(X, y), DecisionTreeRegressor(max_depth=2).fit(X, y),
               DecisionTreeRegressor().fit(X, y)]
    P = np.column_stack([m.predict(X) for m in members])
    for weights in bagging.WEIGHTS:
        np.testing.assert_allclose(
            blend_weights(P, y, weights), [0, 0, 1], atol=1e-12)


class Mean:
    """A learner that says the mean of the targets, and one that repeats a target."""

    def __init__(self, memory=False):
        self.memory = memory

    def get_params(self, deep=True):
        return {"memory": self.memory}

    def fit(self, X, y):
        self.X, self.y = X, y
        return self

    def predict(self, X):
        if not self.memory:
            return np.full(len(X), self.y.mean())
        return self.y[np.abs(X - self.X[:, 0]).argmin(axis=1)]


def test_on_noise_a_memoriser_gets_no_weight_out_of_fold():
    """Derived: its best weight beside the mean of the targets is exactly 0."""
    found = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.random((40, 1)), rng.normal(size=40)
        P = out_of_fold([Mean(), Mean(memory=True)], X, y, k_fold(40, 5))
        found.append(blend_weights(P, y, "sum_to_one")[1])
    error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found)) < 4 * error < 0.06


def test_a_stack_leaves_a_memoriser_of_noise_alone():
    """CASES: fitted on held-out predictions it gets no weight on noise labels."""
    found = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (120, 1))
        y = 2 * X[:, 0] + rng.normal(size=120)  # a line, and noise to memorise
        stack = StackingRegressor([("line", Ridge()), ("tree", DecisionTreeRegressor())])
        found.append(stack.fit(X, y).final_estimator_.coef_)
    line, tree = np.mean(found, axis=0)
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert abs(tree) < 4 * error[1] < 0.1
    assert abs(line - 1) < 0.1


# Folds


@pytest.mark.parametrize(("n", "n_folds"), [(10, 5), (11, 3), (7, 7)])
def test_folds_are_scikit_learns(n, n_folds):
    for ours, theirs in zip(k_fold(n, n_folds), KFold(n_folds).split(np.zeros(n)),
                            strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.mark.parametrize("seed", range(5))
def test_stratified_folds_are_scikit_learns(seed):
    y = np.random.default_rng(seed).choice(3, p=[0.2, 0.5, 0.3], size=37)
    stack = StackingClassifier()
    ours = stack._own_folds(y, 4)
    for one, other in zip(ours, StratifiedKFold(4).split(y, y), strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    for code in range(3):
        sizes = [np.sum(y[test] == code) for _, test in ours]
        assert max(sizes) - min(sizes) <= 1


def test_shuffled_folds():
    folds = k_fold(20, 4, random_state=0)
    check_folds(folds, 20)
    assert any(np.ptp(test) > 4 for _, test in folds)
    again = k_fold(20, 4, random_state=0)
    np.testing.assert_array_equal(folds[2][1], again[2][1])


def test_bad_folds():
    for make, message in [
        (lambda: k_fold(3, 4), "n_samples=3"),
        (lambda: stratified_k_fold(np.array([0, 1]), 3), "n_samples=2"),
        (lambda: check_folds([([1], [0])], 2), "each of the 2 rows once"),
        (lambda: check_folds([([0, 1], [0, 1])], 2), "must not be trained on"),
        (lambda: check_folds([([-1], [0]), ([-2], [1])], 2), "whole numbers from 0 to 1"),
        (lambda: check_folds([([7], [0, 1])], 2), "whole numbers from 0 to 1"),
        (lambda: check_folds([([1.5], [0]), ([0], [1])], 2), "whole numbers from 0"),
        (lambda: check_folds([([True, False], [False, True])], 2), "whole numbers"),
        (lambda: check_folds([([[1]], [0]), ([0], [1])], 2), "vector of whole numbers"),
        (lambda: check_folds([1, 2], 2), "Each fold must be a pair"),
        (lambda: check_folds([([0], [1], [2])], 3), "Each fold must be a pair"),
        (lambda: check_folds([], 2), "no folds. A generator gives them only once"),
        (lambda: check_folds([([], [0, 1])], 2), "needs rows to train on"),
        (lambda: stratified_k_fold([0.5, 1.0], 2), "codes must be a vector of whole"),
        (lambda: stratified_k_fold([-1, 0], 2), "codes must be a vector of whole"),
        (lambda: out_of_fold([], [[1.0]], [1.0], []), "at least one estimator"),
        (lambda: out_of_fold([Ridge()], [[1.0], [2.0]], [1.0], []), r"shape \(2,\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


def test_folds_that_predict_nothing_are_left_out():
    folds = check_folds([([0], [1]), ([0, 1], []), ([1], [0])], 2)
    assert [test.tolist() for _, test in folds] == [[1], [0]]
    with pytest.raises(TypeError, match="n must be a whole number"):
        k_fold(10.0, 2)


def test_folds_given_for_rows_of_weight_zero_say_what_is_wrong():
    X, y = numbers(n=20)
    weight = np.ones(20)
    weight[3] = 0
    with pytest.raises(ValueError, match="Rows of weight 0 are not counted"):
        StackingRegressor(cv=k_fold(20, 4)).fit(X, y, weight)


def test_codes_of_classes_may_have_gaps():
    gaps = stratified_k_fold([0, 10**9, 0, 10**9], 2)
    for one, other in zip(gaps, stratified_k_fold([0, 1, 0, 1], 2), strict=True):
        np.testing.assert_array_equal(one[1], other[1])


def test_a_generator_of_folds_cannot_be_copied():
    X, y = numbers(n=40)
    stack = StackingRegressor(cv=(fold for fold in k_fold(40, 4)))
    with pytest.raises(TypeError, match="as cv, pass a list of folds"):
        BaggingRegressor(stack).fit(X, y)
    assert stack.fit(X, y).predict(X).shape == (40,)


def test_out_of_fold_predictions_one_by_one():
    X, y = numbers(n=12)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=12)
    members = [Ridge(), DecisionTreeRegressor(max_depth=2)]
    folds = k_fold(12, 4)
    P = out_of_fold(members, X, y, folds, weight)
    for i in range(12):
        (train,) = [train for train, test in folds if i in test]
        for t, member in enumerate(members):
            model = clone(member).fit(X[train], y[train], weight[train])
            assert P[i, t] == pytest.approx(model.predict(X[[i]])[0])


# Blends


def test_blends_are_weighted_sums_of_their_members():
    X, y = numbers()
    Z = new_data(5)
    members = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]
    alone = np.column_stack([clone(m).fit(X, y).predict(Z) for _, m in members])
    np.testing.assert_allclose(
        UniformBlend(members).fit(X, y).predict(Z), alone.mean(axis=1))
    library = ensemble.VotingRegressor(
        [("ridge", LibraryRidge()), ("tree", LibraryRegressor(max_depth=3))])
    np.testing.assert_allclose(UniformBlend(members).fit(X, y).predict(Z),
                               library.fit(X, y).predict(Z), rtol=1e-10)
    weight = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    np.testing.assert_allclose(
        UniformBlend(members).fit(X, y, weight).predict(Z),
        library.fit(X, y, sample_weight=weight).predict(Z), rtol=1e-10)
    blend = LinearBlend(members, random_state=0).fit(X, y)
    np.testing.assert_allclose(blend.predict(Z), alone @ blend.weights_)


def test_equal_weights_of_rows_are_counts_too():
    """A ridge penalty weighs less beside rows that count twice."""
    X, y = numbers(n=20)
    twice = UniformBlend().fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)).predict(X)
    found = UniformBlend().fit(X, y, np.full(20, 2.0)).predict(X)
    np.testing.assert_allclose(found, twice, rtol=1e-10, atol=1e-10)
    assert np.abs(found - UniformBlend().fit(X, y).predict(X)).max() > 0.01


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_two_rows_are_enough_for_a_linear_blend(share):
    blend = LinearBlend(validation_fraction=share, random_state=0)
    blend.fit([[0.0], [1.0]], [0.0, 1.0])
    apart, rest = np.random.default_rng(0).permutation(2)
    # fitted to one row, both members say its target
    np.testing.assert_allclose(
        blend.weights_, blend_weights([[rest, rest]], [apart]), atol=1e-12)


def test_a_weighted_sum_that_is_too_large():
    X = np.zeros((40, 1))
    team = [("a", Says(1.2e308)), ("b", Says(1.1e308))]
    blend = LinearBlend(team, random_state=0).fit(X, np.full(40, 1.7e308))
    assert blend.predict(X)[0] == pytest.approx(1.7e308, rel=1e-12)
    blend = LinearBlend(team, "sum_to_one", random_state=0).fit(X, np.full(40, 1.7e308))
    with pytest.raises(ValueError, match="LinearBlend must answer with finite numbers"):
        blend.predict(X)


@pytest.mark.parametrize("weights", bagging.WEIGHTS)
def test_linear_blend_uses_rows_that_its_members_have_not_seen(weights):
    X, y = numbers(n=80)
    sample_weight = np.random.default_rng(0).uniform(0.5, 2, size=80)
    members = [("ridge", Ridge()), ("tree", DecisionTreeRegressor())]
    blend = LinearBlend(members, weights, validation_fraction=0.3, random_state=5)
    blend.fit(X, y, sample_weight)
    order = np.random.default_rng(5).permutation(80)
    apart, rest = np.sort(order[:24]), np.sort(order[24:])
    P = np.column_stack([
        clone(m).fit(X[rest], y[rest], sample_weight[rest]).predict(X[apart])
        for _, m in members])
    np.testing.assert_allclose(
        blend.weights_, blend_weights(P, y[apart], weights, sample_weight[apart]))
    assert blend.weights_[1] < 0.9  # the tree remembers the rows it has seen
    Z = new_data(5)
    anew = [clone(m).fit(X, y, sample_weight).predict(Z) for _, m in members]
    np.testing.assert_allclose(blend.predict(Z), blend.weights_ @ anew, rtol=1e-10)


def test_a_linear_blend_does_not_depend_on_units():
    X, y = numbers(n=60)
    for weights in bagging.WEIGHTS:
        one = LinearBlend(weights=weights, random_state=0).fit(X, y)
        other = LinearBlend(weights=weights, random_state=0).fit(X, 1e6 * y)
        np.testing.assert_allclose(one.weights_, other.weights_, atol=1e-10)


# Stacks


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("cv", [5, "shuffled", "splitter"])
@pytest.mark.parametrize("weighted", [False, True])
def test_stacking_regressor_is_scikit_learns(passthrough, cv, weighted):
    X, y = numbers()
    weight = np.random.default_rng(0).uniform(0.5, 2, 200) if weighted else None
    cv = {"shuffled": k_fold(200, 4, random_state=0),
          "splitter": KFold(3, shuffle=True, random_state=1)}.get(cv, cv)
    ours = StackingRegressor(
        [("ridge", Ridge(3.0)), ("tree", DecisionTreeRegressor(max_depth=3))],
        Ridge(2.0), cv, passthrough).fit(X, y, weight)
    theirs = ensemble.StackingRegressor(
        [("ridge", LibraryRidge(3.0)), ("tree", LibraryRegressor(max_depth=3))],
        LibraryRidge(2.0), cv=cv, passthrough=passthrough)
    theirs.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
    np.testing.assert_allclose(ours.final_estimator_.coef_,
                               theirs.final_estimator_.coef_, rtol=1e-10, atol=1e-10)
    Z = new_data(5)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-10)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("passthrough", [False, True])
def test_stacking_classifier_is_scikit_learns(K, passthrough):
    """Members with probabilities, a decision function or both; labels are text."""
    X, codes = classes(K=K)
    y = np.array(["c", "a", "b"])[codes]
    members = [("bayes", GaussianNB()), ("svc", LinearSVC(random_state=0)),
               ("logistic", LogisticRegression())]  # the last one has both
    final = LogisticRegression(max_iter=1000)
    ours = StackingClassifier(members, final, passthrough=passthrough).fit(X, y)
    theirs = ensemble.StackingClassifier(members, final, passthrough=passthrough)
    theirs.fit(X, y)
    Z = new_data(6)
    np.testing.assert_allclose(
        ours.final_estimator_.coef_, theirs.final_estimator_.coef_, atol=1e-10)
    np.testing.assert_allclose(
        ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-10)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))


@pytest.mark.parametrize("K", [2, 3])
def test_the_default_final_classifier(K):
    X, y = classes(K=K)
    tight = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000)
    theirs = OneVsRestClassifier(tight) if K > 2 else tight
    theirs.fit(X, y)
    ours = LinearLogistic(C=0.7).fit(X, y)
    Z = new_data(6)
    np.testing.assert_allclose(
        ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-6)
    stack = StackingClassifier([("bayes", GaussianNB())], LinearLogistic(0.7)).fit(X, y)
    library = ensemble.StackingClassifier(
        [("bayes", GaussianNB())], OneVsRestClassifier(tight) if K > 2 else tight)
    np.testing.assert_allclose(stack.predict_proba(Z),
                               library.fit(X, y).predict_proba(Z), atol=1e-6)
    assert isinstance(StackingClassifier().fit(X, y).final_estimator_, LinearLogistic)


@pytest.mark.parametrize("K", [2, 3])
def test_the_default_final_classifier_with_weights(K):
    X, y = classes(K=K)
    weight = np.random.default_rng(0).uniform(0.1, 5, size=len(y))
    ours = LinearLogistic(C=0.7).fit(X, y, weight).predict_proba(Z := new_data(6))
    tight = LogisticRegression(C=0.7, tol=1e-10, max_iter=10_000)
    parts = np.column_stack([
        clone(tight).fit(X, y == k, sample_weight=weight).predict_proba(Z)[:, 1]
        for k in range(K)])
    np.testing.assert_allclose(ours, parts / parts.sum(axis=1, keepdims=True), atol=1e-6)


def test_far_from_the_data_the_largest_log_odds_win():
    """There all the machines' probabilities underflow."""
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(30, 2)) + np.repeat([[3, 0], [3, 1.5], [3, -1.5]], 10, axis=0)
    model = LinearLogistic(10).fit(Z, np.repeat(["a", "b", "c"], 10))
    far = [[96295.46427043028, 26966.341259842502]]
    odds = np.array([m.decision_function(far)[0] for m in model.machines_])
    assert odds.max() < -1000
    np.testing.assert_array_equal(model.predict_proba(far)[0], odds == odds.max())
    assert model.predict(far)[0] == model.classes_[odds.argmax()]


def test_the_default_final_regressor_does_not_depend_on_units():
    X, y = numbers()
    Z = new_data(5)
    one, other = StackingRegressor().fit(X, y), StackingRegressor().fit(X, 1e-6 * y)
    np.testing.assert_allclose(one.predict(Z), 1e6 * other.predict(Z), rtol=1e-9)


def test_votes_stand_in_for_probabilities():
    X, y = classes(K=3)

    class Voter:
        def get_params(self, deep=True):
            return {}

        def fit(self, X, y):
            self.model = DecisionTreeClassifier(max_depth=2).fit(X, y)
            return self

        def predict(self, X):
            return self.model.predict(X)

    stack = StackingClassifier([("voter", Voter())]).fit(X, y)
    votes = stack.final_features(X)
    assert votes.shape == (200, 3) and set(np.unique(votes)) == {0.0, 1.0}
    bag = BaggingClassifier(Voter(), n_estimators=4, random_state=0).fit(X, y)
    shares = bag.predict_proba(X)
    assert set(np.unique(4 * shares)) <= set(range(5)) and (shares.sum(axis=1) == 1).all()


class Says:
    """A learner that gives the same answer for all rows, whatever it is fitted to."""

    def __init__(self, answer):
        self.answer = answer

    def get_params(self, deep=True):
        return {"answer": self.answer}

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.answer)


def test_no_regressor_where_classes_are_needed():
    X, y = classes(n=40, K=2)
    for ridge in (Ridge(), LibraryRidge(), make_pipeline(LibraryRidge())):
        for model in (BaggingClassifier(ridge), StackingClassifier([("a", ridge)]),
                      StackingClassifier(final_estimator=ridge)):
            with pytest.raises(ValueError, match="must be a classifier, got the regres"):
                model.fit(X, y)
    for answer in (0.9, -1.0, 2.0, np.nan):
        bag = BaggingClassifier(Says(answer)).fit(X, y)
        stack = StackingClassifier(final_estimator=Says(answer)).fit(X, y)
        for ask in (bag.predict_proba, stack.predict):
            with pytest.raises(ValueError, match="Says must be a classifier"):
                ask(X)


@pytest.mark.parametrize("odd", [KMeans(2), LibraryScaler(), StandardScaler()])
def test_no_clusters_and_no_transformers(odd):
    X, y = classes(n=40, K=2)
    team = [("a", odd)]
    for model in (BaggingClassifier(odd), BaggingRegressor(odd), UniformBlend(team),
                  StackingClassifier(team), StackingRegressor(final_estimator=odd)):
        with pytest.raises(ValueError, match="must be a (classifier|regressor)"):
            model.fit(X, y)


def test_no_classifier_where_numbers_are_needed():
    X, y = classes(n=40, K=3)
    for odd in (DecisionTreeClassifier(), GaussianNB(), make_pipeline(GaussianNB())):
        for model in (BaggingRegressor(odd), UniformBlend([("a", odd)]),
                      LinearBlend([("a", odd)]), StackingRegressor([("a", odd)]),
                      StackingRegressor(final_estimator=odd)):
            with pytest.raises(ValueError, match="must be a regressor, got the classif"):
                model.fit(X, y)


class Wraps:
    """A tree whose answers are changed by ``bend``, which gets them and their number."""

    def __init__(self, tree, bend):
        self.tree, self.bend = tree, bend

    def get_params(self, deep=False):
        return {"tree": self.tree, "bend": self.bend}

    def fit(self, X, y):
        self.model = clone(self.tree).fit(X, y)
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def predict(self, X):
        return self.bend(self.model.predict(X))


class WrapsShares(Wraps):
    def predict_proba(self, X):
        return self.bend(self.model.predict_proba(X))


class WrapsDecisions(Wraps):
    def decision_function(self, X):
        return self.bend(self.model.predict(X))


def as_column(said):
    return said[:, np.newaxis]


def test_a_column_of_answers_is_a_vector():
    X, _ = numbers(n=40)
    y = (X[:, 0] > 0).astype(int)
    straight, column = (Wraps(DecisionTreeClassifier(max_depth=2), bend)
                        for bend in (np.asarray, as_column))
    for make in (lambda m: BaggingClassifier(m, 5, random_state=0),
                 lambda m: StackingClassifier([("a", m)]),
                 lambda m: StackingClassifier(final_estimator=m)):
        found = make(column).fit(X, y).predict(X)
        np.testing.assert_array_equal(found, make(straight).fit(X, y).predict(X))
        assert 0 < found.sum() < 40 and found.shape == (40,)
    straight, column = (Wraps(DecisionTreeRegressor(max_depth=2), bend)
                        for bend in (np.asarray, as_column))
    for make in (lambda m: BaggingRegressor(m, 5, random_state=0),
                 lambda m: StackingRegressor(final_estimator=m)):
        found = make(column).fit(X, X[:, 0]).predict(X)
        np.testing.assert_array_equal(
            found, make(straight).fit(X, X[:, 0]).predict(X))


@pytest.mark.parametrize("bend", [
    lambda said: said[:1], lambda said: said[:-1], lambda said: np.hstack([said, said]),
    lambda said: said[np.newaxis], lambda said: said[0]])
def test_one_answer_for_each_row(bend):
    X, y = classes(n=40, K=2)
    voter = Wraps(DecisionTreeClassifier(max_depth=2), bend)
    teller = Wraps(DecisionTreeRegressor(max_depth=2), bend)
    for make in (lambda: BaggingClassifier(voter).fit(X, y).predict(X),
                 lambda: StackingClassifier([("a", voter)]).fit(X, y),
                 lambda: StackingClassifier(None, voter).fit(X, y).predict(X),
                 lambda: BaggingRegressor(teller).fit(X, y).predict(X),
                 lambda: StackingRegressor(None, teller).fit(X, y).predict(X)):
        with pytest.raises(ValueError, match="Wraps must predict one value for each row"):
            make()
    odd = WrapsDecisions(DecisionTreeClassifier(max_depth=2), bend)
    with pytest.raises(ValueError, match="WrapsDecisions must decide on each of the"):
        StackingClassifier([("a", odd)]).fit(X, y)


@pytest.mark.parametrize("bend", [
    lambda said: said[:, 1:], lambda said: said[:, 1], lambda said: said[:1],
    lambda said: said + [[-3.0, 7.0]], lambda said: np.hstack([said, said])])
def test_probabilities_of_each_class(bend):
    X, y = classes(n=40, K=2)
    odd = WrapsShares(DecisionTreeClassifier(max_depth=2), bend)
    for make in (lambda: BaggingClassifier(odd).fit(X, y).predict(X),
                 lambda: StackingClassifier([("a", odd)]).fit(X, y),
                 lambda: StackingClassifier(None, odd).fit(X, y).predict_proba(X)):
        with pytest.raises(ValueError, match="WrapsShares must give probabilities >= 0"):
            make()


@pytest.mark.parametrize("bend", [lambda said: said + 1j, lambda said: said.astype(str),
                                  lambda said: said * np.nan, lambda said: said + np.inf])
def test_answers_are_finite_numbers(bend):
    X, y = classes(n=40, K=2)
    teller = Wraps(DecisionTreeRegressor(max_depth=2), bend)
    odd = WrapsShares(DecisionTreeClassifier(max_depth=2), bend)
    decider = WrapsDecisions(DecisionTreeClassifier(max_depth=2), bend)
    for make in (lambda: UniformBlend([("a", teller)]).fit(X, y).predict(X),
                 lambda: StackingRegressor(None, teller).fit(X, y).predict(X),
                 lambda: BaggingClassifier(odd).fit(X, y).predict(X),
                 lambda: StackingClassifier(None, odd).fit(X, y).predict_proba(X),
                 lambda: StackingClassifier([("a", decider)]).fit(X, y)):
        with pytest.raises(ValueError, match="Wraps.* must answer with finite numbers"):
            make()


def test_a_stack_without_probabilities_votes():
    X, y = classes(n=60, K=3)
    stack = StackingClassifier(final_estimator=LinearSVC(random_state=0))
    shares = stack.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(shares, np.eye(3)[stack.predict(X)])
    bag = BaggingClassifier(stack, 3, random_state=0).fit(X, y)
    assert np.mean(bag.predict(X) == y) > 0.6
    assert StackingClassifier([("stack", stack)]).fit(X, y).predict(X).shape == (60,)


@pytest.mark.parametrize("answer", [np.nan, np.inf])
def test_members_must_predict_finite_numbers(answer):
    X, y = numbers(n=40)
    team = [("ridge", Ridge()), ("odd", Says(answer))]
    for fit in (lambda: UniformBlend(team).fit(X, y).predict(X),
                lambda: LinearBlend(team).fit(X, y),
                lambda: StackingRegressor(team).fit(X, y),
                lambda: BaggingRegressor(Says(answer)).fit(X, y).predict(X)):
        with pytest.raises(ValueError, match="Says must answer with finite numbers"):
            fit()


def test_probabilities_must_not_be_nan():
    class Unsure(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 2), np.nan)

    X, y = classes(n=40, K=2)
    bag = BaggingClassifier(Unsure(), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Unsure must answer with finite numbers"):
        bag.predict(X)


def test_the_mean_of_large_predictions_does_not_overflow():
    X, y = numbers(n=40)
    for model in (BaggingRegressor(Says(1e308)), UniformBlend([("a", Says(1e308)),
                                                               ("b", Says(1e308))])):
        np.testing.assert_allclose(model.fit(X, y).predict(X), 1e308)
    bag = BaggingRegressor(Says(1e308), 40, oob_score=True, random_state=0)
    bag.fit(X, y / np.abs(y).max() * 1.5e308)
    np.testing.assert_allclose(bag.oob_prediction_, 1e308)
    assert bag.oob_score_ == pytest.approx(
        r2_score(y / np.abs(y).max() * 1.5, np.ones(40)), rel=1e-12)


@pytest.mark.parametrize(("B", "huge"), [(3, 1.7e308), (63, 1e308), (64, 1.7e308)])
def test_the_largest_numbers_have_a_mean(B, huge):
    bag = BaggingRegressor(Says(huge), B, random_state=0).fit([[0.0], [1.0]], [0.0, 1.0])
    np.testing.assert_allclose(bag.predict([[0.0]]), huge)


def test_a_class_must_be_there_to_train_on():
    X, y = classes(n=30, K=2)
    y = y.copy()
    y[3] = 2
    with pytest.raises(ValueError, match="Class 2 has no row to train on"):
        StackingClassifier().fit(X, y)


# Bags


class WithRows(BaggingRegressor):
    """A bag that is told which rows to draw."""

    def __init__(self, estimator=None, n_estimators=10, max_samples=1.0, bootstrap=True,
                 oob_score=False, random_state=None, rows=None):
        super().__init__(estimator, n_estimators, max_samples, bootstrap, oob_score,
                         random_state)
        self.rows = rows

    @property
    def estimators_samples_(self):
        return self.rows


class ClassifierWithRows(WithRows, BaggingClassifier):
    _default_estimator = DecisionTreeClassifier
    _estimator_type = "classifier"
    fit, predict = BaggingClassifier.fit, BaggingClassifier.predict
    _said, _oob_score = BaggingClassifier._said, BaggingClassifier._oob_score
    _store_out_of_bag = BaggingClassifier._store_out_of_bag


@pytest.mark.parametrize("max_samples", [1.0, 0.5])
def test_bagging_regressor_is_scikit_learns_on_the_same_rows(max_samples):
    X, y = numbers()
    theirs = ensemble.BaggingRegressor(
        LibraryRegressor(max_depth=4, min_samples_leaf=5), 30, max_samples=max_samples,
        oob_score=True, random_state=0).fit(X, y)
    ours = WithRows(
        DecisionTreeRegressor(max_depth=4, min_samples_leaf=5), 30, oob_score=True,
        rows=theirs.estimators_samples_).fit(X, y)
    Z = new_data(5)
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(ours.oob_prediction_, theirs.oob_prediction_, atol=1e-9)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_, abs=1e-10)


@pytest.mark.parametrize("K", [2, 3])
def test_bagging_classifier_is_scikit_learns_on_the_same_rows(K):
    """scikit-learn's own tree is the member on both sides: ties are cut by its lots."""
    X, y = classes(K=K)
    theirs = ensemble.BaggingClassifier(
        LibraryClassifier(random_state=0), 30, oob_score=True, random_state=0).fit(X, y)
    ours = ClassifierWithRows(None, 30, oob_score=True, rows=theirs.estimators_samples_)
    ours.fit(X, y)
    for model, tree in zip(ours.estimators_, theirs.estimators_, strict=True):
        inside = X[ours.rows[0]]
        assert model.get_n_leaves() > 1 and len(inside) == len(X)
        np.testing.assert_array_equal(tree.classes_, model.classes_)
    ours.estimators_ = theirs.estimators_
    Z = new_data(6)
    np.testing.assert_allclose(
        ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))
    ours._score_out_of_bag(X, y, np.ones(len(y)))
    np.testing.assert_allclose(
        ours.oob_decision_function_, theirs.oob_decision_function_, atol=1e-12)
    assert ours.oob_score_ == pytest.approx(theirs.oob_score_)


def test_shallow_trees_of_a_bag_are_scikit_learns():
    X, y = classes(K=3)
    theirs = ensemble.BaggingClassifier(
        LibraryClassifier(max_depth=2), 20, random_state=0).fit(X, y)
    ours = ClassifierWithRows(DecisionTreeClassifier(max_depth=2), 20,
                              rows=theirs.estimators_samples_).fit(X, y)
    Z = new_data(6)
    np.testing.assert_allclose(
        ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-12)


def test_a_bag_is_the_mean_of_fits_to_its_rows():
    X, y = numbers(n=60)
    Z = new_data(5)
    bag = BaggingRegressor(Ridge(2.0), 7, random_state=0).fit(X, y)
    rows = bag.estimators_samples_
    assert len(rows) == 7 and all(len(part) == 60 for part in rows)
    alone = [Ridge(2.0).fit(X[part], y[part]).predict(Z) for part in rows]
    np.testing.assert_allclose(bag.predict(Z), np.mean(alone, axis=0))
    assert len({tuple(part) for part in rows}) == 7


def test_a_row_drawn_twice_has_the_weight_two_where_weights_are_taken():
    X, y = numbers(n=40)
    seen = []

    class Taking(DecisionTreeRegressor):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), sample_weight))
            return super().fit(X, y, sample_weight)

    class NotTaking(DecisionTreeRegressor):
        def fit(self, X, y):
            seen.append((len(X), None))
            return super().fit(X, y)

    by_weight = BaggingRegressor(Taking(), 2, random_state=0).fit(X, y)
    by_copies = BaggingRegressor(NotTaking(), 2, random_state=0).fit(X, y)
    rows = by_weight.estimators_samples_[0]
    assert seen[0][0] == len(np.unique(rows)) and seen[2] == (40, None)
    np.testing.assert_array_equal(seen[0][1], np.bincount(rows)[np.bincount(rows) > 0])
    np.testing.assert_allclose(by_weight.predict(X), by_copies.predict(X), atol=1e-9)


def test_out_of_bag_one_row_at_a_time():
    X, y = numbers(n=60)
    bag = BaggingRegressor(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    drawn = bag.estimators_samples_
    for i in range(60):
        said = [model.predict(X[[i]])[0]
                for model, rows in zip(bag.estimators_, drawn) if i not in rows]
        assert bag.oob_count_[i] == len(said)
        assert bag.oob_prediction_[i] == pytest.approx(np.mean(said))
    residual = y - bag.oob_prediction_
    assert bag.oob_score_ == pytest.approx(1 - np.sum(residual**2) / np.sum(
        (y - y.mean()) ** 2))


def test_a_rows_own_target_has_no_say_in_its_out_of_bag_prediction():
    X, y = numbers(n=50)
    bag = BaggingRegressor(n_estimators=20, oob_score=True, random_state=0)
    before = bag.fit(X, y).oob_prediction_.copy()
    changed = y.copy()
    changed[7] += 1000
    assert bag.fit(X, changed).oob_prediction_[7] == pytest.approx(before[7], abs=1e-9)
    assert not np.allclose(bag.oob_prediction_, before)


def test_out_of_bag_scores_use_the_weights():
    weight = np.random.default_rng(0).uniform(0.1, 5, size=60)
    X, y = numbers(n=60)
    bag = BaggingRegressor(n_estimators=40, oob_score=True, random_state=0)
    bag.fit(X, y, weight)
    assert bag.oob_score_ == pytest.approx(
        r2_score(y, bag.oob_prediction_, sample_weight=weight), abs=1e-10)
    assert abs(bag.oob_score_ - r2_score(y, bag.oob_prediction_)) > 1e-3
    X, y = classes(n=60)
    bag = BaggingClassifier(n_estimators=40, oob_score=True, random_state=0)
    voted = bag.fit(X, y, weight).oob_decision_function_.argmax(axis=1)
    assert bag.oob_score_ == pytest.approx(
        accuracy_score(y, voted, sample_weight=weight), abs=1e-12)
    assert abs(bag.oob_score_ - accuracy_score(y, voted)) > 1e-3


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e5 + 0.1, 1e-200, 1e200])
def test_the_out_of_bag_score_of_a_constant(value):
    """1 for a prediction that is right but for rounding, 0 otherwise."""
    X = np.random.default_rng(0).normal(size=(37, 2))
    weight = np.random.default_rng(1).uniform(0.5, 2, size=37)
    y = np.full(37, value)
    for right, model in [(1.0, Mean()), (0.0, Says(value + 1))]:
        if value == 1e200 and right == 0.0:
            continue  # there value + 1 is value
        bag = BaggingRegressor(model, 50, oob_score=True, random_state=0)
        assert bag.fit(X, y).oob_score_ == right
        assert bag.fit(X, y, weight).oob_score_ == right


def test_the_out_of_bag_score_does_not_depend_on_units():
    X, y = numbers(n=60)
    weight = np.random.default_rng(0).uniform(0.1, 1, size=60)
    found = [BaggingRegressor(Mean(memory=True), 30, oob_score=True, random_state=0)
             .fit(X[:, :1], scale * y, heavy * weight).oob_score_
             for scale, heavy in [(1, 1), (1e-170, 1), (1e170, 1), (1, 1e308)]]
    np.testing.assert_allclose(found, found[0], rtol=1e-9)
    assert np.isfinite(found[0])


def test_members_that_drew_every_row_judge_none():
    for seed in range(20):
        bag = BaggingClassifier(n_estimators=5, oob_score=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            bag.fit([[0.0], [1.0], [2.0]], [0, 1, 1])
            one = clone(bag).set_params(n_estimators=1).fit([[0.0], [1.0]], [0, 1])
        assert bag.oob_decision_function_.shape == (3, 2)
        assert one.oob_decision_function_.shape == (2, 2)


@pytest.mark.parametrize("cls", [BaggingRegressor, BaggingClassifier])
def test_rows_never_out_of_bag(cls):
    """CASES: 10 trees and 100 rows; such rows are NaN, and left out of the score."""
    X, y = numbers(n=100) if cls is BaggingRegressor else classes(n=100)
    bag = cls(oob_score=True, random_state=2)
    with pytest.warns(UserWarning, match="rows were drawn by every member") as caught:
        bag.fit(X, y)
    assert caught[0].filename == __file__
    always = np.all([np.isin(np.arange(100), rows)
                     for rows in bag.estimators_samples_], axis=0)
    assert always.sum() > 0
    out = bag.oob_prediction_ if cls is BaggingRegressor else bag.oob_decision_function_
    np.testing.assert_array_equal(np.isnan(out.reshape(100, -1)).any(axis=1), always)
    np.testing.assert_array_equal(bag.oob_count_ == 0, always)
    rest = ~always
    if cls is BaggingClassifier:
        expected = np.mean(out[rest].argmax(axis=1) == y[rest])
    else:
        expected = 1 - np.sum((y - out)[rest] ** 2) / np.sum(
            (y[rest] - y[rest].mean()) ** 2)
    assert bag.oob_score_ == pytest.approx(expected)


def test_a_single_row_is_never_out_of_bag():
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        bag = BaggingRegressor(oob_score=True).fit([[1.0]], [2.0])
    assert np.isnan(bag.oob_score_) and np.isnan(bag.oob_prediction_).all()
    assert bag.predict([[3.0]])[0] == 2.0


@pytest.mark.parametrize("cls", [BaggingRegressor, BaggingClassifier])
def test_refitting_forgets_the_old_out_of_bag_score(cls):
    X, y = classes(n=60)
    bag = cls(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    assert sum(name.startswith("oob_") and name.endswith("_") for name in vars(bag)) == 3
    bag.set_params(oob_score=False).fit(X, y)
    for name in ("oob_score_", "oob_count_", "oob_prediction_", "oob_decision_function_"):
        assert not hasattr(bag, name)


def test_a_fitted_model_does_not_hear_of_later_parameters():
    X, y = numbers(n=60)
    stack = StackingRegressor().fit(X, y)
    bag = BaggingRegressor(random_state=0).fit(X, y)
    said, rows = stack.predict(X), np.array(bag.estimators_samples_)
    stack.set_params(passthrough=True)
    bag.set_params(bootstrap=False, max_samples=3, n_estimators=2, random_state=1)
    np.testing.assert_array_equal(stack.predict(X), said)
    np.testing.assert_array_equal(bag.estimators_samples_, rows)


def test_a_heavy_row_that_every_member_drew():
    """The weights of the others are compared with the largest of theirs."""
    X, y = numbers(n=40)
    with pytest.warns(UserWarning, match="rows were drawn by every member"):
        bag = BaggingRegressor(n_estimators=5, oob_score=True, random_state=0).fit(
            X, y, np.r_[1e300, np.full(39, 1e-300)])
    assert bag.oob_count_.tolist() == [0] + [5] * 39
    assert bag.oob_score_ == pytest.approx(r2_score(y[1:], bag.oob_prediction_[1:]))


def test_draws_without_replacement():
    X, y = numbers(n=60)
    bag = BaggingRegressor(n_estimators=30, max_samples=40, bootstrap=False,
                           oob_score=True, random_state=0).fit(X, y)
    assert all(len(np.unique(rows)) == 40 for rows in bag.estimators_samples_)
    assert bag.oob_count_.mean() == pytest.approx(30 * 20 / 60)
    with pytest.raises(ValueError, match="needs rows that are left out"):
        bag.set_params(max_samples=1.0).fit(X, y)
    whole = BaggingRegressor(Ridge(), 3, bootstrap=False).fit(X, y)
    np.testing.assert_allclose(whole.predict(X), Ridge().fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("n", "size"), [(1, 0), (4, 0), (1, 3), (2, 2), (5, 3), (10, 10)])
def test_the_share_of_rows_that_are_drawn(n, size):
    """All n^size samples of the small cases; many of the others."""
    if n**size <= 1000:
        samples = list(itertools.product(range(n), repeat=size))
        found = np.mean([len(set(rows)) / n for rows in samples])
        assert drawn_share(n, size) == pytest.approx(found, abs=1e-12)
        return
    rng = np.random.default_rng(0)
    found = [len(set(draw_rows(rng, n, size, True))) / n for _ in range(4000)]
    assert abs(drawn_share(n, size) - np.mean(found)) < 4 * np.std(found) / np.sqrt(4000)


def test_draws_that_cannot_be_made():
    rng = np.random.default_rng(0)
    for make, error, message in [
        (lambda: drawn_share(0, 5), ValueError, "n must be >= 1"),
        (lambda: drawn_share(5, -1), ValueError, "size must be >= 0"),
        (lambda: drawn_share(5, np.nan), TypeError, "size must be a whole number"),
        (lambda: draw_rows("x", 5, 9, True), TypeError, "random_state must be None"),
        (lambda: draw_rows(rng, 5, 9, False), ValueError, "between 0 and 5"),
        (lambda: draw_rows(rng, 2, 1, False, np.ones(2)), ValueError, "chance must be"),
    ]:
        with pytest.raises(error, match=message):
            make()


def test_rows_are_drawn_in_proportion_to_their_weights():
    rng = np.random.default_rng(0)
    weight = np.array([0.0, 1.0, 2.0, 5.0])
    X, y = np.arange(4.0)[:, None], np.arange(4.0)
    bag = BaggingRegressor(Mean(), 3000, random_state=0).fit(X, y, weight)
    drawn = np.bincount(np.concatenate(bag.estimators_samples_), minlength=3)
    expected = weight[1:] / weight.sum()
    assert len(drawn) == 3  # the row of weight 0 is gone
    np.testing.assert_allclose(
        drawn / drawn.sum(), expected, atol=4 * np.sqrt(0.25 / drawn.sum()))
    X, y = numbers(n=40)
    weight = rng.uniform(0.5, 2, size=40)
    whole = BaggingRegressor(Ridge(), 2, bootstrap=False, random_state=0)
    np.testing.assert_allclose(whole.fit(X, y, weight).predict(X),
                               Ridge().fit(X, y, weight).predict(X))


def test_the_variance_of_bags_of_the_mean():
    """Derived: sigma^2/n (1 + (1 - 1/n)/B), more than the mean of all rows has."""
    n, B, repeats = 10, 4, 20_000
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(repeats, n))
    found = np.zeros(repeats)
    for _ in range(B):
        rows = draw_rows(rng, n, n * repeats, True).reshape(repeats, n)
        found += np.take_along_axis(Y, rows, axis=1).mean(axis=1) / B
    expected = (1 + (1 - 1 / n) / B) / n
    assert np.var(found) == pytest.approx(expected, rel=4 * np.sqrt(2 / repeats))


def test_a_class_that_was_not_drawn_has_share_zero():
    X = np.arange(12.0)[:, None]
    y = np.array(["a"] * 11 + ["rare"])
    bag = BaggingClassifier(n_estimators=30, random_state=0).fit(X, y)
    seen = [11 in rows for rows in bag.estimators_samples_]
    assert any(seen) and not all(seen)
    share = bag.predict_proba([[11.0]])[0]
    assert share[1] == pytest.approx(np.mean(seen)) and share.sum() == pytest.approx(1)


def test_missing_values_are_the_members_business():
    X, y = numbers(n=60)
    X[::7, 1] = np.nan
    assert np.isfinite(BaggingRegressor(random_state=0).fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        BaggingRegressor(Ridge()).fit(X, y)
    BaggingRegressor(LibraryRegressor()).fit(X, y)  # takes them as well
    make_pipeline(SimpleImputer(), BaggingRegressor(Ridge())).fit(X, y)


def test_teams_take_no_missing_values():
    X, y = numbers(n=60)
    X[::7, 1] = np.nan
    trees = [("a", DecisionTreeRegressor())]
    for model in (UniformBlend(trees), LinearBlend(trees), StackingRegressor(trees),
                  BaggingRegressor(UniformBlend(trees))):
        with pytest.raises(ValueError, match="contains NaN"):
            model.fit(X, y)
    assert np.isfinite(out_of_fold([trees[0][1]], X, y, k_fold(60, 3))).all()


# Weights of rows, on their way to the members


def test_weights_are_handed_on_by_name():
    """The third argument of SGDRegressor.fit is another one, trained in place."""
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(6, 6)), rng.normal(size=6), np.arange(1.0, 7)
    member = SGDRegressor(random_state=0, max_iter=1, tol=None)
    blend = UniformBlend([("s", member)]).fit(X, y, weight)
    np.testing.assert_array_equal(weight, np.arange(1.0, 7))
    np.testing.assert_allclose(
        blend.predict(X), clone(member).fit(X, y, sample_weight=weight).predict(X))
    assert np.isfinite(BaggingRegressor(member, 3).fit(X, y).predict(X)).all()


def test_members_that_take_no_weights():
    X, y = numbers(n=40)
    near = KNeighborsRegressor(2)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=40)
    for model in (UniformBlend([("k", near)]), StackingRegressor([("k", near)]),
                  BaggingRegressor(near, bootstrap=False)):
        with pytest.raises(ValueError, match="KNeighborsRegressor.* takes no sample_w"):
            model.fit(X, y, weight)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        fit_copy(UniformBlend([("k", near)]), X, y, weight)
    assert takes_weights(UniformBlend()) and takes_weights(BaggingRegressor(near))
    assert not takes_weights(UniformBlend([("r", Ridge()), ("k", near)]))
    assert not takes_weights(BaggingRegressor(near, bootstrap=False))
    assert not takes_weights(StackingRegressor(final_estimator=near))


def test_a_bag_of_a_team_that_takes_no_weights_repeats_rows():
    X, y = numbers(n=40)
    team = UniformBlend([("k", KNeighborsRegressor(2)), ("r", Ridge())])
    bag = BaggingRegressor(team, 3, random_state=0).fit(X, y)
    alone = [clone(team).fit(X[rows], y[rows]).predict(X)
             for rows in bag.estimators_samples_]
    np.testing.assert_allclose(bag.predict(X), np.mean(alone, axis=0))


# Copies and dice


def test_members_are_copied_and_left_alone():
    X, y = numbers(n=60)
    tree = DecisionTreeRegressor(max_depth=2)
    BaggingRegressor(tree, random_state=0).fit(X, y)
    UniformBlend([("tree", tree)]).fit(X, y)
    StackingRegressor([("tree", tree)]).fit(X, y)
    LinearBlend([("tree", tree)]).fit(X, y)
    assert vars(tree) == vars(DecisionTreeRegressor(max_depth=2))


def test_every_copy_has_dice_of_its_own():
    X, y = numbers(n=80)
    inner = BaggingRegressor(DecisionTreeRegressor(max_features=1), 2)
    bag = BaggingRegressor(inner, 5, bootstrap=False, random_state=3).fit(X, y)
    outer = [m.random_state for m in bag.estimators_]
    nested = [m.estimator.random_state for m in bag.estimators_]
    assert len(set(outer + nested)) == 10 and all(isinstance(q, int) for q in outer)
    said = np.array([m.predict(X) for m in bag.estimators_])
    assert (said.std(axis=0) > 0).any()
    again = clone(bag).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), bag.predict(X))
    other = clone(bag).set_params(random_state=4).fit(X, y)
    assert not np.allclose(other.predict(X), bag.predict(X))


def test_a_copy_shares_no_part():
    bag = BaggingRegressor(DecisionTreeRegressor(categorical_features=[1]))
    twin = fresh_copy(bag)
    assert repr(twin) == repr(bag) and twin.estimator is not bag.estimator
    assert twin.estimator.categorical_features is not bag.estimator.categorical_features


def test_the_dice_of_a_copy_are_not_those_of_its_rows():
    X, y = numbers(n=40)
    bag = BaggingRegressor(DecisionTreeRegressor(), 5, random_state=0).fit(X, y)
    for model, seed in zip(bag.estimators_, bag._seeds, strict=True):
        assert model.random_state != np.random.default_rng(seed).integers(2**31 - 1)


def test_a_copy_of_a_fitted_team_has_learnt_nothing():
    X, y = numbers(n=40)
    team = UniformBlend([("a", Ridge().fit(X, y)), ("b", DecisionTreeRegressor())])
    (name, twin), _ = fresh_copy(team.fit(X, y)).estimators
    assert name == "a" and vars(twin) == vars(Ridge())


def test_rows_of_a_bag_that_is_not_fitted():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = BaggingRegressor().estimators_samples_


# In scikit-learn's company


def test_the_library_finds_the_coefficients_on_the_page():
    rng = np.random.default_rng(2)
    wind = rng.uniform(3, 16, 60)
    X = wind[:, np.newaxis]
    y = 2 / (1 + np.exp(-(wind - 9) / 1.2)) + 0.25 * rng.normal(size=60)
    folds = k_fold(60, 10, random_state=0)
    theirs = ensemble.StackingRegressor(
        [("line", LinearRegression()),
         ("steps", LibraryRegressor(max_depth=2, random_state=0)),
         ("memory", LibraryRegressor(random_state=0))],
        final_estimator=LinearRegression(), cv=folds).fit(X, y)
    ours = StackingRegressor(
        [("line", Ridge(alpha=0.0)), ("steps", DecisionTreeRegressor(max_depth=2)),
         ("memory", DecisionTreeRegressor())], cv=folds).fit(X, y)
    printed = [0.39846745, 0.54494347, 0.05252175]
    for stack in (theirs, ours):
        np.testing.assert_allclose(stack.final_estimator_.coef_, printed, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-7)


def test_grid_search_reaches_the_members():
    X, y = numbers(n=90)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), BaggingRegressor(
            DecisionTreeRegressor(), 5, random_state=0)),
        {"baggingregressor__estimator__max_depth": [1, 6]}, cv=3).fit(X, y)
    assert search.best_params_ == {"baggingregressor__estimator__max_depth": 6}
    members = [("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3))]
    for team in (UniformBlend(members), StackingRegressor(members)):
        search = GridSearchCV(team, {"ridge__alpha": [1.0, 1e9], "tree__max_depth": [1]},
                              cv=3).fit(X, y)
        assert search.best_params_["ridge__alpha"] == 1.0
        assert search.best_estimator_.estimators_[1].get_depth() == 1
    assert members[0][1].alpha == 1.0 and members[1][1].max_depth == 3


def test_set_params_of_a_team():
    team = StackingRegressor([("a", Ridge()), ("b", Ridge())], Ridge())
    new = DecisionTreeRegressor()
    team.set_params(b=new, a__alpha=5.0, b__max_depth=2, final_estimator__alpha=7.0, cv=3)
    assert team.estimators[0][1].alpha == 5.0 and team.estimators[1] == ("b", new)
    assert (new.max_depth, team.final_estimator.alpha, team.cv) == (2, 7.0, 3)
    assert {"a", "a__alpha", "b__max_depth"} <= set(team.get_params())
    with pytest.raises(ValueError, match="Invalid parameter 'c__alpha'"):
        team.set_params(c__alpha=1.0)


@pytest.mark.parametrize("odd", [
    ("b", None), ("b", "drop"), ("b", Ridge), ("a", DecisionTreeRegressor()), 7])
def test_set_params_leaves_what_fit_will_refuse(odd):
    """A member that is dropped in silence would change the blend."""
    X, y = numbers(n=40)
    ridge = Ridge()
    team = UniformBlend([("c", ridge), odd, ("a", Ridge())])
    team.set_params(c__alpha=2.0, a__alpha=3.0)
    assert team.estimators[1] is odd and len(team.estimators) == 3
    assert ridge.alpha == 2.0 and team.estimators[2][1].alpha == 3.0
    team.set_params(c=Ridge(5.0))
    assert team.estimators[0][1].alpha == 5.0 and team.estimators[1] is odd
    with pytest.raises((TypeError, ValueError), match="must be"):
        team.fit(X, y)


def test_set_params_puts_a_member_where_there_was_none():
    X, y = numbers(n=40)
    team = UniformBlend([("a", Ridge()), ("b", None)])
    with pytest.raises(ValueError, match="Invalid parameter 'b__alpha'"):
        team.set_params(b__alpha=3.0)
    team.set_params(b__alpha=3.0, b=Ridge()).fit(X, y)
    assert [member.alpha for member in team.estimators_] == [1.0, 3.0]


@pytest.mark.parametrize(
    ("estimators", "message"),
    [([], "at least one"), ([("a", Ridge()), ("a", Ridge())], "each name used once"),
     ([Ridge()], "pairs"), ([("a__b", Ridge())], "must not contain"),
     ([("estimators", Ridge())], "nor be one of"),
     ([("random_state", Ridge())], "nor be one of"), ({"a": Ridge()}, "list of pairs"),
     ("ab", "list of pairs")],
)
@pytest.mark.parametrize("cls", [UniformBlend, LinearBlend, StackingRegressor,
                                 StackingClassifier])
def test_bad_teams(cls, estimators, message):
    X, y = classes(n=30, K=2)
    with pytest.raises(ValueError, match=message):
        cls(estimators).fit(X, y)


@pytest.mark.parametrize("thing", [None, "drop", Ridge])
def test_things_that_are_no_estimators(thing):
    X, y = classes(n=30, K=2)
    team = [("good", Ridge()), ("odd", thing)]
    for model in (UniformBlend(team), LinearBlend(team), StackingRegressor(team)):
        with pytest.raises(TypeError, match="member 'odd' must be an estimator with fit"):
            model.fit(X, y)
    if thing is not None:
        for model in (BaggingRegressor(thing), BaggingClassifier(thing)):
            with pytest.raises(TypeError, match="estimator must be an estimator with"):
                model.fit(X, y)
        for model in (StackingRegressor(final_estimator=thing),
                      StackingClassifier(final_estimator=thing)):
            with pytest.raises(TypeError, match="final_estimator must be an estimator"):
                model.fit(X, y)
        with pytest.raises(TypeError, match="estimator must be an estimator with"):
            fresh_copy(thing)


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (BaggingRegressor(n_estimators=0), ValueError, "n_estimators must be >= 1"),
        (BaggingRegressor(max_samples=0.0), ValueError, "max_samples must be finite and"),
        (BaggingRegressor(max_samples=1.5), ValueError, "max_samples must be finite and"),
        (BaggingRegressor(max_samples=31), ValueError, "between 1 and 30"),
        (BaggingRegressor(max_samples=True), TypeError, "max_samples must be a whole"),
        (BaggingRegressor(bootstrap=1), TypeError, "bootstrap must be True or False"),
        (BaggingRegressor(oob_score="no"), TypeError, "oob_score must be True or False"),
        (LinearBlend(weights="equal"), ValueError, "weights must be one of 'free'"),
        (LinearBlend(validation_fraction=1.0), ValueError, "validation_fraction must be"),
        (StackingRegressor(cv=1), ValueError, "cv must be >= 2"),
        (StackingRegressor(cv="5"), TypeError, "cv must be a whole number, a list of"),
        (StackingRegressor(cv=None), TypeError, "cv must be a whole number, a list of"),
        (StackingRegressor(cv=KFold), TypeError, "cv must be a whole number, a list of"),
        (StackingRegressor(cv=[1, 2]), ValueError, "Each fold must be a pair"),
        (StackingRegressor(cv=[([], np.arange(30))]), ValueError, "needs rows to train"),
        (StackingRegressor(passthrough=1), TypeError, "passthrough must be True or"),
        (LinearLogistic(C=0.0), ValueError, "C must be finite and > 0"),
    ],
)
def test_bad_arguments(model, error, message):
    X, y = classes(n=30, K=2)
    with pytest.raises(error, match=message):
        model.fit(X, y)


def test_bad_matrices():
    for bad, message in [([[1.0, 2.0], [0.0, 1.0]], "symmetric"),
                         ([[1.0, 0.5], [0.500004, 2.0]], "symmetric"),
                         ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite"),
                         ([[0.0, 2.0], [2.0, 1.0]], "positive semi-definite"),
                         ([[-1.0, 0.0], [0.0, 1.0]], "positive semi-definite"),
                         ([[1.0, 2.0]], "symmetric")]:
        with pytest.raises(ValueError, match=message):
            minimum_variance_weights(bad)
    with pytest.raises(TypeError, match="nonnegative must be True or False"):
        minimum_variance_weights(np.eye(2), "no")
    with pytest.raises(ValueError, match=r"y must have the shape \(3,\)"):
        blend_weights(np.ones((3, 2)), np.ones(2))


@pytest.mark.parametrize(("share", "size"), [(1.0, 7), (0.5, 3), (0.01, 1), (7, 7), (1, 1)])
def test_sample_size(share, size):
    assert sample_size(share, 7) == size


def test_no_warning_with_many_members():
    X, y = numbers(n=50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BaggingRegressor(Ridge(), 60, oob_score=True, random_state=0).fit(X, y)
