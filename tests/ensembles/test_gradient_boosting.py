"""Gradient boosting held to scikit-learn, brute force, differences and paper."""

import numpy as np
import pytest
import sklearn.ensemble as library
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeRegressor

from mlbook.ensembles.gradient_boosting import (
    AbsoluteLoss,
    ExponentialLoss,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogisticLoss,
    MultinomialLoss,
    SquaredLoss,
    has_stopped_falling,
    log_sum_exp,
    medians,
    sigmoid,
    softmax,
)

# Data


def numbers(n=200, seed=0):
    """Features that are exact in float32, and a target with noise."""
    X, y = make_friedman1(n, 6, noise=0.5, random_state=seed)
    return X.astype(np.float32).astype(float), y


def classes(n_classes, n=300):
    X, y = make_classification(
        n, 8, n_informative=5, n_classes=n_classes, flip_y=0.1, random_state=0
    )
    return X.astype(np.float32).astype(float), y


def weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.2, 3.0, n)


LOSSES = {
    "squared": SquaredLoss(),
    "absolute": AbsoluteLoss(),
    "logistic": LogisticLoss(),
    "exponential": ExponentialLoss(),
    "multinomial": MultinomialLoss(3),
}
SMOOTH = [name for name in LOSSES if name != "absolute"]
each_loss = pytest.mark.parametrize("name", LOSSES)
each_smooth_loss = pytest.mark.parametrize("name", SMOOTH)


def a_state(name, n=40, seed=2):
    """Targets, predictions and weights that suit a loss."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    if name in ("logistic", "exponential"):
        y = rng.integers(0, 2, n).astype(float)
    if name == "multinomial":
        y = rng.permutation(np.arange(n) % 3).astype(float)
    columns = 3 if name == "multinomial" else 1
    return y, rng.normal(size=(n, columns)), rng.uniform(0.2, 2, n)


# Agreement with the library, round by round


SETTINGS = [
    {},
    {"max_depth": 1, "learning_rate": 1.0},
    {"max_depth": 5, "min_samples_leaf": 7, "learning_rate": 0.3},
    {"max_depth": None, "max_leaf_nodes": 5},
    {"min_samples_split": 40, "max_depth": 4},
]


def assert_same_rounds(ours, theirs, rounds, tolerance=1e-9):
    found, expected = list(ours), list(theirs)
    assert len(found) == len(expected) == rounds
    assert np.ptp(expected[-1]) > 0.3  # the trees have something to say
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("given", SETTINGS)
def test_squared_error_is_the_librarys(given, weighted):
    X, y = numbers()
    w = weights(len(y)) if weighted else None
    ours = GradientBoostingRegressor(n_estimators=30, **given).fit(X, y, w)
    theirs = library.GradientBoostingRegressor(
        n_estimators=30, random_state=0, **given).fit(X, y, w)
    assert_same_rounds(ours.staged_predict(X), theirs.staged_predict(X), 30)
    np.testing.assert_allclose(2 * ours.train_score_, theirs.train_score_, rtol=1e-9)


# The chapter's days. Some new temperatures lie in the middle of two on record, where
# the trees cut: the library, which rounds features to float32, agrees at all of them
# only if the program is given rounded features.
@pytest.mark.parametrize("rate", [1.0, 0.1, 0.02])
def test_new_rows_are_the_librarys_if_features_are_rounded(rate):
    def days(n, seed):
        rng = np.random.default_rng(seed)
        warmth = np.round(rng.uniform(-8, 34, n), 1)
        power = (30 + 1.1 * np.maximum(15 - warmth, 0)
                 + 1.6 * np.maximum(warmth - 24, 0) + rng.normal(0, 2, n))
        return warmth[:, np.newaxis].astype(np.float32), np.round(power, 1)

    (X, y), (new, _) = days(90, 1), days(1000, 2)
    given = {"n_estimators": 600, "max_depth": 2, "learning_rate": rate}
    ours = GradientBoostingRegressor(**given).fit(X, y)
    theirs = library.GradientBoostingRegressor(random_state=0, **given).fit(X, y)
    assert_same_rounds(ours.staged_predict(new), theirs.staged_predict(new), 600)


# Targets of the absolute loss are +-1. With equal weights many gains are equal. With
# unequal ones the library splits pure nodes, whose impurity it finds to be a rounding
# error above 0. And a row that is met exactly has the sign of a rounding error: at a
# learning rate of 1 every leaf has one. So: weights, large leaves, a smaller rate.
@pytest.mark.parametrize(
    "given", [q | {"learning_rate": 0.3, "min_samples_leaf": 20} for q in SETTINGS])
def test_absolute_error_is_the_librarys(given):
    X, y = numbers()
    w = weights(len(y))
    ours = GradientBoostingRegressor("absolute_error", 20, **given).fit(X, y, w)
    theirs = library.GradientBoostingRegressor(
        loss="absolute_error", n_estimators=20, random_state=0, **given).fit(X, y, w)
    assert_same_rounds(ours.staged_predict(X), theirs.staged_predict(X), 20)
    np.testing.assert_allclose(ours.train_score_, theirs.train_score_, rtol=1e-9)


# Without weights a deep node holds residuals of two values, and gains are equal.
@pytest.mark.parametrize("given, weighted",
                         [(q, True) for q in SETTINGS] + [(SETTINGS[0], False)])
@pytest.mark.parametrize("loss, n_classes",
                         [("log_loss", 2), ("exponential", 2), ("log_loss", 3)])
def test_classes_are_the_librarys(loss, n_classes, given, weighted):
    X, y = classes(n_classes)
    w = weights(len(y)) if weighted else None
    ours = GradientBoostingClassifier(loss, 20, **given).fit(X, y, w)
    theirs = library.GradientBoostingClassifier(
        loss=loss, n_estimators=20, random_state=0, **given).fit(X, y, w)
    assert_same_rounds(
        ours.staged_predict_proba(X), theirs.staged_predict_proba(X), 20)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


# Losses: what is claimed about them, by differences


@each_loss
def test_negative_gradient_is_the_slope_of_the_value(name):
    y, F, w = a_state(name)
    loss, step = LOSSES[name], 1e-6
    found = -loss.negative_gradient(y, F) * w[:, np.newaxis] / w.sum()
    for i in range(0, len(y), 7):
        for k in range(F.shape[1]):
            up, down = F.copy(), F.copy()
            up[i, k] += step
            down[i, k] -= step
            slope = (loss.value(y, up, w) - loss.value(y, down, w)) / (2 * step)
            assert found[i, k] == pytest.approx(slope, rel=1e-4, abs=1e-9)


def in_leaf(loss, y, F, w, rows, k, added):
    """The loss of one leaf when a constant is added to column k."""
    moved = F[rows].copy()
    moved[:, k] += added
    return loss.value(y[rows], moved, w[rows])


@each_smooth_loss
def test_leaf_values_are_newton_steps(name):
    y, F, w = a_state(name)
    loss, step = LOSSES[name], 1e-4
    leaf = np.arange(len(y)) % 4
    share = 2 / 3 if name == "multinomial" else 1
    for k in range(F.shape[1]):
        values = loss.leaf_values(y, F, k, w, leaf, 5)
        assert values[4] == 0  # an empty leaf
        for j in range(4):
            low, here, high = (in_leaf(loss, y, F, w, leaf == j, k, e)
                               for e in (-step, 0, step))
            newton = -(high - low) / (2 * step) / ((high - 2 * here + low) / step**2)
            assert values[j] == pytest.approx(share * newton, rel=1e-5)


@pytest.mark.parametrize("name", ["squared", "absolute"])
def test_leaf_values_are_the_best_constants(name):
    y, F, w = a_state(name)
    loss = LOSSES[name]
    leaf = np.arange(len(y)) % 3
    values = loss.leaf_values(y, F, 0, w, leaf, 3)
    for j in range(3):
        tries = values[j] + np.concatenate([np.linspace(-1, 1, 401), [-1e-6, 0, 1e-6]])
        paid = [in_leaf(loss, y, F, w, leaf == j, 0, e) for e in tries]
        assert min(paid) >= paid[-2] - 1e-15


@each_loss
def test_no_constant_is_better_than_the_start(name):
    y, F, w = a_state(name)
    loss = LOSSES[name]
    start = np.tile(loss.start(y, w), (len(y), 1))
    best = loss.value(y, start, w)
    for k in range(F.shape[1]):
        for step in (-0.1, -1e-3, 1e-3, 0.1):
            moved = start.copy()
            moved[:, k] += step
            assert loss.value(y, moved, w) >= best - 1e-15


@pytest.mark.parametrize("seed", range(20))
def test_medians_are_those_of_repeated_values(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, 40).astype(float)
    w, group = rng.integers(1, 5, 40), rng.permutation(np.arange(40) % 6)
    found = medians(values, w.astype(float), group, 7)
    for k in range(6):
        expected = np.median(np.repeat(values[group == k], w[group == k]))
        assert found[k] == expected
    assert found[6] == 0


def test_medians_of_fractional_weights_meet_the_middle():
    """Three times 0.1 and six times 0.1 over two differ by a rounding error."""
    found = medians(np.arange(6.0), np.full(6, 0.1), np.zeros(6, dtype=int), 1)
    assert found[0] == 2.5


@pytest.mark.parametrize("heavy", [1e18, 1e90])
def test_a_median_does_not_feel_the_weights_of_other_groups(heavy):
    values, group = np.array([9.0, 1.0, 2.0, 7.0, 8.0]), np.array([0, 1, 1, 1, 1])
    found = medians(values, np.array([heavy, 1, 1, 1, 1]), group, 3)
    np.testing.assert_array_equal(found, [9.0, 4.5, 0.0])
    np.testing.assert_array_equal(medians(values, np.full(5, 1e308), group, 3), found)
    two = medians(values, np.ones(5), group.astype(bool), 2)
    np.testing.assert_array_equal(two, found[:2])


def test_probabilities_do_not_overflow():
    F = np.array([[-1e4, 0.0, 1e4], [800.0, 800.0, 800.0], [0.0, 1.0, 2.0]])
    with np.errstate(all="raise", under="ignore"):
        p = softmax(F)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_allclose(log_sum_exp(F)[:2], [1e4, 800 + np.log(3)])
        s = sigmoid(np.array([-1e4, -800.0, 0.0, 1e4]))
    np.testing.assert_array_equal(p[0], [0, 0, 1])
    np.testing.assert_allclose(s, [0, 0, 0.5, 1], atol=1e-300)


# By hand: x = 1, 2, 3, 4


X4 = np.arange(1.0, 5.0)[:, np.newaxis]


def test_two_rounds_on_paper():
    """Residuals -8, -4, 0, 12; after half of the leaves -4 and 12: -6, -2, 2, 6."""
    model = GradientBoostingRegressor(n_estimators=2, learning_rate=0.5, max_depth=1)
    model.fit(X4, [0.0, 4.0, 8.0, 20.0])
    assert model.start_[0] == 8
    first, second = model.staged_predict(X4)
    np.testing.assert_allclose(first, [6, 6, 6, 14], rtol=1e-14)
    np.testing.assert_allclose(second, [4, 4, 8, 16], rtol=1e-14)
    np.testing.assert_allclose(model.train_score_, [10, 4], rtol=1e-14)


def test_a_logistic_round_on_paper():
    """At p = 1/2 a pure leaf has the slope 1/2 and the curvature 1/4 per row: 2."""
    model = GradientBoostingClassifier(n_estimators=1, learning_rate=1.0, max_depth=1)
    model.fit(X4, [0, 0, 1, 1])
    np.testing.assert_allclose(model.decision_function(X4), [-2, -2, 2, 2], rtol=1e-14)


# What follows from the derivation


@pytest.mark.parametrize("rate", [0.1, 0.5, 1.0, 1.7])
def test_with_all_leaves_pure_the_residual_shrinks_by_one_minus_eta(rate):
    X, y = numbers(60)
    model = GradientBoostingRegressor(
        n_estimators=8, learning_rate=rate, max_depth=None).fit(X, y)
    for t, F in enumerate(model.staged_predict(X), start=1):
        np.testing.assert_allclose(
            y - F, (1 - rate)**t * (y - y.mean()), atol=1e-12)


@pytest.mark.parametrize("rate", [0.05, 1.0, 1.9])
def test_squared_loss_falls_in_every_round(rate):
    X, y = numbers()
    model = GradientBoostingRegressor(n_estimators=40, learning_rate=rate).fit(X, y)
    start = np.mean((y - y.mean()) ** 2) / 2
    assert (np.diff(np.r_[start, model.train_score_]) < 0).all()


def test_a_round_lowers_the_squared_loss_by_what_the_tree_explains():
    """With S_j a sum of n_j residuals: eta (2 - eta) / 2 sum_j S_j^2 / n_j."""
    X, y = numbers()
    rate = 0.3
    model = GradientBoostingRegressor(n_estimators=10, learning_rate=rate).fit(X, y)
    F, loss = np.full(len(y), y.mean()), np.mean((y - y.mean()) ** 2) / 2
    for ((tree, _),), after, score in zip(
            model.trees_, model.staged_predict(X), model.train_score_, strict=True):
        leaf = tree.apply(X)
        S, size = np.bincount(leaf, y - F), np.bincount(leaf)
        fall = rate * (2 - rate) / 2 * (S**2 / np.maximum(size, 1)).sum() / len(y)
        assert loss - score == pytest.approx(fall, rel=1e-9)
        F, loss = after, score


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_prediction_moves_with_the_target(loss):
    X, y = numbers()
    w = weights(len(y))
    one = GradientBoostingRegressor(loss, 20).fit(X, y, w).predict(X)
    other = GradientBoostingRegressor(loss, 20).fit(X, 3 * y + 1e6, w).predict(X)
    np.testing.assert_allclose((other - 1e6) / 3, one, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_without_steps_the_start_is_predicted(loss):
    X, y = numbers()
    model = GradientBoostingRegressor(loss, 3, learning_rate=0.0).fit(X, y)
    expected = y.mean() if loss == "squared_error" else np.median(y)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-14)


def test_the_start_is_not_shrunk():
    """A constant target is met before the first tree, at any learning rate."""
    model = GradientBoostingRegressor(n_estimators=5, learning_rate=0.1)
    np.testing.assert_array_equal(model.fit(X4, np.full(4, 7.0)).predict(X4), 7.0)


def test_order_of_the_classes_does_not_matter():
    """All trees of a round are fitted to slopes at the same F."""
    X, y = classes(3)
    turned = (y + 1) % 3
    one = GradientBoostingClassifier(n_estimators=20).fit(X, y).predict_proba(X)
    other = GradientBoostingClassifier(n_estimators=20).fit(X, turned).predict_proba(X)
    np.testing.assert_allclose(other[:, [1, 2, 0]], one, atol=1e-10)


def test_absolute_loss_puts_medians_into_the_leaves():
    X, y = numbers(120)
    model = GradientBoostingRegressor("absolute_error", 6, learning_rate=1.0).fit(X, y)
    F = np.full(len(y), np.median(y))
    for ((tree, step),), after in zip(
            model.trees_, model.staged_predict(X), strict=True):
        leaf = tree.apply(X)
        for j in np.unique(leaf):
            inside = leaf == j
            assert step[j] == pytest.approx(np.median((y - F)[inside]), abs=1e-12)
        F = after


def test_exponential_slopes_are_the_weights_of_adaboost():
    y, F, _ = a_state("exponential")
    sign = 2 * y - 1
    slope = ExponentialLoss().negative_gradient(y, F)[:, 0]
    np.testing.assert_allclose(np.abs(slope), np.exp(-sign * F[:, 0]), rtol=1e-14)
    np.testing.assert_array_equal(np.sign(slope), sign)


# Samples, weights, stopping, stages


def drawn_rows(n, share, seed, rounds):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(n, int(share * n), replace=False))
            for _ in range(rounds)]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_tree_and_its_leaves_see_the_drawn_rows_only(weighted):
    X, y = numbers()
    w = weights(len(y)) if weighted else np.ones(len(y))
    model = GradientBoostingRegressor(
        n_estimators=3, learning_rate=0.5, max_depth=2, subsample=0.4, random_state=5,
    ).fit(X, y, w)
    F = np.full(len(y), np.average(y, weights=w))
    for found, rows in zip(
            model.staged_predict(X), drawn_rows(len(y), 0.4, 5, 3), strict=True):
        tree = DecisionTreeRegressor(max_depth=2, random_state=0)
        F = F + 0.5 * tree.fit(X[rows], (y - F)[rows], w[rows]).predict(X)
        np.testing.assert_allclose(found, F, atol=1e-10)


def test_leaves_of_classes_see_the_weights_of_the_drawn_rows():
    X, y = classes(2)
    w = weights(len(y))
    model = GradientBoostingClassifier(
        n_estimators=3, learning_rate=0.5, max_depth=2, subsample=0.4, random_state=5,
    ).fit(X, y, w)
    F = np.full(len(y), np.log(w[y == 1].sum() / w[y == 0].sum()))
    for ((tree, _),), rows in zip(
            model.trees_, drawn_rows(len(y), 0.4, 5, 3), strict=True):
        p, leaf = 1 / (1 + np.exp(-F)), tree.apply(X)
        for j in np.unique(leaf):
            own = rows[leaf[rows] == j]
            F[leaf == j] += 0.5 * ((w * (y - p))[own].sum()
                                   / (w * p * (1 - p))[own].sum())
    np.testing.assert_allclose(model.decision_function(X), F, atol=1e-10)


def test_at_least_one_row_is_drawn():
    y = np.array([0.0, 4.0, 8.0, 20.0])
    model = GradientBoostingRegressor(
        n_estimators=1, learning_rate=0.5, subsample=1e-9, random_state=0).fit(X4, y)
    moves = model.predict(X4) - 8
    assert np.ptp(moves) == 0
    assert moves[0] in (y - 8) / 2


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_draws_follow_the_seed(n_classes):
    X, y = classes(n_classes) if n_classes else numbers()
    cls = GradientBoostingClassifier if n_classes else GradientBoostingRegressor

    def scores(seed):
        model = cls(n_estimators=4, subsample=0.5, random_state=seed).fit(X, y)
        return model.predict_proba(X) if n_classes else model.predict(X)

    np.testing.assert_array_equal(scores(3), scores(3))
    assert not np.array_equal(scores(3), scores(4))


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_whole_weights_repeat_rows(loss):
    rng = np.random.default_rng(0)
    X, y = numbers(80)
    w = rng.integers(0, 4, len(y))
    model = GradientBoostingRegressor(loss, 1, max_depth=2)
    weighted = model.fit(X, y, w).predict(X)
    rows = np.repeat(np.arange(len(y)), w)
    repeated = model.fit(X[rows], y[rows]).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_stops_where_the_held_out_loss_stops_falling(weighted):
    X, y = numbers(150)
    w = weights(len(y)) if weighted else np.ones(len(y))
    given = {"learning_rate": 0.5, "random_state": 11}
    patience, tol = 4, 1e-3
    model = GradientBoostingRegressor(
        n_estimators=200, n_iter_no_change=patience, validation_fraction=0.2, tol=tol,
        **given).fit(X, y, w)
    held = np.random.default_rng(11).permutation(len(y))[:30]
    kept = np.setdiff1d(np.arange(len(y)), held)
    full = GradientBoostingRegressor(n_estimators=60, **given)
    full.fit(X[kept], y[kept], w[kept])
    losses = [np.average((y[held] - F) ** 2 / 2, weights=w[held])
              for F in full.staged_predict(X[held])]
    stop = next(t for t in range(patience, 60)
                if losses[t] + tol >= max(losses[t - patience : t]))
    assert model.n_estimators_ == stop + 1 < 60
    np.testing.assert_allclose(model.validation_score_, losses[: stop + 1], rtol=1e-9)
    np.testing.assert_allclose(model.train_score_, full.train_score_[: stop + 1],
                               rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_held_out_rows_are_not_fitted(n_classes):
    X, y = classes(n_classes)
    w = weights(len(y))
    model = GradientBoostingClassifier(
        n_estimators=5, n_iter_no_change=5, validation_fraction=0.3, random_state=2,
    ).fit(X, y, w)
    held = np.random.default_rng(2).permutation(len(y))[:90]
    kept = np.setdiff1d(np.arange(len(y)), held)
    alone = GradientBoostingClassifier(n_estimators=5).fit(X[kept], y[kept], w[kept])
    stages = list(alone.staged_predict_proba(X))
    np.testing.assert_allclose(model.predict_proba(X), stages[-1], atol=1e-12)
    np.testing.assert_allclose(
        model.validation_score_,
        [log_loss(y[held], p[held], sample_weight=w[held]) for p in stages], rtol=1e-9)


def test_patience_is_counted_in_rounds():
    assert not has_stopped_falling([], 1, 0.0)
    assert not has_stopped_falling([3.0, 2.0], 2, 0.0)
    assert has_stopped_falling([3.0, 3.0, 3.0], 2, 0.0)
    assert not has_stopped_falling([3.0, 1.0, 2.0], 2, 0.0)  # below one of the two
    assert has_stopped_falling([9.0, 1.0, 1.0, 2.0], 2, 0.0)
    assert has_stopped_falling([3.0, 2.99], 1, 0.1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_stages_end_in_the_prediction_and_explain_the_scores(n_classes):
    X, y = classes(n_classes)
    model = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_estimators_ == 5
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    np.testing.assert_allclose(
        model.train_score_, [log_loss(y, p) for p in stages], rtol=1e-12)
    X, y = numbers()
    numeric = GradientBoostingRegressor(n_estimators=4).fit(X, y)
    stages = list(numeric.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], numeric.predict(X))
    assert not np.array_equal(stages[0], stages[-1])


def test_labels_may_be_text():
    X, y = classes(3)
    names = np.array(["pear", "apple", "fig"])
    model = GradientBoostingClassifier(n_estimators=5).fit(X, names[y])
    assert list(model.classes_) == ["apple", "fig", "pear"]
    assert model.score(X, names[y]) > 0.8


# Limits


@pytest.mark.parametrize("loss, n_classes",
                         [("log_loss", 2), ("exponential", 2), ("log_loss", 3)])
def test_pure_leaves_for_many_rounds_stay_finite(loss, n_classes):
    X = np.arange(30.0)[:, np.newaxis]
    y = np.arange(30) * n_classes // 30
    with np.errstate(all="raise", under="ignore"):
        model = GradientBoostingClassifier(loss, 300, learning_rate=1.0).fit(X, y)
        p = model.predict_proba(X)
    assert np.isfinite(model.decision_function(X)).all()
    np.testing.assert_array_equal(p.argmax(axis=1), y)


@pytest.mark.parametrize("size", [3.0, 40.0, 300.0])
def test_a_wrong_row_gets_a_step_of_one_over_its_probability(size):
    """On either side: e^F + 1, also where 1 - sigmoid(F) is rounded to 0."""
    one, leaf = np.ones(1), np.zeros(1, dtype=int)
    for label, sign in [(1.0, -1), (0.0, 1)]:
        F = np.array([[sign * size]])
        step = LogisticLoss().leaf_values(label * one, F, 0, one, leaf, 1)
        np.testing.assert_allclose(step, [-sign * (np.exp(size) + 1)], rtol=1e-12)
    F = np.array([[size, 0.0, 0.0]])
    three = MultinomialLoss(3)
    up = three.leaf_values(one, F, 1, one, leaf, 1)  # the class that was thought rare
    np.testing.assert_allclose(up, [2 / 3 * (np.exp(size) + 2)], rtol=1e-12)
    down = three.leaf_values(one, F, 0, one, leaf, 1)  # the one that was thought sure
    np.testing.assert_allclose(down, [-2 / 3 * (np.exp(size) / 2 + 1)], rtol=1e-12)


@pytest.mark.parametrize("F", [-800.0, 800.0])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_leaf_without_curvature_adds_nothing(label, F):
    y, w, leaf = np.full(2, label), np.ones(2), np.zeros(2, dtype=int)
    values = LogisticLoss().leaf_values(y, np.full((2, 1), F), 0, w, leaf, 1)
    np.testing.assert_array_equal(values, [0.0])


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_two_labels_may_change_places(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = ((X[:, 0] > 0) ^ (rng.random(200) < 0.2)).astype(int)
    given = {"n_estimators": 200, "learning_rate": 1.0, "max_depth": 6}
    one = GradientBoostingClassifier(loss, **given).fit(X, y)
    other = GradientBoostingClassifier(loss, **given).fit(X, 1 - y)
    F = one.decision_function(X)
    assert np.abs(F).max() > 30
    np.testing.assert_allclose(other.decision_function(X), -F, atol=1e-9)
    p = one.predict_proba(X)
    assert (p > 0).all()
    np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], p, rtol=1e-9)


def test_sure_classes_may_change_places():
    X, y = np.arange(30.0)[:, np.newaxis], np.arange(30) // 10
    y[[4, 14, 24]] = [1, 2, 0]
    given = {"n_estimators": 300, "learning_rate": 1.0, "max_depth": 2}
    one = GradientBoostingClassifier(**given).fit(X, y).decision_function(X)
    other = GradientBoostingClassifier(**given).fit(X, (y + 1) % 3)
    assert np.ptp(one, axis=1).max() > 40
    np.testing.assert_allclose(
        other.decision_function(X)[:, [1, 2, 0]], one, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss, n_classes", [
    ("squared_error", 0), ("absolute_error", 0), ("log_loss", 2), ("exponential", 2),
    ("log_loss", 3)])
def test_only_ratios_of_weights_count(loss, n_classes):
    X, y = classes(n_classes, 100) if n_classes else numbers(100)
    cls = GradientBoostingClassifier if n_classes else GradientBoostingRegressor
    w = weights(len(y))

    def scores(unit):
        model = cls(loss, 10).fit(X, y, w * unit)
        return model.decision_function(X) if n_classes else model.predict(X)

    with np.errstate(all="raise", under="ignore"):
        for unit in (1e-300, 1e-160, 1e160, 1e300):
            np.testing.assert_allclose(scores(unit), scores(1.0), rtol=0, atol=1e-10)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e150])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_the_unit_of_the_target_does_not_matter(loss, unit):
    X, y = numbers()
    w = weights(len(y))
    one = GradientBoostingRegressor(loss, 20).fit(X, y, w).predict(X)
    other = GradientBoostingRegressor(loss, 20).fit(X, y * unit, w).predict(X)
    np.testing.assert_allclose(other / unit, one, rtol=1e-9)


@pytest.mark.parametrize("loss, share", [("log_loss", 1), ("exponential", 0.5)])
def test_a_class_may_weigh_very_little(loss, share):
    model = GradientBoostingClassifier(loss, 3, learning_rate=0.1)
    w, y = np.array([1e-20, 1e-20, 1, 1]), np.array([0, 0, 1, 1])
    for labels, sign in [(y, 1), (1 - y, -1)]:
        model.fit(X4, labels, w)
        assert model.start_[0] == pytest.approx(sign * share * 20 * np.log(10))
    with pytest.raises(ValueError, match="sample_weight .* set it to 0"):
        model.fit(X4, y, [1e-320, 1, 1e300, 1])


@pytest.mark.parametrize("model, y", [
    (GradientBoostingRegressor(learning_rate=1e5), [0.0, 4.0, 8.0, 20.0]),
    (GradientBoostingRegressor(learning_rate=1e308), [0.0, 4.0, 8.0, 20.0]),
    (GradientBoostingRegressor("absolute_error", learning_rate=1e308), [0, 4, 8, 20]),
    (GradientBoostingClassifier(learning_rate=1e308), [0, 1, 1, 0]),
    (GradientBoostingClassifier(learning_rate=1.7e308), [0, 1, 2, 0]),
    (GradientBoostingClassifier("exponential", learning_rate=1e5), [0, 1, 1, 0]),
])
def test_predictions_that_overflow_are_refused(model, y):
    model.set_params(max_depth=1)
    with pytest.raises(ValueError, match="overflow after .* lower learning_rate"):
        model.fit(X4, y)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_a_target_that_overflows_is_refused_and_the_old_model_kept(loss):
    model = GradientBoostingRegressor(loss, 2).fit(X4, [0.0, 4.0, 8.0, 20.0])
    before = model.predict(X4)
    with pytest.raises(ValueError, match="at the start: give y in a larger unit"):
        model.fit(X4, [-1.7e308, 1.7e308, 1e308, -1.7e308])
    np.testing.assert_array_equal(model.predict(X4), before)


def test_stages_are_checked_at_once_and_outlive_another_fit():
    X, y = numbers()
    model = GradientBoostingRegressor(n_estimators=3)
    with pytest.raises(AttributeError, match="not fitted"):
        model.staged_predict(X)
    expected = list(model.fit(X, y).staged_predict(X))
    with pytest.raises(ValueError, match="features"):
        model.staged_predict(X[:, :2])
    stages = model.staged_predict(X)
    model.fit(X, -y)
    np.testing.assert_array_equal(list(stages), expected)


def test_helpers_refuse_what_they_cannot_serve():
    three, group = np.ones(3), np.array([0, 1, 1])
    for bad in [(np.ones(2), three, group), (three, -three, group),
                (three, three, group + 1), (three, three, group - 1),
                (three, three, group / 2), (three[:, np.newaxis], three, group)]:
        with pytest.raises(ValueError, match="weight must|must have one shape"):
            medians(*bad, 2)
    with pytest.raises(ValueError, match="NaN"):
        medians(three * np.nan, three, group, 2)
    for bad in (three, np.ones((2, 0))):
        with pytest.raises(ValueError, match="F must have shape"):
            softmax(bad)
    with pytest.raises(ValueError, match="infinity"):
        log_sum_exp([[np.inf, 0.0]])
    with pytest.raises(ValueError, match="n_classes"):
        MultinomialLoss(1)
    with pytest.raises(ValueError, match="patience"):
        has_stopped_falling([1.0], 0, 0.0)


def test_a_tie_goes_to_the_first_class():
    model = GradientBoostingClassifier(n_estimators=1)
    model.fit(np.ones((4, 1)), [3, 5, 5, 3])
    np.testing.assert_array_equal(model.predict_proba([[1.0]]), [[0.5, 0.5]])
    assert model.predict([[1.0]])[0] == 3


@pytest.mark.parametrize("parameter, value, error", [
    ("loss", "huber", ValueError),
    ("n_estimators", 0, ValueError),
    ("n_estimators", 2.5, TypeError),
    ("learning_rate", -0.1, ValueError),
    ("max_depth", 0, ValueError),
    ("subsample", 0.0, ValueError),
    ("subsample", 1.1, ValueError),
    ("min_samples_split", 1, ValueError),
    ("min_samples_leaf", 0, ValueError),
    ("max_leaf_nodes", 1, ValueError),
    ("n_iter_no_change", 0, ValueError),
    ("validation_fraction", 1.0, ValueError),
    ("tol", -1.0, ValueError),
])
@pytest.mark.parametrize("cls", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_bad_parameters_are_refused(cls, parameter, value, error):
    with pytest.raises(error, match=parameter):
        cls(**{parameter: value}).fit(X4, [0, 0, 1, 1])


def test_bad_classes_are_refused():
    with pytest.raises(ValueError, match="1 class, 1:"):
        GradientBoostingClassifier().fit(X4, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="two classes"):
        GradientBoostingClassifier("exponential").fit(X4, [0, 1, 2, 2])


def test_rows_must_be_left_to_fit():
    stopping = {"n_iter_no_change": 2, "validation_fraction": 0.9, "random_state": 0}
    with pytest.raises(ValueError, match="leaves no row"):
        GradientBoostingRegressor(**stopping).fit(X4, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="lack a class"):
        GradientBoostingClassifier(**stopping).fit(
            np.arange(12.0)[:, np.newaxis], [0] * 11 + [1])
