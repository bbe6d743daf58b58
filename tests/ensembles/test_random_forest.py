"""Forests held to scikit-learn, to exact results, and to sums done by hand."""

import functools
import math
import warnings

import numpy as np
import pytest
from sklearn import ensemble, tree as lib_tree
from sklearn.datasets import make_classification, make_regression

from mlbook.ensembles import random_forest
from mlbook.ensembles.criteria import Gini, SquaredError
from mlbook.ensembles.random_forest import (
    RandomForestClassifier,
    RandomForestRegressor,
    bootstrap_counts,
    columns_per_node,
    grow_trees,
    impurity_shares,
    out_of_bag_average,
    permutation_increases,
    shared_and_own_variance,
    tree_predictions,
)
from mlbook.ensembles.splits import Columns

SEEDS = 30  # forests whose scores are averaged before they are compared


def single(X):
    """Exact in float32, which scikit-learn computes in."""
    return X.astype(np.float32).astype(float)


def classes(n=300, d=6, K=3, seed=0):
    X, y = make_classification(n, d, n_informative=4, n_redundant=0, n_classes=K,
                               flip_y=0.1, random_state=seed)
    return single(X), y


def numbers(n=300, d=6, seed=0):
    X, y = make_regression(n, d, n_informative=4, noise=20.0, random_state=seed)
    return single(X), y


def new_data(d=6, n=500):
    return single(np.random.default_rng(9).normal(size=(n, d)))


# One tree is a tree


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("K", [2, 3])
def test_one_tree_without_dice_is_scikit_learns(criterion, K):
    """Three levels, where no gains tie."""
    X, y = classes(K=K)
    options = {"criterion": criterion, "bootstrap": False, "max_features": None,
               "max_depth": 3, "random_state": 0}
    ours = RandomForestClassifier(1, **options).fit(X, y)
    theirs = ensemble.RandomForestClassifier(1, **options).fit(X, y)
    Z = new_data()
    np.testing.assert_allclose(
        ours.predict_proba(Z), theirs.predict_proba(Z), atol=1e-12)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, atol=1e-10)
    found = ours.trees_[0].tree
    assert sorted(found.threshold[~found.is_leaf]) == pytest.approx(
        sorted(theirs.estimators_[0].tree_.threshold[theirs.estimators_[0].tree_.feature
                                                      >= 0]), abs=1e-12)


def test_one_regression_tree_without_dice_is_scikit_learns():
    X, y = numbers()
    options = {"bootstrap": False, "min_samples_leaf": 8, "random_state": 0}
    ours = RandomForestRegressor(1, **options).fit(X, y)
    theirs = ensemble.RandomForestRegressor(1, **options).fit(X, y)
    Z = new_data()
    np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), atol=1e-9)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, atol=1e-10)


@pytest.mark.parametrize("K", [2, 4])
def test_a_full_grown_tree_on_one_feature_is_scikit_learns(K):
    """Where two features tie, scikit-learn draws lots; one feature cannot tie."""
    rng = np.random.default_rng(K)
    X, y = single(rng.normal(size=(200, 1))), rng.integers(0, K, size=200)
    Z = new_data(1)
    ours = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(X, y)
    theirs = lib_tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert ours.trees_[0].tree.node_count == theirs.tree_.node_count > 100
    np.testing.assert_array_equal(ours.predict_proba(Z), theirs.predict_proba(Z))


def test_counts_are_weights_as_in_scikit_learns_trees():
    X, y = classes()
    counts = np.array([bootstrap_counts(seed, len(X)) for seed in range(4)])
    options = {"max_depth": 3, "min_samples_leaf": 8}  # no small node, no tie
    ours = grow_trees(Columns(X), y, counts, Gini(), 3, **options)
    Z = new_data()
    for member, count in zip(ours, counts, strict=True):
        theirs = lib_tree.DecisionTreeClassifier(random_state=0, **options)
        theirs.fit(X, y, sample_weight=count)
        np.testing.assert_allclose(
            member.predict(Z), theirs.predict_proba(Z), atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_a_forest_of_all_features_is_the_mean_of_scikit_learns_trees(kind, weighted):
    """Given the draws; three levels and large leaves, where no gains tie."""
    growth = {"max_depth": 3, "min_samples_leaf": 8}
    if kind == "classifier":
        (X, y), Z = classes(), new_data()
        forest, lib = RandomForestClassifier, lib_tree.DecisionTreeClassifier
    else:
        (X, y), Z = numbers(), new_data()
        forest, lib = RandomForestRegressor, lib_tree.DecisionTreeRegressor
    method = "predict_proba" if kind == "classifier" else "predict"
    # weights change how often a row is drawn, and nothing else
    weight = np.random.default_rng(2).integers(2, 4, len(X)) if weighted else None
    ours = forest(25, max_features=None, oob_score=True, random_state=1, **growth)
    ours.fit(X, y, weight)
    counts = np.array([ours._counts(b) for b in range(25)])
    theirs = [lib(random_state=0, **growth).fit(X, y, sample_weight=row)
              for row in counts]
    size = np.abs(y).max()
    expected = np.mean([getattr(member, method)(Z) for member in theirs], axis=0)
    np.testing.assert_allclose(getattr(ours, method)(Z), expected, atol=1e-12 * size)
    said = np.array([getattr(member, method)(X) for member in theirs])
    assert (counts == 0).any(axis=0).all()
    outside = [np.mean(said[counts[:, i] == 0, i], axis=0) for i in range(len(X))]
    found = (ours.oob_decision_function_ if kind == "classifier"
             else ours.oob_prediction_)
    np.testing.assert_allclose(found, outside, atol=1e-12 * size)
    np.testing.assert_array_equal(ours.oob_count_, (counts == 0).sum(axis=0))
    shares = np.mean([member.feature_importances_ for member in theirs], axis=0)
    np.testing.assert_allclose(ours.feature_importances_, shares, atol=1e-10)


def test_weights_are_counts_without_a_bootstrap():
    X, y = classes()
    counts = np.random.default_rng(0).integers(0, 4, size=len(X))
    options = {"bootstrap": False, "max_features": None, "max_depth": 4}
    weighted = RandomForestClassifier(2, **options).fit(X, y, sample_weight=counts)
    repeated = RandomForestClassifier(2, **options).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def test_trees_do_not_depend_on_who_grows_beside_them(monkeypatch):
    """Where the drawn order of the features decides nothing."""
    X, y = classes()
    answers = []
    for size in (1, 1000, 10**6):
        monkeypatch.setattr(random_forest, "SUMS_AT_ONCE", size)
        model = RandomForestClassifier(7, max_features=None, min_samples_leaf=8,
                                       max_depth=3, random_state=1).fit(X, y)
        answers.append(model.predict_proba(new_data()))
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-12)
    np.testing.assert_allclose(answers[0], answers[2], atol=1e-12)


def walk(member, x):
    """The value of the leaf that x falls into, node by node."""
    tree, node = member.tree, member.root
    while tree.feature[node] >= 0:
        left = x[tree.feature[node]] <= tree.threshold[node]
        node = tree.left[node] if left else tree.right[node]
    return member.value[node]


@pytest.mark.parametrize("places", [1, 30, 50_000])
def test_the_forest_is_the_mean_of_its_trees(monkeypatch, places):
    monkeypatch.setattr(random_forest, "PLACES_AT_ONCE", places)
    X, y = classes(n=100)
    model = RandomForestClassifier(9, random_state=0).fit(X, y)
    Z = new_data(n=15)
    expected = [np.mean([walk(member, z) for member in model.trees_], axis=0) for z in Z]
    np.testing.assert_allclose(model.predict_proba(Z), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(Z), np.argmax(expected, axis=1))
    names = np.array(["ash", "elm", "oak"])
    named = RandomForestClassifier(9, random_state=0).fit(X, names[y])
    np.testing.assert_array_equal(named.predict(Z), names[np.argmax(expected, axis=1)])


def test_a_target_far_from_zero():
    X, y = numbers()
    near, far = (RandomForestRegressor(5, max_features=None, min_samples_leaf=5,
                                       random_state=0).fit(X, y + shift)
                 for shift in (0.0, 1e8))
    np.testing.assert_allclose(far.predict(X) - 1e8, near.predict(X), atol=1e-5)


@pytest.mark.parametrize("size", [1e6, 1e16, 1e60])
def test_one_huge_target_leaves_the_others_as_they_are(size):
    """Step (E3) of the page: a full-grown tree repeats the targets it has seen."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    y = 2 * np.sin(2 * X[:, 0])
    y[0] = size
    model = RandomForestRegressor(1, bootstrap=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12, atol=1e-12)
    trees = grow_trees(Columns(X), y, np.ones((1, 500)), SquaredError())
    np.testing.assert_allclose(trees[0].predict(X)[:, 0], y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1e16, 1e20, 1e60])
def test_trees_that_did_not_draw_a_huge_target_do_not_feel_it(size):
    X, y = numbers(n=80)
    X = X[:, :1]  # nothing to draw but the rows
    options = {"oob_score": True, "random_state": 4}
    before = RandomForestRegressor(40, **options).fit(X, y)
    y[17] = size
    after = RandomForestRegressor(40, **options).fit(X, y)
    assert after.oob_prediction_[17] == pytest.approx(before.oob_prediction_[17])


# The bootstrap and who is out of bag


@pytest.mark.parametrize("n", [1, 2, 5, 100])
def test_the_share_of_rows_out_of_bag(n):
    draws = np.array([bootstrap_counts(seed, n) for seed in range(4000)])
    assert draws.shape == (4000, n) and (draws.sum(axis=1) == n).all()
    expected = (1 - 1 / n) ** n
    share = (draws == 0).mean(axis=1)
    error = share.std() / np.sqrt(len(share))
    assert abs(share.mean() - expected) <= 4 * error
    np.testing.assert_allclose(draws.mean(axis=0), 1, atol=4 / np.sqrt(4000))


def test_weights_are_chances():
    chance = np.array([0.5, 0.25, 0.125, 0.125])
    draws = np.array([bootstrap_counts(seed, 4, chance) for seed in range(4000)])
    for j, p in enumerate(chance):
        assert draws[:, j].mean() == pytest.approx(4 * p, abs=4 * np.sqrt(p / 1000))
        missed = (1 - p) ** 4
        assert (draws[:, j] == 0).mean() == pytest.approx(missed, abs=0.03)


def test_out_of_bag_average_row_by_row():
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(rng.random(8) < 0.4) for _ in range(5)]
    values = [rng.normal(size=(len(outside), 2)) for outside in rows]
    mean, count = out_of_bag_average(values, rows, 8)
    for i in range(8):
        said = [v[list(outside).index(i)] for v, outside in zip(values, rows)
                if i in outside]
        assert count[i] == len(said)
        expected = np.mean(said, axis=0) if said else [np.nan, np.nan]
        np.testing.assert_allclose(mean[i], expected)


def test_four_rows_and_three_trees_by_hand():
    X, y = np.array([[1.0], [2], [4], [8]]), np.array([0.0, 2, 6, 10])
    counts = np.array([[2, 1, 0, 1], [0, 1, 2, 1], [2, 0, 0, 2]])
    trees = grow_trees(Columns(X), y, counts, SquaredError())
    rows = [np.flatnonzero(row == 0) for row in counts]
    mean, count = out_of_bag_average(
        [member.predict(X[outside]) for member, outside in zip(trees, rows)], rows, 4)
    np.testing.assert_allclose(mean[:, 0], [2, 0, 1, np.nan])
    np.testing.assert_array_equal(count, [1, 1, 2, 0])
    forest = np.mean([member.predict(X)[:, 0] for member in trees], axis=0)
    np.testing.assert_allclose(forest, [2 / 3, 4 / 3, 8 / 3, 10])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_rows_own_target_has_no_say_in_its_out_of_bag_prediction(weighted):
    X, y = numbers(n=80)
    X = X[:, :1]  # nothing to draw but the rows
    weight = np.random.default_rng(0).integers(1, 9, 80) if weighted else None
    options = {"oob_score": True, "random_state": 4}
    before = RandomForestRegressor(40, **options).fit(X, y, weight)
    for i in (0, 17, 79):
        other = y.copy()
        other[i] += 1000.0
        after = RandomForestRegressor(40, **options).fit(X, other, weight)
        assert after.oob_prediction_[i] == pytest.approx(
            before.oob_prediction_[i], abs=1e-9)
        assert after.predict(X[i:i + 1]) > before.predict(X[i:i + 1]) + 300
        assert 0 < before.oob_count_[i] < 40


def test_out_of_bag_predictions_are_those_of_the_trees_that_missed_the_row():
    X, y = classes(n=60)
    model = RandomForestClassifier(50, oob_score=True, random_state=2).fit(X, y)
    missed = np.array([bootstrap_counts(seed, 60) == 0 for seed in model._seeds])
    for i in range(60):
        said = [walk(model.trees_[b], X[i]) for b in np.flatnonzero(missed[:, i])]
        np.testing.assert_allclose(model.oob_decision_function_[i],
                                   np.mean(said, axis=0), atol=1e-12)
    np.testing.assert_array_equal(model.oob_count_, missed.sum(axis=0))
    right = model.oob_decision_function_.argmax(axis=1) == y
    assert model.oob_score_ == pytest.approx(right.mean())


def test_training_residuals_are_shrunken_out_of_bag_residuals():
    """Trees grown to the end repeat the targets that they saw."""
    X, y = numbers(n=150)
    model = RandomForestRegressor(60, oob_score=True, max_features=2,
                                  random_state=0).fit(X, y)
    np.testing.assert_allclose(
        y - model.predict(X),
        model.oob_count_ / 60 * (y - model.oob_prediction_), atol=1e-9)


def test_rows_never_out_of_bag():
    """CASES: 10 trees, 100 rows."""
    X, y = classes(n=100)
    with pytest.warns(UserWarning, match="rows were drawn by every tree"):
        model = RandomForestClassifier(10, oob_score=True, random_state=2).fit(X, y)
    never = model.oob_count_ == 0
    assert never.any()
    assert np.isnan(model.oob_decision_function_[never]).all()
    there = model.oob_decision_function_[~never]
    assert np.isfinite(there).all()
    assert model.oob_score_ == pytest.approx(
        (there.argmax(axis=1) == y[~never]).mean())
    importance = model.permutation_importance(X, y, random_state=0)
    assert np.isfinite(importance.importances).all()


def test_no_row_out_of_bag():
    with pytest.warns(UserWarning, match="1 of 1 rows"):
        model = RandomForestRegressor(3, oob_score=True).fit([[1.0]], [2.0])
    assert np.isnan(model.oob_score_) and np.isnan(model.oob_prediction_).all()
    with pytest.raises(ValueError, match="none is out of bag"):
        model.permutation_importance([[1.0]], [2.0])


def test_the_out_of_bag_score_is_weighted():
    X, y = numbers(n=80)
    weight = np.random.default_rng(0).integers(0, 4, size=80).astype(float)
    model = RandomForestRegressor(60, oob_score=True, random_state=0)
    model.fit(X, y, sample_weight=weight)
    kept = weight > 0
    assert model.oob_prediction_.shape == (kept.sum(),)
    error = (y[kept] - model.oob_prediction_) ** 2
    spread = (y - np.average(y, weights=weight)) ** 2
    assert model.oob_score_ == pytest.approx(
        1 - np.average(error, weights=weight[kept]) / np.average(spread, weights=weight))


# Sampling error of scikit-learn's


def mean_and_error(values):
    values = np.array(values)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def assert_alike(ours, theirs, errors=4.0):
    """Means over SEEDS forests, apart by at most 4 standard errors of the difference."""
    (a, error_a), (b, error_b) = mean_and_error(ours), mean_and_error(theirs)
    allowed = errors * np.sqrt(error_a**2 + error_b**2)
    assert (np.abs(a - b) <= allowed).all(), (a, b, allowed)


def forests(ours, theirs, X, y, **options):
    options = {"n_estimators": 25, "oob_score": True, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ([ours(random_state=s, **options).fit(X, y) for s in range(SEEDS)],
                [theirs(random_state=s, **options).fit(X, y) for s in range(SEEDS)])


@functools.cache
def regressor_forests():
    """Grown once for the tests that compare them."""
    return forests(RandomForestRegressor, ensemble.RandomForestRegressor, *numbers(),
                   max_features=2)


def lib_importance(model, X, y, rng):
    """Out-of-bag permutation importance of a scikit-learn forest, tree by tree."""
    outside = [np.setdiff1d(np.arange(len(X)), rows) for rows in model.estimators_samples_]
    is_classifier = hasattr(model, "classes_")

    def loss(X):
        total, count = 0.0, np.zeros(len(X))
        for member, rows in zip(model.estimators_, outside):
            said = np.zeros((len(X), len(model.classes_) if is_classifier else 1))
            said[rows] = (member.predict_proba(X[rows]) if is_classifier
                          else member.predict(X[rows])[:, None])
            total = total + said
            count[rows] += 1
        there = count > 0
        mean = total[there] / count[there, None]
        if is_classifier:
            return (mean.argmax(axis=1) != y[there]).mean()
        return ((mean[:, 0] - y[there]) ** 2).mean()

    increases = []
    for j in range(X.shape[1]):
        shuffled = X.copy()
        shuffled[:, j] = rng.permutation(X[:, j])
        increases.append(loss(shuffled) - loss(X))
    return increases


@pytest.mark.parametrize("K", [2, 3])
def test_classifier_within_sampling_error_of_scikit_learns(K):
    X, y = classes(K=K)
    ours, theirs = forests(RandomForestClassifier, ensemble.RandomForestClassifier, X, y)
    assert_alike([m.oob_score_ for m in ours], [m.oob_score_ for m in theirs])
    assert_alike([m.feature_importances_ for m in ours],
                 [m.feature_importances_ for m in theirs])
    Z = new_data(n=40)
    assert_alike([m.predict_proba(Z) for m in ours],
                 [m.predict_proba(Z) for m in theirs], errors=5)
    rng = np.random.default_rng(0)
    assert_alike(
        [m.permutation_importance(X, y, n_repeats=1, random_state=rng).importances_mean
         for m in ours], [lib_importance(m, X, y, rng) for m in theirs])


def test_regressor_within_sampling_error_of_scikit_learns():
    X, y = numbers()
    ours, theirs = regressor_forests()
    assert_alike([m.oob_score_ for m in ours], [m.oob_score_ for m in theirs])
    assert_alike([m.feature_importances_ for m in ours],
                 [m.feature_importances_ for m in theirs])
    rng = np.random.default_rng(0)
    assert_alike(
        [m.permutation_importance(X, y, n_repeats=1, random_state=rng).importances_mean
         for m in ours], [lib_importance(m, X, y, rng) for m in theirs])


def test_among_equal_gains_the_lot_decides():
    """Two copies of a feature share its importance, as in scikit-learn."""
    X, y = numbers(n=100)
    X = np.column_stack([X[:, 0], X[:, 0], X[:, 1:4]])
    ours, theirs = forests(RandomForestRegressor, ensemble.RandomForestRegressor, X, y,
                           n_estimators=10, oob_score=False)
    assert_alike([m.feature_importances_ for m in ours],
                 [m.feature_importances_ for m in theirs])


def test_the_comparison_is_sharp_enough_to_tell():
    """Another number of features for each node must be noticed."""
    X, y = numbers()
    ours, theirs = regressor_forests()
    other, _ = forests(RandomForestRegressor, ensemble.RandomForestRegressor, X, y,
                       max_features=3)
    for name in ("oob_score_", "feature_importances_"):
        with pytest.raises(AssertionError):
            assert_alike([getattr(m, name) for m in other],
                         [getattr(m, name) for m in theirs])


def test_weighted_draws_within_sampling_error_of_scikit_learns():
    X, y = classes(K=2)
    weight = np.where(y == 1, 3.0, 1.0)
    ours, theirs = ([kind(40, random_state=s).fit(X, y, sample_weight=weight)
                     .predict_proba(new_data(n=20)) for s in range(SEEDS)]
                    for kind in (RandomForestClassifier, ensemble.RandomForestClassifier))
    assert_alike(ours, theirs, errors=5)
    plain = [ensemble.RandomForestClassifier(40, random_state=s).fit(X, y)
             .predict_proba(new_data(n=20)) for s in range(SEEDS)]
    with pytest.raises(AssertionError):
        assert_alike(ours, plain, errors=5)


# Importances


def test_shuffling_a_linear_models_feature_costs_twice_its_variance():
    """All cyclic shifts together pair every row with every row once."""
    rng = np.random.default_rng(3)
    n, beta = 9, np.array([1.5, -0.5, 0.0])
    X = rng.normal(size=(n, 3))
    y = X @ beta
    orders = [np.roll(np.arange(n), k) for k in range(n)]
    found = permutation_increases(lambda Z: np.mean((y - Z @ beta) ** 2), X, orders)
    assert found.shape == (3, n)
    np.testing.assert_allclose(
        found.mean(axis=1), 2 * beta**2 * X.var(axis=0), atol=1e-12)


@pytest.mark.parametrize("n_projections", [0, 4])
def test_permutation_importance_is_that_of_out_of_bag_rows(n_projections):
    X, y = numbers(n=60)
    model = RandomForestRegressor(30, max_features=2, n_projections=n_projections,
                                  random_state=0).fit(X, y)
    found = model.permutation_importance(X, y, n_repeats=2, random_state=5).importances
    rng = np.random.default_rng(5)
    orders = [rng.permutation(60) for _ in range(2)]
    missed = np.array([bootstrap_counts(seed, 60) == 0 for seed in model._seeds])

    def loss(Z):
        Z = np.hstack([Z, Z @ model.projections_.T])
        errors = [np.mean([walk(model.trees_[b], Z[i])[0]
                           for b in np.flatnonzero(missed[:, i])]) - y[i]
                  for i in range(60) if missed[:, i].any()]
        return np.mean(np.square(errors))

    for j in (0, 3):
        for k, order in enumerate(orders):
            Z = X.copy()
            Z[:, j] = Z[order, j]
            assert found[j, k] == pytest.approx(loss(Z) - loss(X), rel=1e-9)


def test_permutation_importance_of_labels_and_weights():
    X, y = classes(n=100)
    weight = np.random.default_rng(1).integers(0, 3, size=100)
    names = np.array(["a", "b", "c"])[y]
    model = RandomForestClassifier(40, random_state=0).fit(X, names, weight)
    found = model.permutation_importance(X, names, weight, random_state=0)
    assert found.importances.shape == (6, 5)
    np.testing.assert_allclose(found.importances_mean, found.importances.mean(axis=1))
    np.testing.assert_allclose(found.importances_std, found.importances.std(axis=1))


def test_a_feature_that_no_tree_asks_for_has_no_importance():
    X, y = numbers()
    X[:, 2] = 7.0
    model = RandomForestRegressor(40, random_state=0).fit(X, y)
    assert model.feature_importances_[2] == 0
    assert (model.permutation_importance(X, y).importances[2] == 0).all()


def test_permutation_importance_refuses_other_data():
    X, y = classes(n=80)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    for data, labels in ((X[::-1], y), (X + 1e-9, y), (X, y[::-1]), (X[:40], y[:40])):
        with pytest.raises(ValueError, match="not the training data"):
            model.permutation_importance(data, labels)
    with pytest.raises(ValueError, match="not the training data"):
        model.permutation_importance(X, y, sample_weight=np.arange(1.0, 81))
    with pytest.raises(ValueError, match="the classes differ"):
        model.permutation_importance(X, y + 1)
    with pytest.raises(ValueError, match=r"numbers of samples: \[80, 79\]"):
        model.permutation_importance(X, y[1:])
    with pytest.raises(ValueError, match="n_repeats must be >= 1"):
        model.permutation_importance(X, y, n_repeats=0)
    model = RandomForestClassifier(2, bootstrap=False).fit(X, y)
    with pytest.raises(ValueError, match="no row is out of bag"):
        model.permutation_importance(X, y)


def test_gains_add_up_to_the_impurity_of_the_root():
    """Telescoping: in a tree grown to the end nothing is left of it."""
    X, _ = classes()
    y = np.random.default_rng(0).integers(0, 3, size=300)
    counts = np.array([bootstrap_counts(seed, 300) for seed in range(3)])
    trees = grow_trees(Columns(X), y, counts, Gini(), 3)
    tree = trees[0].tree
    roots = Gini().impurity(tree.sums[:, :3]) * 300
    assert tree.gain.sum() == pytest.approx(roots.sum())
    np.testing.assert_allclose(impurity_shares(trees, 6).sum(axis=1), 1)


def test_every_tree_has_the_same_say_in_the_importances():
    X, y = classes()
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    shares = []
    for member in model.trees_:
        total, queue = np.zeros(6), [member.root]
        while queue:
            node = queue.pop()
            if member.tree.feature[node] >= 0:
                total[member.tree.feature[node]] += member.tree.gain[node]
                queue += [member.tree.left[node], member.tree.right[node]]
        shares.append(total / total.sum())
    np.testing.assert_allclose(model.feature_importances_, np.mean(shares, axis=0))


def test_trees_without_a_split_have_no_say_in_the_importances():
    """Of four rows, three of one class, a third of the samples are of that class alone;
    scikit-learn leaves such trees out too."""
    X, y = np.arange(8.0).reshape(4, 2), np.array([0, 0, 0, 1])
    model = RandomForestClassifier(200, random_state=0).fit(X, y)
    shares = impurity_shares(model.trees_, 2)
    unsplit = [member.tree.is_leaf[member.root] for member in model.trees_]
    np.testing.assert_array_equal(~shares.any(axis=1), unsplit)
    assert 20 < np.sum(unsplit) < 120
    assert model.feature_importances_.sum() == pytest.approx(1)
    split = shares[~np.array(unsplit)]
    np.testing.assert_allclose(model.feature_importances_, split.mean(axis=0))


def test_importances_without_a_split():
    model = RandomForestRegressor(3, random_state=0).fit([[1.0], [1.0]], [0.0, 1.0])
    np.testing.assert_array_equal(model.feature_importances_, [0.0])
    X, y = classes(n=20, K=2)
    model = RandomForestClassifier(3).fit(X, np.zeros(20))
    np.testing.assert_array_equal(model.feature_importances_, np.zeros(6))


# Shared and own variance


def test_variances_of_a_random_effect():
    rng = np.random.default_rng(0)
    R, B = 20_000, 4
    shared = rng.normal(size=(R, 1, 2)) * [2.0, 0.0]
    own = rng.normal(size=(R, B, 2)) * [1.0, 3.0]
    found = np.array(shared_and_own_variance(shared + own))
    np.testing.assert_allclose(found, [[4.0, 0.0], [1.0, 9.0]], atol=0.2)


def test_variances_are_unbiased():
    """All samples of two training sets and two trees from a small world."""
    levels, steps = [0.0, 1.0, 4.0], [-1.0, 1.0]
    found = []
    for one in levels:
        for two in levels:
            for dice in np.ndindex(2, 2, 2, 2):
                e = np.take(steps, dice)
                sample = [[[one + e[0]], [one + e[1]]], [[two + e[2]], [two + e[3]]]]
                found.append(shared_and_own_variance(sample))
    shared, own = np.mean(found, axis=0)[:, 0]
    assert shared == pytest.approx(np.var(levels))
    assert own == pytest.approx(np.var(steps))


@pytest.mark.parametrize("shape", [(3, 4), (1, 3, 2), (3, 1, 2)])
def test_variances_need_two_of_each(shape):
    with pytest.raises(ValueError, match="training sets, trees, points"):
        shared_and_own_variance(np.zeros(shape))


# Random linear combinations


def test_projections_are_three_features_over_their_spread():
    X, y = classes()
    model = RandomForestClassifier(5, n_projections=50, random_state=0).fit(X, y)
    P = model.projections_
    assert P.shape == (50, 6)
    assert ((P != 0).sum(axis=1) == 3).all()
    scaled = (P * X.std(axis=0))[P != 0]
    assert (np.abs(scaled) <= 1).all() and abs(scaled.mean()) < 4 / np.sqrt(3 * 150)
    assert scaled.std() == pytest.approx(1 / np.sqrt(3), abs=0.1)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_units_do_not_matter_to_projections():
    X, y = classes()
    scale = 2.0 ** np.array([10, -3, 0, 5, -20, 1])  # exact in floating point
    one = RandomForestClassifier(10, n_projections=5, random_state=0).fit(X, y)
    other = RandomForestClassifier(10, n_projections=5, random_state=0)
    other.fit(X * scale, y)
    Z = new_data()
    np.testing.assert_array_equal(one.predict_proba(Z), other.predict_proba(Z * scale))
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_)


def test_projections_with_few_or_constant_features():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=50), np.full(50, 3.0)])
    y = X[:, 0] > 0
    model = RandomForestClassifier(5, n_projections=3, random_state=0).fit(X, y)
    assert (model.projections_ != 0).sum(axis=0).tolist() == [3, 0]
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.feature_importances_, [1.0, 0.0])


# Limits and arguments


def test_limits_of_growth():
    X, y = classes()
    rng_free = {"bootstrap": False, "max_features": None, "random_state": 0}
    stump = RandomForestClassifier(1, max_depth=1, **rng_free).fit(X, y)
    assert stump.trees_[0].tree.node_count == 3
    full = RandomForestClassifier(1, **rng_free).fit(X, y)
    assert full.score(X, y) == 1.0
    for options, least in (({"min_samples_leaf": 20}, 20), ({"min_samples_split": 60}, 1)):
        tree = RandomForestClassifier(3, random_state=0, **options).fit(X, y)
        for member in tree.trees_:
            leaf = member.tree.is_leaf
            assert member.tree.count[leaf].min() >= least
            if "min_samples_split" in options:
                assert member.tree.count[~leaf].min() >= 60


def test_one_column_for_each_node_uses_them_all_alike():
    """With max_features=1 the split feature is drawn blindly."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.normal(size=200)
    model = RandomForestRegressor(50, max_features=1, random_state=0).fit(X, y)
    used = np.concatenate([
        tree.feature[~tree.is_leaf]
        for tree in {id(m.tree): m.tree for m in model.trees_}.values()])
    share = np.bincount(used, minlength=4) / len(used)
    np.testing.assert_allclose(share, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / len(used)))


@pytest.mark.parametrize(
    ("max_features", "n_columns", "expected"),
    [("sqrt", 20, 4), ("sqrt", 1, 1), (None, 7, 7), (1.0, 7, 7), (0.5, 7, 3),
     (0.01, 7, 1), (1, 7, 1), (7, 7, 7)],
)
def test_columns_per_node(max_features, n_columns, expected):
    assert columns_per_node(max_features, n_columns) == expected


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be >= 1"),
        ({"max_depth": 0}, ValueError, "max_depth must be >= 1"),
        ({"min_samples_split": 1}, ValueError, "min_samples_split must be >= 2"),
        ({"min_samples_leaf": 0}, ValueError, "min_samples_leaf must be >= 1"),
        ({"min_samples_leaf": 0.1}, TypeError, "min_samples_leaf must be a whole"),
        ({"max_features": 7}, ValueError, "max_features must be between 1 and 6"),
        ({"max_features": 0.0}, ValueError, "max_features must be finite and > 0 and <= 1"),
        ({"max_features": 1.5}, ValueError, "max_features must be finite and > 0 and <= 1"),
        ({"max_features": "log"}, ValueError, "max_features must be one of 'sqrt'"),
        ({"max_features": True}, TypeError, "max_features must be a whole number"),
        ({"bootstrap": 1}, TypeError, "bootstrap must be True or False"),
        ({"oob_score": "yes"}, TypeError, "oob_score must be True or False"),
        ({"bootstrap": False, "oob_score": True}, ValueError, "needs bootstrap=True"),
        ({"n_projections": -1}, ValueError, "n_projections must be >= 0"),
        ({"criterion": "error"}, ValueError, "criterion must be one of"),
    ],
)
@pytest.mark.parametrize("cls", [RandomForestClassifier, RandomForestRegressor])
def test_bad_arguments(cls, options, error, message):
    X, y = classes(n=30)
    with pytest.raises(error, match=message):
        cls(**options).fit(X, y)


def test_more_columns_may_be_drawn_with_projections():
    X, y = classes(n=30)
    RandomForestClassifier(2, max_features=8, n_projections=2).fit(X, y)


def test_refitting_forgets_the_old_out_of_bag_score():
    X, y = classes(n=60)
    model = RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y)
    assert hasattr(model, "oob_score_")
    model.set_params(oob_score=False).fit(X, y)
    for name in ("oob_score_", "oob_count_", "oob_decision_function_"):
        assert not hasattr(model, name)


def test_refitting_forgets_the_old_out_of_bag_prediction():
    X, y = numbers(n=60)
    model = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    assert hasattr(model, "oob_prediction_")
    model.set_params(oob_score=False).fit(X, y)
    for name in ("oob_score_", "oob_count_", "oob_prediction_"):
        assert not hasattr(model, name)


def test_the_lots_for_the_features_come_from_the_seed(monkeypatch):
    X, y = numbers(n=60)
    options = {"bootstrap": False, "max_features": 1}
    grown = [RandomForestRegressor(1, random_state=seed, **options).fit(X, y)
             for seed in (0, 0, 1)]
    same, again, other = (m.trees_[0].tree.feature.tolist() for m in grown)
    assert same == again != other
    monkeypatch.setattr(random_forest, "SUMS_AT_ONCE", 1)  # every tree a group
    one, two = RandomForestRegressor(2, random_state=0, **options).fit(X, y).trees_
    assert one.tree is not two.tree
    assert one.tree.feature.tolist() != two.tree.feature.tolist()


def test_the_out_of_bag_score_of_labels_is_weighted():
    X, y = classes(n=80)
    weight = np.random.default_rng(0).integers(0, 9, size=80).astype(float)
    model = RandomForestClassifier(80, oob_score=True, random_state=0)
    model.fit(X, y, sample_weight=weight)
    kept = weight > 0
    right = model.oob_decision_function_.argmax(axis=1) == y[kept]
    assert model.oob_score_ == pytest.approx(np.average(right, weights=weight[kept]))
    assert abs(model.oob_score_ - right.mean()) > 1e-3


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_permutation_importance_is_weighted(kind):
    is_classifier = kind is RandomForestClassifier
    X, y = classes(n=40) if is_classifier else numbers(n=40)
    weight = np.random.default_rng(1).integers(1, 9, size=40).astype(float)
    model = kind(30, random_state=0).fit(X, y, weight)
    found = model.permutation_importance(X, y, weight, n_repeats=1, random_state=5)
    order = np.random.default_rng(5).permutation(40)
    rows = [set(outside) for outside in model.out_of_bag_rows()]

    def loss(Z, weight):
        lost, of = 0.0, 0.0
        for i in range(40):
            said = [walk(member, Z[i]) for member, outside in zip(model.trees_, rows)
                    if i in outside]
            if said:
                mean = np.mean(said, axis=0)
                lost += weight[i] * (mean.argmax() != y[i] if is_classifier
                                     else (mean[0] - y[i]) ** 2)
                of += weight[i]
        return lost / of

    plain = []
    for j in range(6):
        Z = X.copy()
        Z[:, j] = Z[order, j]
        assert found.importances[j, 0] == pytest.approx(
            loss(Z, weight) - loss(X, weight), rel=1e-9, abs=1e-12)
        plain.append(loss(Z, np.ones(40)) - loss(X, np.ones(40)))
    assert np.abs(found.importances[:, 0] - plain).max() > 1e-3


def test_combinations_hand_on_what_they_gain():
    X, y = classes(n=100)
    model = RandomForestClassifier(6, n_projections=3, random_state=0).fit(X, y)
    assert (model.projections_ < 0).any()
    shares = impurity_shares(model.trees_, 9)
    assert (shares[:, 6:] > 0).any()
    expected = np.zeros(6)
    for share in shares:
        expected += share[:6] / 6
        for gained, coefficients in zip(share[6:], model.projections_):
            size = [abs(c) * np.std(column) for c, column in zip(coefficients, X.T)]
            expected += gained * np.array(size) / sum(size) / 6
    np.testing.assert_allclose(model.feature_importances_, expected, rtol=1e-10)


@pytest.mark.parametrize("value", [0.1, -1 / 3, 1e5 + 0.1, 3.0])
def test_a_constant_column_does_not_ruin_the_projections(value):
    """Rounded, the standard deviation of 0.1 and of some others is not 0."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)), np.full(200, value)])
    y = X[:, 0] + X[:, 1]
    model = RandomForestRegressor(20, n_projections=4, random_state=0).fit(X, y)
    assert model.feature_importances_[2] == 0
    assert (model.projections_[:, 2] == 0).all()
    assert (model.projections_[:, :2] != 0).all()
    np.testing.assert_array_equal(model.predict(X), model.predict(X + [0, 0, 1e-12]))


def test_a_column_that_is_constant_but_for_rounding_joins_no_combination():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)), np.full(200, 0.1)])
    X[::2, 2] = np.nextafter(0.1, 1)
    model = RandomForestRegressor(5, n_projections=4, random_state=0)
    model.fit(X, X[:, 0] + X[:, 1])
    assert ((model.projections_ != 0) == [True, True, False]).all()
    for combination in model.with_projections(X)[:, 3:].T:
        assert len(np.unique(combination)) == 200


@pytest.mark.parametrize(("noise", "joins"), [(1e-9, True), (1e-11, True),
                                              (1e-14, False)])
def test_a_column_that_varies_little_joins_the_combinations(noise, joins):
    """Time stamps do: seconds beside 1.7e9. Rounding does not."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(200, 2)),
                         1 + noise * rng.normal(size=200)])
    model = RandomForestRegressor(2, n_projections=4, random_state=0).fit(X, X[:, 0])
    assert ((model.projections_ != 0) == [True, True, joins]).all()


@pytest.mark.parametrize("power", [-200, 200])
def test_combinations_of_new_rows_that_overflow_are_refused(power):
    X, y = numbers(n=60)
    model = RandomForestRegressor(20, n_projections=4, random_state=0)
    model.fit(X * 10.0 ** -200, y)
    for method in (model.with_projections, model.predict):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            if power > 0:
                with pytest.raises(ValueError, match="combination .* overflows"):
                    method(X * 10.0 ** power)
            else:
                assert np.isfinite(method(X * 10.0 ** power)).all()


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e5 + 0.1, 7.7, -0.1, 3.0, 0.0])
@pytest.mark.parametrize("n", [49, 60])
def test_scores_of_a_constant_target(value, n):
    X, y = np.random.default_rng(0).normal(size=(n, 2)), np.full(n, value)
    model = RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == 1 == model.score(X, y)
    assert (model.predict(X) == value).all() and (model.oob_prediction_ == value).all()


def test_an_out_of_bag_score_that_is_not_perfect_is_0_for_a_constant_target():
    model = RandomForestRegressor()
    said, weight = np.array([[3.0], [4.0]]), np.ones(2)
    assert model._oob_score(said, np.array([3.0, 3.0]), weight) == 0
    assert model._oob_score(said, np.array([3.0, 4.0]), weight) == 1


# Units


@pytest.mark.parametrize("factor", [1e-310, 1e-300, 7.0, 1e154, 1e307])
@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_units_of_the_weights_do_not_matter(kind, bootstrap, factor):
    X, y = classes(n=60) if kind is RandomForestClassifier else numbers(n=60)
    weight = 2.0 ** np.random.default_rng(0).integers(0, 3, size=60)
    options = {"max_features": None, "max_depth": 3, "bootstrap": bootstrap,
               "min_samples_leaf": 4, "oob_score": bootstrap, "random_state": 0}
    one = kind(30, **options).fit(X, y, weight)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = kind(30, **options).fit(X, y, weight * factor)
    said = [m.predict(X) if kind is RandomForestRegressor else m.predict_proba(X)
            for m in (one, other)]
    np.testing.assert_allclose(*said, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_,
                               atol=1e-9)
    if bootstrap:
        assert one.oob_score_ == pytest.approx(other.oob_score_, abs=1e-9)
        np.testing.assert_allclose(*(
            m.permutation_importance(X, y, w, random_state=0).importances
            for m, w in ((one, weight), (other, weight * factor))), atol=1e-8)


@pytest.mark.parametrize(("at_fit", "later"), [(3.0, None), (None, 3.0), (0.1, 7.0)])
def test_weights_that_are_all_alike_are_no_weights(at_fit, later):
    X, y = numbers(n=60)
    plain = RandomForestRegressor(20, random_state=0).fit(X, y)
    at_fit, later = (w and np.full(60, w) for w in (at_fit, later))
    model = RandomForestRegressor(20, random_state=0).fit(X, y, at_fit)
    np.testing.assert_array_equal(
        model.permutation_importance(X, y, later, random_state=0).importances,
        plain.permutation_importance(X, y, random_state=0).importances)


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_weights_that_vanish_beside_the_largest_are_0(kind):
    X, y = classes(n=60) if kind is RandomForestClassifier else numbers(n=60)
    tiny = np.where(np.arange(60) < 40, 1e300, 5e-324)
    tiny[0] *= 3
    none = np.where(tiny > 1, tiny, 0.0)
    one, other = (kind(60, oob_score=True, random_state=0).fit(X, y, w)
                  for w in (tiny, none))
    assert one.oob_score_ == other.oob_score_ and len(one.oob_count_) == 40
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    for weight in (tiny, none):
        assert one.permutation_importance(X, y, weight).importances.shape == (6, 5)


def test_permutation_importance_wants_labels_that_can_be_sorted():
    X, y = classes(n=60)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="requires the y of fit"):
        model.permutation_importance(X, None)
    with pytest.raises(TypeError, match="Labels must be sortable"):
        model.permutation_importance(X, np.array(["a", 1] * 30, dtype=object))


@pytest.mark.parametrize("power", [-200, 200])
def test_units_of_the_target_do_not_matter(power):
    X, y = numbers(n=60)
    factor = 2.0 ** power
    one, other = (RandomForestRegressor(20, oob_score=True, random_state=0)
                  .fit(X, y * f) for f in (1.0, factor))
    np.testing.assert_array_equal(one.predict(X) * factor, other.predict(X))
    assert one.oob_score_ == other.oob_score_
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)


@pytest.mark.parametrize("size", [1.7e308, 1e155, 1e-165, 5e-324])
def test_targets_that_cannot_be_squared_are_refused(size):
    X = np.arange(6.0)[:, None]
    for y in (np.full(6, size), size * np.array([1, -1, 1, 1, -1, 0])):
        with pytest.raises(ValueError, match=r"The largest \|y\| must be 0 or between"):
            RandomForestRegressor(3).fit(X, y)


@pytest.mark.parametrize("power", [-900, -550, 550, 900])
def test_large_and_small_columns_do_not_ruin_the_projections(power):
    X, y = numbers(n=60)
    one, other = (RandomForestRegressor(10, n_projections=5, random_state=0)
                  .fit(X * f, y) for f in (1.0, 2.0 ** power))
    np.testing.assert_array_equal(one.predict(X), other.predict(X * 2.0 ** power))
    np.testing.assert_array_equal(one.feature_importances_, other.feature_importances_)


@pytest.mark.parametrize("factor", [1e-305, 1e302])
def test_columns_that_cannot_be_combined_are_refused(factor):
    X, y = numbers(n=60)
    X = X * [1, factor, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="standard deviations, .* in column 1"):
        RandomForestRegressor(10, n_projections=5).fit(X, y)
    RandomForestRegressor(10).fit(X, y)


# What the page calls beside the estimators


def test_single_trees_want_the_columns_that_they_grew_on():
    X, y = numbers(n=60)
    model = RandomForestRegressor(7, n_projections=4, random_state=0).fit(X, y)
    wide = model.with_projections(X)
    np.testing.assert_allclose(wide, np.hstack([X, X @ model.projections_.T]))
    mean = np.mean([member.predict(wide)[:, 0] for member in model.trees_], axis=0)
    np.testing.assert_allclose(mean, model.predict(X))
    for other in (X, wide[:, :9], np.hstack([wide, X]), wide[0]):
        for member in model.trees_:
            with pytest.raises(ValueError, match="ask for 10 columns"):
                member.predict(other)
    with pytest.raises(ValueError, match="6 features"):
        model.with_projections(wide)
    wide[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        model.trees_[0].predict(wide)


def test_trees_are_asked_about_their_rows():
    X, y = numbers(n=60)
    trees = RandomForestRegressor(3, random_state=0).fit(X, y).trees_
    rows = [[5, 2], [], np.arange(60, dtype=np.uint8)]
    for member, row, said in zip(trees, rows, tree_predictions(trees, X, rows)):
        expected = [walk(member, X[i]) for i in row]
        np.testing.assert_array_equal(said, np.reshape(expected, (len(row), 1)))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([np.arange(60) < 9, [1]], "np.flatnonzero turns a mask"),
        ([[1.0], [1]], "whole numbers .*, got float64"),
        ([[[1]], [1]], r"whole numbers .*, got int.* of shape \(1, 1\)"),
        ([[1], [60]], "row numbers must be in 0..59"),
        ([[1], [-1]], "row numbers must be in 0..59"),
        ([[1]], "There are 2 trees, but rows of 1"),
        ([[1], [2], [3]], "There are 2 trees, but rows of 3"),
    ],
)
def test_rows_that_trees_cannot_be_asked_about(rows, message):
    X, y = numbers(n=60)
    trees = RandomForestRegressor(2, random_state=0).fit(X, y).trees_
    with pytest.raises(ValueError, match=message):
        next(tree_predictions(trees, X, rows))


@pytest.mark.parametrize(
    ("predictions", "rows", "message"),
    [
        ([], [], "at least one tree"),
        ([[1.0, 2.0]], [[0, 1]], "must have the shape"),
        ([[[1.0]]], [[0, 1]], "must have the shape"),
        ([[[1.0], [2.0]]], [[0]], "must have the shape"),
        ([[[1.0], [2.0]]], [[0, 0]], "must be different"),
        ([[[1.0]]], [[3]], "must be in 0..2"),
        ([[[1.0]]], [[-1]], "must be in 0..2"),
        ([[[1.0, 2.0]], [[1.0]]], [[0], [1]], "equally many numbers"),
        ([[[np.nan]]], [[0]], "predictions contains NaN"),
        ([[[1j]]], [[0]], "Complex data not supported"),
        ([[[1.0], [2.0]]], [[0.0, 1.0]], "np.flatnonzero turns a mask"),
        ([[[1.0], [2.0], [3.0]]], [[True, False, True]], "np.flatnonzero turns a mask"),
        ([[[1.0], [2.0]]], [[[0, 1]]], "must be a vector of whole numbers"),
    ],
)
def test_bad_out_of_bag_predictions(predictions, rows, message):
    with pytest.raises(ValueError, match=message):
        out_of_bag_average(predictions, rows, 3)


def test_trees_that_saw_every_row_have_no_say():
    said = [np.empty((0, 1)), [[1.0, 2.0]], np.empty((0, 1))]
    mean, count = out_of_bag_average(said, [np.array([], int), np.array([1]),
                                            np.array([], int)], 2)
    np.testing.assert_array_equal(mean, [[np.nan, np.nan], [1.0, 2.0]])
    assert count.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("target", "weights", "n_classes", "message"),
    [
        ([0, 1, 1], [[0, 0, 0], [1, 1, 1]], 2, "every tree needs a row of positive"),
        ([0, 1, 1], [[1, -1, 1]], 2, "No weight may be negative"),
        ([0, 1, 1], [[1, np.nan, 1]], 2, "weights contains NaN"),
        ([0, 1, 1], [[1, 1]], 2, "X has 3 rows"),
        ([0, 1, 1], [1, 1, 1], 2, "X has 3 rows"),
        ([0, 1], [[1, 1, 1]], 2, "X has 3 rows"),
        ([0, 1, 2], [[1, 1, 1]], 2, "whole numbers from 0 to 1"),
        ([0, -1, 1], [[1, 1, 1]], 2, "whole numbers from 0 to 1"),
        ([0.0, 0.5, 1.0], [[1, 1, 1]], 2, "whole numbers from 0 to 1"),
        ([0.0, np.nan, 1.0], [[1, 1, 1]], None, "target contains NaN"),
        ([0.0, 1e99, 1.0], [[1, 1, 1]], None, r"largest \|target\| must be 0"),
        ([0, 1, 1], [[1e-99, 1e-99, 0]], 2, r"largest \|weights\| must be 0"),
        ([0.0, 1.0, 1.0], [[1, 1, 1], [1e-99, 0, 0]], None, r"\|weights\| .* 1e-99"),
        ([0.0, 1.0, 1.0], [[1, 1, 1], [1, 0, 1e99]], None, r"\|weights\| .* 1e\+99"),
    ],
)
def test_bad_arguments_of_grow_trees(target, weights, n_classes, message):
    columns = Columns(np.array([[1.0], [2.0], [3.0]]))
    criterion = SquaredError() if n_classes is None else Gini()
    with pytest.raises(ValueError, match=message):
        grow_trees(columns, np.array(target), np.array(weights), criterion, n_classes)


@pytest.mark.parametrize(("criterion", "n_classes"),
                         [(SquaredError(), 2), (SquaredError(), 3), (Gini(), None)])
def test_a_criterion_for_the_other_kind_of_target_is_refused(criterion, n_classes):
    columns = Columns(np.array([[1.0], [2.0], [3.0]]))
    with pytest.raises(ValueError, match="SquaredError is for numbers"):
        grow_trees(columns, np.array([0, 1, 1]), np.ones((1, 3)), criterion, n_classes)


def test_columns_cannot_be_drawn_without_a_generator():
    with pytest.raises(ValueError, match="rng must be a Generator"):
        grow_trees(Columns(np.ones((3, 2))), np.arange(3.0), np.ones((1, 3)),
                   SquaredError(), max_features=1)


@pytest.mark.parametrize("n_columns", [1, 7])
def test_shares_want_the_columns_that_the_trees_grew_on(n_columns):
    X, y = numbers(n=30)
    trees = RandomForestRegressor(2).fit(X, y).trees_
    with pytest.raises(ValueError, match=f"grew on 6 columns, not {n_columns}"):
        impurity_shares(trees, n_columns)


def test_a_loss_may_write_into_what_it_is_given():
    X = np.random.default_rng(0).normal(size=(5, 2))
    kept, orders = X.copy(), [np.arange(5)[::-1]] * 3

    def loss(Z):
        value = Z[0] @ [1.0, 2.0]
        Z[:] = 7.0
        return value

    found = permutation_increases(loss, X, orders)
    np.testing.assert_array_equal(X, kept)
    expected = (X[4] - X[0]) * [1.0, 2.0]
    np.testing.assert_allclose(found, np.tile(expected[:, None], 3), atol=1e-12)


def test_shuffling_wants_a_matrix():
    with pytest.raises(ValueError, match="Expected 2D array"):
        permutation_increases(np.sum, np.ones(3), [np.arange(3)])


@pytest.mark.parametrize("order", [[0], [0, 0, 1], [0, 1, 2, 3], [-1, 0, 1], 0,
                                   [0.0, 1.0, 2.0], [[0, 1, 2]]])
def test_orders_must_be_permutations(order):
    with pytest.raises(ValueError, match="must hold each of 0..2 once"):
        permutation_increases(lambda Z: Z.sum(), np.ones((3, 1)), [order])


def test_variances_that_would_overflow_are_refused():
    with pytest.raises(ValueError, match=r"largest \|predictions\|"):
        shared_and_own_variance(1e200 * np.ones((2, 2, 1)))


def test_minus_zero_is_zero_to_the_fingerprint():
    X, y = numbers(n=30)
    X[0, 0] = 0.0
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    X[0, 0] = -0.0
    assert model.permutation_importance(X, y).importances.shape == (6, 5)


@pytest.mark.parametrize("values", [[0.0], [1.0], [3.0, -9.0], [1e-310], [1.7e308]])
def test_powers_of_two(values):
    unit = float(random_forest.power_of_two(np.array(values)))
    assert math.frexp(unit)[0] == 0.5
    assert np.abs(np.array(values) / unit).max() < 2
