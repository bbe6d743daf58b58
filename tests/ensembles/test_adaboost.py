"""Stumps held to brute force, AdaBoost to scikit-learn round by round and its bounds."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn import datasets
from sklearn.ensemble import AdaBoostClassifier as Library
from sklearn.tree import DecisionTreeClassifier

from mlbook.ensembles import adaboost
from mlbook.ensembles.adaboost import (
    AdaBoostClassifier, DecisionStump, Stump, StumpSplits, TwoClassGini, as_stump,
    error_bound, exponential_loss, fit_stump, loss_factor, row_weights, vote_weight,
    weighted_error)
from mlbook.ensembles.criteria import Gini, Misclassification
from mlbook.ensembles.splits import Columns, ExactSplits
from mlbook.ensembles.tree import grow

CRITERIA = ["error", "gini"]


def noisy(n=300, d=6, n_classes=2, seed=0):
    """Data that are exact in float32, to which scikit-learn's trees round."""
    X, y = datasets.make_classification(
        n, d, n_informative=d - 1, n_redundant=0, n_classes=n_classes, flip_y=0.15,
        random_state=seed)
    return X.astype(np.float32).astype(float), y


def tied(n=40, d=3, n_classes=2, seed=0):
    """Whole numbers from a small range, so that nearly all values occur often."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n, d)).astype(float)
    y = (X[:, 0] + rng.integers(0, 4, n)).astype(int) % n_classes
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng.integers(1, 5, n).astype(float)


def library(n_estimators=100, **arguments):
    stump = DecisionTreeClassifier(max_depth=1)
    return Library(stump, n_estimators=n_estimators, random_state=0, **arguments)


def says(model, X):
    """What every stump says about every row, as classes 0, 1, ..., (rounds, n)."""
    return np.array([stump.predict(X) for stump in model.estimators_])


def margins(model, X, y):
    """The margin of every row after 0, 1, ... rounds, (rounds + 1, n)."""
    right = np.where(says(model, X) == np.searchsorted(model.classes_, y), 1, -1)
    steps = model.estimator_weights_[:, np.newaxis] * right
    return np.vstack([np.zeros(len(X)), np.cumsum(steps, axis=0)])


def weights(model, X, y, start=None):
    """The row weights before every round and after the last, (rounds + 1, n)."""
    start = np.ones(len(X)) if start is None else start
    return np.array([row_weights(start, m) for m in margins(model, X, y)])


# Against scikit-learn


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("rate", [1.0, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_gini_stumps_are_scikit_learns_round_by_round(n_classes, rate, weighted):
    X, y = noisy(400, 8, n_classes)
    weight = np.random.default_rng(1).uniform(0.5, 2, 400) if weighted else None
    ours = AdaBoostClassifier(100, learning_rate=rate).fit(X, y, weight)
    theirs = library(learning_rate=rate).fit(X, y, weight)
    assert len(ours.estimators_) == len(theirs.estimators_) == 100
    for stump, tree in zip(ours.estimators_, theirs.estimators_, strict=True):
        assert stump.feature == tree.tree_.feature[0]
        assert stump.threshold == tree.tree_.threshold[0]
        assert [stump.left, stump.right] == tree.tree_.value[1:, 0].argmax(1).tolist()
    # scikit-learn multiplies only the wrong rows: its weights are twice the alpha here
    np.testing.assert_allclose(2 * ours.estimator_weights_, theirs.estimator_weights_,
                               rtol=1e-10)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_,
                               rtol=1e-10)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    score = ours.decision_function(X) / ours.estimator_weights_.sum()
    expected = theirs.decision_function(X)
    if n_classes == 2:
        np.testing.assert_allclose(2 * score, expected, atol=1e-10)
    else:  # -1/(K - 1) for each vote that a class did not get
        scaled = (n_classes * score - 1) / (n_classes - 1)
        np.testing.assert_allclose(scaled, expected, atol=1e-10)


def test_one_gini_stump_is_scikit_learns():
    for seed in range(5):
        X, y = noisy(150, 4, 3, seed)
        weight = np.random.default_rng(seed).uniform(0, 2, len(y))
        ours = DecisionStump("gini").fit(X, y, weight)
        theirs = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, weight)
        assert ours.stump_.feature == theirs.tree_.feature[0]
        assert ours.stump_.threshold == theirs.tree_.threshold[0]
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X),
                                   rtol=1e-12)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def gini_of_sides(left, y, weight):
    """Gini of both sides times their weights; no sum is a difference of sums."""
    total = 0.0
    for side in (left, ~left):
        b = [(side & (y == k)) @ weight for k in (0, 1)]
        total += 2 * b[0] * b[1] / np.maximum(b[0] + b[1], 1e-300)
    return total


@pytest.mark.parametrize("seed", [0, 2])
def test_every_stump_of_a_long_training_is_the_best(seed):
    """Weights fall to 1e-120, and a difference of sums can no longer see them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 2)).astype(np.float32).astype(float)
    y = (X.sum(axis=1) > 0).astype(int)
    model = AdaBoostClassifier(1500).fit(X, y)
    assert len(model.estimators_) == 1500
    cuts = np.array([stump.predict(X) for stump in all_stumps(X, 2)]) == 0
    weight = weights(model, X, y)
    assert weight[-1].min() < 1e-100
    for t, stump in enumerate(model.estimators_):
        least = gini_of_sides(cuts, y, weight[t]).min()
        left = X[:, stump.feature] <= stump.threshold
        assert gini_of_sides(left, y, weight[t]) == pytest.approx(least, abs=2e-12)
        assert model.estimator_errors_[t] == pytest.approx(
            weight[t][stump.predict(X) != y].sum(), rel=1e-6)
        if t % 50 == 0:
            tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(
                X, y, weight[t]).tree_
            theirs = X[:, tree.feature[0]] <= tree.threshold[0]
            assert gini_of_sides(theirs, y, weight[t]) == pytest.approx(
                least, abs=2e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stump_with_next_to_no_weight_at_the_end_is_scikit_learns(n_classes):
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 1)).astype(np.float32).astype(float)
        y = rng.integers(0, n_classes, 60)
        weight = rng.uniform(0.5, 1, 60)
        last = np.argsort(X[:, 0])[-3:]
        weight[last], y[last] = 1e-20, [0, 1, n_classes - 1]
        ours = DecisionStump("gini").fit(X, y, weight)
        theirs = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y, weight)
        assert ours.stump_.threshold == theirs.tree_.threshold[0]
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X),
                                   rtol=1e-9)


# Against brute force


def all_stumps(X, n_classes):
    """Every stump there is, in the order in which ties are decided."""
    for f in range(X.shape[1]):
        values = np.unique(X[:, f])
        for low, high in zip(values, values[1:]):
            for left, right in product(range(n_classes), repeat=2):
                yield Stump(f, (low + high) / 2, left, right)


def gini_impurity(y, weight, n_classes):
    share = np.array([weight[y == k].sum() for k in range(n_classes)])
    return weight.sum() * (1 - ((share / weight.sum()) ** 2).sum())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_error_stump_is_the_best_of_all(n_classes, seed):
    X, y, weight = tied(n_classes=n_classes, seed=seed)
    stumps = list(all_stumps(X, n_classes))
    wrong = np.array([weight[stump.predict(X) != y].sum() for stump in stumps])
    found = DecisionStump("error").fit(X, y, weight)
    assert weight[found.predict(X) != y].sum() == wrong.min()
    best = stumps[int(wrong.argmin())]  # whole weights: their sums are exact
    assert (found.stump_.feature, found.stump_.threshold) == (best.feature,
                                                              best.threshold)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(8))
def test_gini_stump_is_the_best_of_all(n_classes, seed):
    X, y, weight = tied(n_classes=n_classes, seed=seed)
    cuts = {(s.feature, s.threshold): X[:, s.feature] <= s.threshold
            for s in all_stumps(X, 1)}
    impurity = np.array([
        sum(gini_impurity(y[side], weight[side], n_classes) for side in (left, ~left))
        for left in cuts.values()])
    first = int((impurity <= impurity.min() + 1e-9).argmax())
    found = DecisionStump("gini").fit(X, y, weight)
    cut = found.stump_.feature, found.stump_.threshold
    assert cut == list(cuts)[first]
    left = cuts[cut]
    for side, says in ((left, found.stump_.left), (~left, found.stump_.right)):
        share = [weight[side & (y == k)].sum() for k in range(n_classes)]
        assert says == np.argmax(share)


@pytest.mark.parametrize("criterion", [Gini(), TwoClassGini(), Misclassification()])
@pytest.mark.parametrize("ties", ["none", "all columns", "some columns"])
def test_the_finder_is_the_shared_one(criterion, ties):
    for seed in range(10):
        X, y, weight = tied(60, 4, seed=seed)
        if ties != "all columns":
            untied = [0, 1, 2, 3] if ties == "none" else [1, 3]
            X[:, untied] = np.random.default_rng(seed).normal(size=(60, len(untied)))
        stats = np.eye(2)[:, y] * weight
        shared, leaf = grow(ExactSplits(Columns(X), stats, criterion), max_depth=1)
        tree, own_leaf = fit_stump(
            StumpSplits(Columns(X, presort=True), y, 2, criterion), weight)
        assert tree.feature[0] == shared.feature[0]
        assert tree.threshold[0] == shared.threshold[0]
        assert tree.gain[0] == pytest.approx(shared.gain[0], rel=1e-9)
        np.testing.assert_array_equal(own_leaf, leaf)
        np.testing.assert_array_equal(tree.sums, shared.sums)
        np.testing.assert_array_equal(tree.count, shared.count)


def test_two_class_gini_is_minus_twice_the_total_impurity():
    sums = np.random.default_rng(0).uniform(0, 3, (2, 50))
    sums[:, 0] = 0.0
    np.testing.assert_allclose(TwoClassGini().score(sums),
                               Gini().score(sums) - sums.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(TwoClassGini().score(sums),
                               -sums.sum(axis=0) * Gini().impurity(sums), atol=1e-12)


# Blocks are a matter of speed


@pytest.mark.parametrize("block", [1, 100, 250])
def test_blocks_change_nothing(block, monkeypatch):
    X, y = noisy(100, 7, 3)
    whole = AdaBoostClassifier(20).fit(X, y)
    monkeypatch.setattr(adaboost, "BLOCK", block)
    assert AdaBoostClassifier(20).fit(X, y).estimators_ == whole.estimators_


# Flipped, mirrored and tied


@pytest.mark.parametrize("criterion", CRITERIA)
def test_exchanged_classes_flip_every_stump(criterion):
    X, y = noisy(120, 4)
    model = AdaBoostClassifier(20, criterion).fit(X, y)
    flipped = AdaBoostClassifier(20, criterion).fit(X, 1 - y)
    for stump, other in zip(model.estimators_, flipped.estimators_, strict=True):
        assert (other.feature, other.threshold) == (stump.feature, stump.threshold)
        assert (other.left, other.right) == (1 - stump.left, 1 - stump.right)
    np.testing.assert_allclose(flipped.decision_function(X), -model.decision_function(X),
                               rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_mirrored_feature_gives_a_mirrored_stump(criterion):
    """In one feature with one best cut, and with most values tied."""
    x = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3], dtype=float)
    y = np.array([0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1])
    for flip in (y, 1 - y):
        stump = DecisionStump(criterion).fit(x[:, np.newaxis], flip)
        mirror = DecisionStump(criterion).fit(-x[:, np.newaxis], flip)
        assert stump.stump_.threshold == 1.5 and mirror.stump_.threshold == -1.5
        np.testing.assert_array_equal(stump.predict(x[:, np.newaxis]),
                                      mirror.predict(-x[:, np.newaxis]))
        assert (stump.predict(x[:, np.newaxis]) != flip).sum() == 2


@pytest.mark.parametrize("criterion", CRITERIA)
def test_equal_values_are_never_parted(criterion):
    """The best of all orders of tied rows is no stump: only cuts between values are."""
    x = np.array([1, 1, 1, 1, 2, 2.0])
    y = np.array([0, 0, 1, 1, 1, 0])
    stump = DecisionStump(criterion).fit(x[:, np.newaxis], y)
    assert stump.stump_.threshold == 1.5
    assert (stump.predict(x[:, np.newaxis]) != y).sum() == 3
    neighbours = np.array([[1.0], [np.nextafter(1.0, 2)]])
    close = DecisionStump(criterion).fit(neighbours, [0, 1])
    assert close.stump_.threshold == 1.0
    np.testing.assert_array_equal(close.predict(neighbours), [0, 1])


def test_gains_that_differ_by_rounding_are_equal():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1: a repeated column must not win by that."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=80), rng.integers(0, 2, 80)
    X = np.column_stack([x, -x])  # the same cuts, summed from the other end
    for seed in range(30):
        weight = np.random.default_rng(seed).uniform(size=80)
        for criterion in CRITERIA:
            assert DecisionStump(criterion).fit(X, y, weight).stump_.feature == 0


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gains_that_differ_by_less_than_the_rounding_are_equal(criterion):
    """The second feature makes no mistake, the first a mistake of weight 1e-13."""
    X, y = [[0, 0], [0, 1], [1, 0]], [0, 1, 0]
    light = DecisionStump(criterion).fit(X, y, [1, 1e-13, 1])
    assert light.predict(X).tolist() == [0, 0, 0]
    heavy = DecisionStump(criterion).fit(X, y, [1, 1e-11, 1])
    assert heavy.predict(X).tolist() == y


@pytest.mark.parametrize("criterion", CRITERIA)
def test_of_equally_heavy_classes_the_first_speaks(criterion):
    stump = DecisionStump(criterion).fit([[0], [0], [1]], [0, 1, 1]).stump_
    assert stump == Stump(0, 0.5, 0, 1)
    # the weights are those of that stump: the second row, its mistake, weighs 1/2
    model = AdaBoostClassifier(2, criterion).fit([[0], [0], [1]], [0, 1, 1])
    assert model.estimators_ == [stump, Stump(0, 0.5, 1, 1)]
    np.testing.assert_allclose(model.estimator_errors_, [1 / 3, 1 / 4])


# The weights


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_last_stump_is_left_no_better_than_guessing(criterion, n_classes):
    X, y = noisy(200, 5, n_classes)
    start = np.random.default_rng(0).uniform(0.5, 2, 200)
    model = AdaBoostClassifier(40, criterion).fit(X, y, start)
    after = weights(model, X, y, start)
    np.testing.assert_allclose(after.sum(axis=1), 1, rtol=1e-12)
    wrong = says(model, X) != y
    before = np.where(wrong, after[:-1], 0).sum(axis=1)
    np.testing.assert_allclose(before, model.estimator_errors_, rtol=1e-9)
    left_over = np.where(wrong, after[1:], 0).sum(axis=1)
    np.testing.assert_allclose(left_over, 1 - 1 / n_classes, rtol=1e-9)


def test_weights_are_those_of_the_recursion():
    """Every round multiplies by the factor or divides by it, and then normalises."""
    X, y = noisy(150, 4)
    model = AdaBoostClassifier(30, "error").fit(X, y)
    u = np.full(150, 1 / 150)
    for stump, error in zip(model.estimators_, model.estimator_errors_, strict=True):
        wrong = stump.predict(X) != y
        assert u[wrong].sum() == pytest.approx(error, rel=1e-9)
        factor = np.sqrt((1 - error) / error)
        u = np.where(wrong, u * factor, u / factor)
        u /= u.sum()
    np.testing.assert_allclose(weights(model, X, y)[-1], u, rtol=1e-9)


def test_row_weights_neither_overflow_nor_vanish():
    start = np.array([1.0, 2.0, 1.0])
    np.testing.assert_array_equal(row_weights(start, np.zeros(3)), start / 4)
    np.testing.assert_allclose(row_weights(start, np.array([-2000.0, -2000.0, 2000.0])),
                               [1 / 3, 2 / 3, 0])


@pytest.mark.parametrize("error", [0.01, 0.2, 0.5, 0.8])
def test_alpha_is_the_minimum(error):
    found = minimize_scalar(lambda a: loss_factor(error, a), bounds=(-4, 4),
                            method="bounded", options={"xatol": 1e-10})
    assert vote_weight(error) == pytest.approx(found.x, abs=1e-6)
    assert loss_factor(error, vote_weight(error)) == pytest.approx(
        2 * np.sqrt(error * (1 - error)))
    assert loss_factor(error, 2 * vote_weight(error)) == pytest.approx(1)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_alpha_of_guessing_is_zero(n_classes):
    assert vote_weight(1 - 1 / n_classes, n_classes) == pytest.approx(0, abs=1e-12)
    assert vote_weight(0.3, n_classes) > vote_weight(0.31, n_classes)


def test_alpha_at_the_ends_is_finite():
    assert vote_weight(0.0) == pytest.approx(-0.5 * np.log(np.finfo(float).eps))
    assert vote_weight(1.0) == pytest.approx(-vote_weight(0.0), rel=1e-3)


def test_weighted_error_by_hand():
    wrong = np.array([True, False, True])
    assert weighted_error(np.array([1.0, 2.0, 5.0]), wrong) == 0.75
    assert weighted_error([1, 2, 5], [1, 0, 1]) == 0.75  # a mask, not positions


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vote_weight(np.nan), "error must be finite and >= 0 and <= 1"),
        (lambda: vote_weight(-0.1), "error must be"),
        (lambda: vote_weight(1.1), "error must be"),
        (lambda: vote_weight(0.2, 0), "n_classes must be >= 1"),
        (lambda: loss_factor(1.1, 0.0), "error must be"),
        (lambda: loss_factor(0.0, 800.0), "alpha must be"),
        (lambda: row_weights(np.ones(2), [np.nan, 0]), "margin contains NaN"),
        (lambda: row_weights(np.ones(1), np.zeros(3)), "sample_weight.shape"),
        (lambda: row_weights(np.zeros(2), np.zeros(2)), "sample_weight is zero"),
        (lambda: row_weights(None, []), "margin must be a vector of at least one"),
        (lambda: weighted_error(np.zeros(2), [True, False]), "sample_weight is zero"),
        (lambda: weighted_error([1.0, -1.0], [True, False]), "weights must be >= 0"),
        (lambda: weighted_error([1.0, 1.0], [True, np.nan]), "wrong contains NaN"),
        (lambda: weighted_error([1.0, 1.0], [[True, False]]), "wrong must be a vector"),
        (lambda: exponential_loss([np.nan]), "margin contains NaN"),
        (lambda: error_bound([0.2, 1.2]), "errors must be >= 0 and <= 1"),
        (lambda: error_bound([-0.2]), "errors must be >= 0 and <= 1"),
        (lambda: error_bound([np.nan]), "errors contains NaN"),
    ],
)
def test_helpers_refuse_what_has_no_answer(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_helpers_at_the_ends():
    assert exponential_loss([-800.0]) == np.inf
    assert exponential_loss([-800.0, 0.0], [0, 2]) == 1
    assert exponential_loss([0.0, 0.0], [1.7e308, 1.7e308]) == 1
    with np.errstate(all="raise", under="ignore"):
        row = row_weights(None, [1.7e308, -1.7e308])  # their difference overflows
    assert row.tolist() == [0, 1]
    assert vote_weight(0.5, 10**400 + 1) == pytest.approx(200 * np.log(10))
    assert error_bound([0.0, 0.3]).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(row_weights([0.0, 1.0, 3.0], [-9.0, 1.0, 1.0]),
                               [0, 1 / 4, 3 / 4])
    # a start that is 1e-300 against e^800: no factor fits into a float, the share does
    np.testing.assert_allclose(row_weights([1e-300, 1.0], [0.0, 800.0]),
                               [1, np.exp(300 * np.log(10) - 800)], rtol=1e-9)
    almost = np.random.default_rng(0).uniform(size=(500, 30))
    for weight in almost:  # all rows but one without weight: rounding may exceed 1
        weight[7] = 0
        assert weighted_error(weight, np.arange(30) != 7) <= 1


# The exponential loss


@pytest.mark.parametrize(
    ("margin", "weight", "expected"),
    [
        (np.full(10, -709.0), None, np.exp(709.0)),  # their sum is no float
        ([-709.7, 709.0], [1, 3], np.exp(709.7 - np.log(4))),
        ([-800.0, 0.0], [1e-320, 1], np.exp(800 + np.log(1e-320))),
        ([-1000.0, 5.0], [1e-300, 1], np.exp(1000 + np.log(1e-300))),
        ([-720.0, 5.0], [1e-20, 1], np.exp(720 + np.log(1e-20))),
        ([-710.0], None, np.inf),
        ([1000.0, 2.0], None, np.exp(-2.0) / 2),
        ([1.7e308, -1.7e308], [1, 0], 0.0),
        ([1.7e308, -1.7e308], None, np.inf),
    ],
)
def test_the_loss_is_finite_where_its_mean_is(margin, weight, expected):
    with np.errstate(all="raise", under="ignore"):
        loss = exponential_loss(margin, weight)
    assert loss == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_loss_factors_and_bounds(criterion, rate):
    X, y = noisy(250, 5)
    start = np.random.default_rng(2).uniform(0.5, 2, 250)
    model = AdaBoostClassifier(60, criterion, learning_rate=rate).fit(X, y, start)
    m = margins(model, X, y)[1:]
    loss = np.array([exponential_loss(row, start) for row in m])
    factors = [loss_factor(error, alpha) for error, alpha in zip(
        model.estimator_errors_, model.estimator_weights_, strict=True)]
    np.testing.assert_allclose(loss, np.cumprod(factors), rtol=1e-9)
    share = (start * (m <= 0)).sum(axis=1) / start.sum()
    assert (share <= loss * (1 + 1e-12)).all()
    np.testing.assert_allclose(m[-1] * (2 * y - 1), model.decision_function(X),
                               atol=1e-9)
    if rate == 1.0:
        np.testing.assert_allclose(error_bound(model.estimator_errors_), loss, rtol=1e-9)
        edge = 0.5 - model.estimator_errors_
        assert (loss <= np.exp(-2 * np.cumsum(edge**2)) * (1 + 1e-12)).all()


def test_error_stumps_lower_the_loss_most():
    """No stump with any vote does better than the one that was taken."""
    X, y, _ = tied(30, 3, seed=4)
    sign = 2 * y - 1
    model = AdaBoostClassifier(6, "error").fit(X, y)
    stumps = list(all_stumps(X, 2))
    for before, after in zip(margins(model, X, y), margins(model, X, y)[1:]):
        best = min(
            minimize_scalar(lambda a, h=2 * s.predict(X) - 1: exponential_loss(
                before + a * sign * h)).fun
            for s in stumps)
        assert exponential_loss(after) == pytest.approx(best, rel=1e-7)


def test_samme_is_stagewise_on_zhus_coding():
    """Weights exp(-y'f/K) of vectors 1 and -1/(K-1), with Zhu's own step."""
    K = 4
    X, y = noisy(200, 6, K)
    model = AdaBoostClassifier(25).fit(X, y)
    code = (K * np.eye(K) - 1) / (K - 1)
    f = np.zeros((200, K))
    for spoken, error in zip(says(model, X), model.estimator_errors_, strict=True):
        step = (K - 1) ** 2 / K * (np.log((1 - error) / error) + np.log(K - 1))
        f += step * code[spoken]
    expected = np.exp(-(code[y] * f).sum(axis=1) / K)
    np.testing.assert_allclose(weights(model, X, y)[-1], expected / expected.sum(),
                               rtol=1e-9)
    p = np.exp(f / (K - 1))
    np.testing.assert_allclose(model.predict_proba(X), p / p.sum(axis=1, keepdims=True),
                               rtol=1e-9)


def test_probabilities_are_twice_the_vote_on_the_scale_of_log_odds():
    X, y = noisy(150, 4)
    model = AdaBoostClassifier(10).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), 2 * model.decision_function(X),
                               rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(p.sum(axis=1), 1)


# By hand


def test_seven_points_by_hand():
    """Errors 1/7, 1/6 and 1/5, so odds 6, 5 and 4; together the stumps make no error."""
    x = np.arange(1.0, 8.0)[:, np.newaxis]
    y = np.array([1, 1, -1, -1, 1, -1, -1])
    model = AdaBoostClassifier(3, "error").fit(x, y)
    assert model.estimators_ == [
        Stump(0, 2.5, 1, 0), Stump(0, 5.5, 1, 0), Stump(0, 4.5, 0, 1)]
    np.testing.assert_allclose(model.estimator_errors_, [1 / 7, 1 / 6, 1 / 5])
    np.testing.assert_allclose(np.exp(2 * model.estimator_weights_), [6, 5, 4])
    u = weights(model, x, y)
    np.testing.assert_allclose(u[1] * 12, [1, 1, 1, 1, 6, 1, 1])
    np.testing.assert_allclose(u[2] * 20, [1, 1, 5, 5, 6, 1, 1])
    odds = np.exp(2 * model.decision_function(x))
    np.testing.assert_allclose(odds, [7.5, 7.5, 5 / 24, 5 / 24, 10 / 3, 2 / 15, 2 / 15])
    np.testing.assert_array_equal(model.predict(x), y)
    np.testing.assert_allclose(error_bound(model.estimator_errors_)[-1],
                               16 * np.sqrt(30) / 210)


# Hard inputs


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_perfect_first_stump_ends_training(criterion):
    X = np.array([[0.0, 5.0], [1.0, 3.0], [2.0, 5.0], [3.0, 3.0]])
    y = np.array(["a", "a", "b", "b"])
    model = AdaBoostClassifier(50, criterion).fit(X, y)
    assert len(model.estimators_) == 1
    assert model.estimator_errors_.tolist() == [0.0]
    assert np.isfinite(model.estimator_weights_).all()
    np.testing.assert_array_equal(model.predict(X), y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("resample", [False, True])
def test_no_better_than_guessing_is_refused(criterion, resample):
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    for X in (corners, np.ones((4, 2))):
        model = AdaBoostClassifier(criterion=criterion, resample=resample,
                                   random_state=0)
        with pytest.raises(ValueError, match="does better than guessing a class"):
            model.fit(X, [0, 1, 1, 0])


@pytest.mark.parametrize("edge", [1e-7, 1e-8])
def test_a_small_edge_is_seen_by_error_and_not_by_gini(edge):
    """Gini's gain of the second feature is 2 edge^2: less than gains are rounded by."""
    X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], [0, 1, 1, 0]
    weight = [1 + 4 * edge, 1, 1 + 4 * edge, 1]
    model = AdaBoostClassifier(5, "error").fit(X, y, weight)
    assert model.estimators_ == [Stump(1, 0.5, 0, 1)]
    assert 0.5 - model.estimator_errors_[0] == pytest.approx(edge, rel=1e-5)
    with pytest.raises(ValueError, match="only with criterion='error'"):
        AdaBoostClassifier(5).fit(X, y, weight)
    seen = AdaBoostClassifier(5).fit(X, y, [1 + 8e-6, 1, 1 + 8e-6, 1])
    assert seen.estimators_[0] == Stump(1, 0.5, 0, 1)


def test_any_edge_above_the_rounding_of_sums_is_an_edge():
    X, y, more = [[0.0], [0], [1], [1]], [0, 1, 0, 1], 1 + 4e-8
    model = AdaBoostClassifier(5, "error").fit(X, y, [more, 1, 1, more])
    assert 0.5 - model.estimator_errors_[0] == pytest.approx(1e-8, rel=1e-5)
    with pytest.raises(ValueError, match="guessing a class"):
        AdaBoostClassifier(5, "error").fit(X, y, [1 + 1e-14, 1, 1, 1 + 1e-14])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting_stops_when_guessing_is_all_that_is_left(n_classes):
    """One constant column: the majority, then weights under which nothing helps."""
    y = np.array([0] * 6 + list(range(n_classes)))
    X = np.ones((len(y), 1))
    model = AdaBoostClassifier(50).fit(X, y)
    assert model.estimators_[0] == Stump(0, np.inf, 0, 0)
    if n_classes == 2:
        assert len(model.estimators_) == 1
        theirs = library(50).fit(X, y)
        assert model.estimator_errors_[0] == pytest.approx(theirs.estimator_errors_[0])
    assert set(model.predict(X)) == {0}
    assert (model.estimator_errors_ < 1 - 1 / n_classes).all()


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_class(criterion):
    X = np.random.default_rng(0).normal(size=(5, 2))
    for cls in (AdaBoostClassifier, DecisionStump):
        model = cls(criterion=criterion).fit(X, ["only"] * 5)
        assert set(model.predict(X)) == {"only"}
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((5, 1)))
    boosted = AdaBoostClassifier(criterion=criterion).fit(X, ["only"] * 5)
    assert len(boosted.estimators_) == 1 and boosted.decision_function(X).shape == (5, 1)


def test_one_row():
    model = AdaBoostClassifier().fit([[3.0]], [1])
    assert model.predict([[0.0], [9.0]]).tolist() == [1, 1]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_rounds_on_contradicting_rows(criterion):
    """The same x with both labels: no stump can be right about both, for ever."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 2)), 2, axis=0)
    y = np.tile([0, 1], 20)
    y[1:20:2] = 0
    with np.errstate(all="raise", under="ignore"):
        model = AdaBoostClassifier(2000, criterion).fit(X, y)
        final = weights(model, X, y)[-1]
    assert len(model.estimators_) == 2000
    assert np.isfinite(model.decision_function(X)).all() and (final >= 0).all()
    assert (model.estimator_errors_ < 0.5).all()
    assert (model.predict(X) != y).sum() >= 10  # one of each contradicting pair


def test_a_row_whose_weight_has_vanished_comes_back():
    """Its weight is below the smallest float, but its margin is still known."""
    margin = np.array([0.0, 800.0])
    assert row_weights(np.ones(2), margin)[1] == 0
    assert row_weights(np.ones(2), margin - np.array([0.0, 799.0]))[1] > 0.2


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-8, 1e200, 3e307])
def test_the_scale_of_the_weights_does_not_matter(n_classes, criterion, scale):
    X, y, weight = tied(60, 3, n_classes, seed=2)
    if scale == 1e-320:  # whole multiples of the smallest float: nothing is rounded
        scale = 2.0**-1074
    with np.errstate(all="raise", under="ignore"):
        one = AdaBoostClassifier(15, criterion).fit(X, y, weight)
        other = AdaBoostClassifier(15, criterion).fit(X, y, weight * scale)
    assert one.estimators_ == other.estimators_
    np.testing.assert_allclose(one.estimator_weights_, other.estimator_weights_,
                               rtol=1e-9)
    stump = DecisionStump(criterion).fit(X, y, weight)
    scaled = DecisionStump(criterion).fit(X, y, weight * scale)
    assert stump.stump_ == scaled.stump_
    np.testing.assert_allclose(stump.predict_proba(X), scaled.predict_proba(X),
                               rtol=1e-9)
    wrong = stump.predict(X) != y
    assert weighted_error(weight * scale, wrong) == pytest.approx(
        weighted_error(weight, wrong), rel=1e-9)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_are_repeated_rows(criterion):
    X, y, weight = tied(50, 4, seed=6)
    counts = weight.astype(int) - 1
    kept = AdaBoostClassifier(25, criterion).fit(X, y, counts)
    repeated = AdaBoostClassifier(25, criterion).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts))
    assert kept.estimators_ == repeated.estimators_
    np.testing.assert_allclose(kept.estimator_weights_, repeated.estimator_weights_,
                               rtol=1e-9)


def test_training_ends_at_a_stump_without_a_mistake_not_at_an_error_of_zero():
    """At a rate of 50 weights vanish, and with them the error of a stump that errs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = AdaBoostClassifier(10, learning_rate=50.0).fit(X, y)
    mistakes = (says(model, X) != y).sum(axis=1)
    assert model.estimator_errors_[2] == 0 and mistakes[2] > 0
    assert len(model.estimators_) == 10 and (mistakes > 0).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_small_error_is_no_perfect_stump():
    X, y = np.arange(4.0)[:, np.newaxis], [0, 1, 0, 1]
    model = AdaBoostClassifier(50, "error").fit(X, y, [1, 1e-8, 1, 1])
    assert model.estimator_errors_[0] < 1e-8
    assert len(model.estimators_) > 1


def test_a_constant_column_gives_exactly_one_stump():
    """After the majority all that is left is guessing, up to the rounding of sums."""
    for a in range(2, 40):
        for b in range(1, a):
            model = AdaBoostClassifier(50).fit(np.ones((a + b, 1)), [0] * a + [1] * b)
            assert len(model.estimators_) == 1


def test_equal_gains_are_relative_to_the_weight():
    X, y, _ = tied(60, 3)
    plain = DecisionStump("error").fit(X, y)
    finder = StumpSplits(Columns(X, presort=True), y, 2, Misclassification())
    for scale in (1e-14, 1e-8, 1e8):
        assert as_stump(fit_stump(finder, np.full(60, scale))[0]) == plain.stump_


@pytest.mark.parametrize("rate", [1e-100, 1000.0, 1e100])
def test_votes_of_any_size_give_probabilities(rate):
    for X, y in (([[0.0], [1.0]], [0, 1]), noisy(60, 3)):
        p = AdaBoostClassifier(9, learning_rate=rate).fit(X, y).predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_weights_too_light_for_a_float_vanish(criterion):
    """The largest becomes 1.11; the other is still a float at 1e-322, not at 1e-328."""
    assert adaboost._relative([1e308, 1e-14], 2)[1] == pytest.approx(1.1e-322, rel=0.1)
    assert adaboost._relative([1e308, 1e-20], 2)[1] == 0
    stump = DecisionStump(criterion).fit([[0], [1]], [0, 1], [1e308, 1e-20])
    np.testing.assert_array_equal(stump.predict_proba([[0], [1]]), [[1, 0], [1, 0]])


def test_equal_votes_go_to_the_first_class():
    model = AdaBoostClassifier().fit([[0], [1], [2]], ["a", "b", "c"])
    model.estimators_ = [Stump(0, np.inf, 2, 2), Stump(0, np.inf, 1, 1)]
    model.estimator_weights_ = np.ones(2)
    assert model.predict([[0.0]]) == ["b"]


# Stages, samples and parameters


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_stage_is_a_shorter_training(n_classes):
    X, y = noisy(100, 4, n_classes)
    long = AdaBoostClassifier(12).fit(X, y)
    stages = list(long.staged_decision_function(X))
    assert len(stages) == 12
    for rounds in (1, 5, 12):
        short = AdaBoostClassifier(rounds).fit(X, y)
        np.testing.assert_array_equal(stages[rounds - 1], short.decision_function(X))


def test_stages_refuse_at_once_what_fit_did_not_see():
    with pytest.raises(ValueError, match="not fitted yet"):
        AdaBoostClassifier().staged_decision_function([[0.0]])
    model = AdaBoostClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.staged_decision_function([[0.0, 1.0]])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_are_those_of_the_fit_at_the_call(n_classes):
    X, y = noisy(100, 6, n_classes)
    model = AdaBoostClassifier(12).fit(X, y)
    expected = list(model.staged_decision_function(X))
    before, halfway = (model.staged_decision_function(X) for _ in range(2))
    first = [next(halfway)]
    model.fit(np.tile(X, 3), np.char.add("other ", y[::-1].astype(str)))
    np.testing.assert_array_equal(list(before), expected)
    np.testing.assert_array_equal(first + list(halfway), expected)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_resampled_round_is_a_stump_on_the_drawn_rows(criterion):
    """No threshold lies beside a row that was not drawn."""
    X, y = noisy(60, 4)
    for seed in range(10):
        model = AdaBoostClassifier(1, criterion, resample=True, random_state=seed)
        model.fit(X, y)
        drawn = np.random.default_rng(seed).multinomial(60, np.full(60, 1 / 60))
        alone = DecisionStump(criterion).fit(np.repeat(X, drawn, axis=0),
                                             np.repeat(y, drawn))
        assert model.estimators_[0] == alone.stump_
        # but its error is the one on the weighted rows
        assert model.estimator_errors_[0] == pytest.approx(
            np.mean(alone.predict(X) != y))


def test_a_round_draws_again_until_there_is_an_edge():
    """Of the best stumps on these four rows half of the draws show none."""
    X = np.arange(4.0)[:, np.newaxis]
    for seed in range(200):
        model = AdaBoostClassifier(1, "error", resample=True, random_state=seed)
        assert model.fit(X, [0, 1, 1, 0]).estimator_errors_[0] < 0.5


def test_training_ends_only_after_ten_draws_without_an_edge(monkeypatch):
    """An error that rounding puts below 1/2 is no edge: the round must draw again."""
    draw, draws = adaboost._draw, []
    monkeypatch.setattr(adaboost, "_draw",
                        lambda *arguments: draws.append(1) or draw(*arguments))
    ended = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 3, (12, 1)).astype(float), rng.integers(0, 2, 12)
        model = AdaBoostClassifier(60, "error", resample=True, random_state=seed)
        draws.clear()
        try:
            rounds = len(model.fit(X, y).estimators_)
        except ValueError:
            continue
        if rounds < 60 and (model.estimators_[-1].predict(X) != y).any():
            ended += 1
            assert len(draws) >= rounds + 10
    assert ended >= 3


def test_the_first_draw_is_kept_when_it_beats_a_guess_among_three():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    between = 0
    for seed in range(60):
        drawn = np.random.default_rng(seed).multinomial(60, np.full(60, 1 / 60))
        first = DecisionStump("error").fit(X, y, drawn)
        error = np.mean(first.predict(X) != y)
        if 0.5 < error < 2 / 3 - 1e-9:
            model = AdaBoostClassifier(1, "error", resample=True, random_state=seed)
            assert model.fit(X, y).estimators_ == [first.stump_]
            between += 1
    assert between >= 10


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rows_that_were_not_drawn_take_no_side(criterion):
    """Few rows and a rare class: often no cut gains anything, and none is made up."""
    rule = Misclassification() if criterion == "error" else TwoClassGini()
    for seed in range(300):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(8, 2)), np.array([0, 1, 1, 1, 1, 1, 1, 0])
        drawn = rng.multinomial(8, np.full(8, 1 / 8)).astype(float)
        finder = StumpSplits(Columns(X, presort=True), y, 2, rule)
        tree, _ = fit_stump(finder, drawn)
        kept = DecisionStump(criterion).fit(X, y, drawn)
        if len(kept.classes_) == 2:
            assert as_stump(tree) == kept.stump_
        assert (tree.sums.sum(axis=0) > 0).all()
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 1])
    finder = StumpSplits(Columns(X, presort=True), y, 2, rule)
    tree, _ = fit_stump(finder, np.array([1.0, 2, 0]))
    assert as_stump(tree) == Stump(0, np.inf, 1, 1)


def test_resampling_takes_the_sample_weights():
    X, y = noisy(80, 3)
    weight = np.random.default_rng(0).uniform(0, 5, 80)
    model = AdaBoostClassifier(5, "error", resample=True, random_state=0)
    model.fit(X, y, weight)
    wrong = model.estimators_[0].predict(X) != y
    assert model.estimator_errors_[0] == pytest.approx(weighted_error(weight, wrong))
    drawn = np.random.default_rng(0).multinomial(80, weight / weight.sum())
    assert model.estimators_[0] == DecisionStump("error").fit(X, y, drawn).stump_


def test_a_generator_moves_on_from_round_to_round():
    X, y = noisy(80, 3)
    one = AdaBoostClassifier(5, resample=True, random_state=3).fit(X, y)
    rng = np.random.default_rng(3)
    other = AdaBoostClassifier(5, resample=True, random_state=rng).fit(X, y)
    assert one.estimators_ == other.estimators_


def test_resampling_draws_in_proportion_to_the_weights():
    rng = np.random.default_rng(0)
    weight = rng.uniform(size=40)
    draws = np.array([adaboost._draw(weight, rng) for _ in range(4000)])
    assert (draws.sum(axis=1) == 40).all()
    p = weight / weight.sum()
    error = np.sqrt(40 * p * (1 - p) / 4000)
    assert (np.abs(draws.mean(axis=0) - 40 * p) < 5 * error).all()


def test_resampling_keeps_the_equations():
    X, y = noisy(200, 5)
    model = AdaBoostClassifier(30, resample=True, random_state=1).fit(X, y)
    assert len(model.estimators_) == 30
    loss = [exponential_loss(m) for m in margins(model, X, y)[1:]]
    np.testing.assert_allclose(loss, error_bound(model.estimator_errors_), rtol=1e-9)
    other = AdaBoostClassifier(30, resample=True, random_state=2).fit(X, y)
    assert other.estimators_ != model.estimators_


def test_the_stump_of_a_tree():
    X, y, weight = tied(30, 2)
    stump = DecisionStump().fit(X, y, weight)
    shares = stump.predict_proba(X)
    left = X[:, stump.stump_.feature] <= stump.stump_.threshold
    expected = [weight[left & (y == k)].sum() / weight[left].sum() for k in range(2)]
    np.testing.assert_allclose(shares[left], np.tile(expected, (left.sum(), 1)))
    assert as_stump(stump.tree_) == stump.stump_


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_estimators": 0}, ValueError, "n_estimators must be >= 1"),
        ({"n_estimators": 2.5}, TypeError, "n_estimators must be a whole number"),
        ({"criterion": "entropy"}, ValueError, "criterion must be one of 'error', 'gin"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be .* >= 1e-100"),
        ({"learning_rate": 1e307}, ValueError, "learning_rate must .* <= 1e\\+100"),
        ({"resample": "yes"}, TypeError, "resample must be True or False"),
        ({"resample": True, "random_state": -1}, ValueError, "random_state must be"),
        ({"random_state": -1}, ValueError, "random_state must be"),
    ],
)
def test_bad_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        AdaBoostClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])
