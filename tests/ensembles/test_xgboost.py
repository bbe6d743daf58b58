"""The boosted trees held to the xgboost library, to brute force and to paper."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import xgboost as library
from sklearn.datasets import make_classification

from mlbook.ensembles.splits import Columns
from mlbook.ensembles.xgboost import (
    SingleNewton,
    XGBClassifier,
    XGBRegressor,
    _draw,
    check_range,
    grow_exact,
    logistic_slopes,
    prune,
    sigmoid,
    softmax,
    softmax_slopes,
    squared_slopes,
)
from tests.ensembles.pages import library_numbers

ROUNDS = 100


# Data


def features(kind, n=400, d=6, flipped=0.1):
    """Features that are exact in float32, and a score that they explain in part."""
    rng = np.random.default_rng(0)
    X, y = make_classification(
        n, d, n_informative=d - 2, n_clusters_per_class=3, flip_y=flipped,
        random_state=1,
    )
    score = 2 * y - 1 + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n)
    if kind == "ties":  # whole numbers, and two columns of zeros and ones
        X = np.round(2 * X)
        X[:, :2] = X[:, :2] > 0
    X = X.astype(np.float32).astype(float)
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
        X[(rng.random(n) < 0.3) & (y == 1), 0] = np.nan
    return X, score


def target(problem, score):
    if problem == "regression":
        return np.round(3 * score + 20, 3).astype(np.float32).astype(float)
    return np.digitize(score, [0.3] if problem == "binary" else [-0.6, 0.9])


OBJECTIVE = {
    "regression": {"objective": "reg:squarederror"},
    "binary": {"objective": "binary:logistic"},
    "three classes": {"objective": "multi:softprob", "num_class": 3},
}


def library_margin(
    X, y, problem, method, new=None, weight=None, rounds=ROUNDS, **given
):
    """Margins of the library on X (or ``new``), and the cuts of its histograms."""
    given = {"eta" if k == "learning_rate" else k: v for k, v in given.items()}
    parameters = {**OBJECTIVE[problem], "tree_method": method, "nthread": 1, **given}
    edges = None
    if method == "hist":
        data = library.QuantileDMatrix(X, y, weight=weight, nthread=1, max_bin=256)
        edges = library_edges(data)
    else:
        data = library.DMatrix(X, y, weight=weight, nthread=1)
    booster = library.train(parameters, data, rounds)
    at = library.DMatrix(X if new is None else new)
    return booster.predict(at, output_margin=True), edges


def library_edges(data):
    """The library's cuts, written as x <= edge. Its own rule is x < cut."""
    start, value = data.get_quantile_cut()
    start = np.asarray(start).astype(int)
    # the first value is the feature's minimum, the last lies above its maximum
    cuts = [value[a + 1 : b - 1] for a, b in itertools.pairwise(start)]
    return [np.nextafter(c, np.float32(-np.inf)).astype(float) for c in cuts]


def margin(model, X):
    return model.predict(X) if isinstance(model, XGBRegressor) else (
        model.decision_function(X))


def fitted(X, y, problem, method, edges=None, weight=None, rounds=ROUNDS, **given):
    cls = XGBRegressor if problem == "regression" else XGBClassifier
    model = cls(n_estimators=rounds, tree_method=method, **given)
    return model.fit(X, y, weight, bin_edges=edges)


def assert_agree(ours, theirs):
    off = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    assert off.max() <= 1e-5


# Agreement with the library over 100 trees


@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("kind", ["dense", "missing", "ties"])
@pytest.mark.parametrize("problem", OBJECTIVE)
def test_margins_are_the_librarys(problem, kind, method):
    X, score = features(kind, n=240 if problem == "three classes" else 400)
    y = target(problem, score)
    theirs, edges = library_margin(X, y, problem, method)
    ours = margin(fitted(X, y, problem, method, edges), X)
    assert np.ptp(theirs) > 1  # the trees have something to say
    assert_agree(ours, theirs)


SETTINGS = [
    {"reg_lambda": 0.0},
    {"reg_lambda": 0.0, "min_child_weight": 8.0},
    {"reg_lambda": 0.1, "gamma": 1.0},
    {"reg_lambda": 5.0, "max_depth": 3},
    {"gamma": 1.0},
    {"gamma": 5.0},
    {"min_child_weight": 0.0},
    {"min_child_weight": 0.0, "reg_lambda": 0.1},
    {"min_child_weight": 10.0, "learning_rate": 0.7},
]


@pytest.mark.parametrize("given", SETTINGS, ids=str)
@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("kind", ["dense", "missing"])
def test_parameters_mean_what_they_mean_in_the_library(kind, method, given):
    X, score = features(kind)
    y = target("binary", score)
    theirs, edges = library_margin(X, y, "binary", method, **given)
    assert_agree(margin(fitted(X, y, "binary", method, edges, **given), X), theirs)
    default, _ = library_margin(X, y, "binary", method)
    assert np.abs(theirs - default).max() > 0.1  # the parameter matters here


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_near_ties_are_cut_as_in_the_library(method):
    """Gains near 1e-3 of scores near 70, whose last float32 digit is 8e-6."""
    X, score = features("dense", n=2000, flipped=0.5)
    y = target("binary", score)
    given = {"reg_lambda": 0.0, "min_child_weight": 8.0, "rounds": 10}
    theirs, edges = library_margin(X, y, "binary", method, **given)
    assert_agree(margin(fitted(X, y, "binary", method, edges, **given), X), theirs)


@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("seen", ["dense", "missing"])
def test_new_rows_with_missing_values_are_the_librarys(seen, method):
    X, score = features(seen)
    y = target("binary", score)
    # every column shuffled: no value is outside of what was seen (see the next test)
    rng = np.random.default_rng(0)
    new = rng.permuted(np.vstack([features("missing")[0], X]), axis=0)
    theirs, edges = library_margin(X, y, "binary", method, new=new, rounds=30)
    ours = margin(fitted(X, y, "binary", method, edges, rounds=30), new)
    assert_agree(ours, theirs)


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_where_the_library_cuts_what_is_present_from_what_is_missing(method):
    """Ours at infinity, the library's at max + |max|: they part beyond that only."""
    X = np.array([[1.0, 2, 5, np.nan, np.nan]]).T
    y = np.array([0.0, 0, 0, 1, 1])
    new = np.array([[-100.0, 4, 9, np.nan, 11, 100]]).T
    given = {"rounds": 1, "max_depth": 1, "min_child_weight": 0}
    ours = margin(fitted(X, y, "regression", method, **given), new)
    theirs, _ = library_margin(X, y, "regression", method, new=new, **given)
    np.testing.assert_allclose(ours[:4], theirs[:4], rtol=1e-6)
    assert (ours[4:] == ours[0]).all() and (theirs[4:] == theirs[3]).all()


@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("problem", ["regression", "binary"])
def test_data_that_float32_rounds_are_cut_and_sorted_as_in_the_library(problem, method):
    """Neighbours in float32 and decimals; new rows that only rounding moves."""
    rng = np.random.default_rng(4)
    X = rng.choice(np.arange(1, 60) / 10, size=(300, 3))
    steps = rng.integers(0, 40, size=300) + rng.uniform(-0.4, 0.4, size=300)
    X[:, 1] = 1 + steps * float(np.spacing(np.float32(1)))
    X[:, 2] = rng.choice(rng.normal(size=100), size=300)
    y = X[:, 0] + steps.round() / 8 + X[:, 2] + rng.normal(size=300)
    y = y if problem == "regression" else (y > 5).astype(int)
    given = {"rounds": 20, "base_score": 0.5}
    model = fitted(X, y, problem, method, **given)
    trees = [t.tree for (t,) in model.trees_]
    assert {f for t in trees for f in t.feature[~t.is_leaf].tolist()} == {0, 1, 2}
    new = [X]
    for feature in range(3):
        cuts = np.concatenate([t.threshold[t.feature == feature] for t in trees])
        np.testing.assert_array_equal(cuts, cuts.astype(np.float32))
        moved = X[: len(cuts)].copy()
        # above the cut in float64, not in float32
        moved[:, feature] = np.nextafter(cuts[: len(moved)], np.inf)
        new.append(moved)
    new = np.concatenate(new)
    rounded = new.astype(np.float32).astype(float)
    assert (new != rounded).any()
    ours = margin(model, new)
    np.testing.assert_array_equal(ours, margin(model, rounded))
    theirs, _ = library_margin(X, y, problem, method, new=new, **given)
    assert_agree(ours, theirs)


def test_own_bins_give_the_librarys_trees_where_values_are_few():
    X, score = features("ties")
    X[3, :] = np.nan
    assert max(len(np.unique(column)) for column in X.T) <= 256
    y = target("binary", score)
    theirs, _ = library_margin(X, y, "binary", "hist")
    assert_agree(margin(fitted(X, y, "binary", "hist"), X), theirs)


def test_many_distinct_values_with_the_librarys_bins():
    X, score = features("missing", n=3000)
    y = target("binary", score)
    theirs, edges = library_margin(X, y, "binary", "hist")
    assert max(map(len, edges)) == 255
    model = fitted(X, y, "binary", "hist", edges)
    assert_agree(margin(model, X), theirs)


@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("problem", OBJECTIVE)
def test_weights_are_the_librarys(problem, method):
    X, score = features("dense", n=400)
    y = target(problem, score)
    weight = 2.0 ** np.random.default_rng(0).integers(-1, 3, size=len(X))
    theirs, edges = library_margin(X, y, problem, method, weight=weight)
    assert_agree(margin(fitted(X, y, problem, method, edges, weight), X), theirs)


@pytest.mark.parametrize(
    ("problem", "score"), [("regression", 3.0), ("binary", 0.2), ("three classes", 0.5)]
)
def test_base_score_is_the_librarys(problem, score):
    X, explained = features("dense", n=300)
    y = target(problem, explained)
    theirs, _ = library_margin(X, y, problem, "exact", rounds=3, base_score=score)
    ours = margin(fitted(X, y, problem, "exact", rounds=3, base_score=score), X)
    assert_agree(ours, theirs)


def test_a_root_lighter_than_min_child_weight_stays_silent_as_in_the_library():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 1])
    theirs, _ = library_margin(X, y, "binary", "exact", rounds=2, base_score=0.5)
    np.testing.assert_array_equal(theirs, 0)
    model = fitted(X, y, "binary", "exact", rounds=2, base_score=0.5)
    np.testing.assert_array_equal(margin(model, X), 0)


def test_gamma_stops_the_histogram_method_but_prunes_the_exact_one():
    """A weak first split, under which both children are split well."""
    X = np.repeat([[0.0, 0], [0, 1], [1, 0], [1, 1]], [11, 10, 10, 10], axis=0)
    y = (X[:, 0] != X[:, 1]).astype(int)
    given = {"rounds": 1, "gamma": 5.0, "base_score": 0.5}
    leaves = {}
    for method in ("exact", "hist"):
        model = fitted(X, y, "binary", method, **given)
        theirs, _ = library_margin(X, y, "binary", method, **given)
        assert_agree(margin(model, X), theirs)
        leaves[method] = model.trees_[0][0].tree.is_leaf.sum()
    assert leaves == {"exact": 4, "hist": 1}


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_of_equal_gains_the_librarys_cut_is_taken(method):
    """Both outer cuts gain 18/77: one method scans from above, one from below."""
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 1, 1, 0])
    given = {"rounds": 1, "max_depth": 1, "reg_lambda": 5 / 8, "min_child_weight": 0}
    theirs, edges = library_margin(X, y, "binary", method, **given)
    model = fitted(X, y, "binary", method, edges, **given)
    tree = model.trees_[0][0].tree
    assert tree.gain[0] / 2 == pytest.approx(18 / 77, rel=1e-6)
    assert (X[:, 0] <= tree.threshold[0]).sum() == {"exact": 3, "hist": 1}[method]
    assert_agree(margin(model, X), theirs)


# What the page prints of the library

PAGE = Path(__file__).parents[2] / "chapters" / "ensembles" / "xgboost.ipynb"
PAGE_GAINS = [13.2973, 14.6551, 4.3896, 1.7146]
PAGE_MARGINS = {6: 6.1077, 11: -0.1420, 35: 1.3889}


def page_trays(n, seed):
    rng = np.random.default_rng(seed)
    warmth = np.round(2 * rng.uniform(4, 36, n)) / 2
    wet = np.round(rng.uniform(10, 70, n))
    log_odds = 3 - 2 * ((warmth - 21) / 7) ** 2 - 3 * (wet < 25)
    up = rng.random(n) < 1 / (1 + np.exp(-log_odds))
    return np.column_stack([warmth, wet]), up.astype(int)


def test_the_pages_stored_rows_are_the_librarys():
    """The page cannot import the library: it shows these numbers, and no others."""
    assert library_numbers(PAGE) == {"LIBRARY_GAINS": PAGE_GAINS, "LIBRARY_MARGINS": PAGE_MARGINS}
    X, y = page_trays(60, seed=5)
    given = {"tree_method": "exact", "max_depth": 3, "nthread": 1}
    booster = library.train(
        {**OBJECTIVE["binary"], **given}, library.DMatrix(X, y, nthread=1), 60
    )
    dump = booster.get_dump(dump_format="json", with_stats=True)[0]
    gains = [float(gain) for gain in re.findall(r'"gain": ([\d.]+)', dump)]
    np.testing.assert_allclose(gains, PAGE_GAINS, rtol=0, atol=6e-5)
    theirs = booster.predict(library.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(
        theirs[list(PAGE_MARGINS)], list(PAGE_MARGINS.values()), rtol=0, atol=6e-5
    )
    ours = fitted(X, y, "binary", "hist", rounds=60, max_depth=3)
    assert_agree(margin(ours, X), theirs)


# By hand, and by brute force


def hand(x, g, h, reg_lambda, gamma=0.0, depth=1):
    """A tree on one feature for given slopes, and the values of its nodes."""
    criterion = SingleNewton(reg_lambda)
    columns = Columns(np.array(x, float)[:, np.newaxis], True, descending=True)
    tree, leaf = grow_exact(columns, np.array([g, h], float), criterion, depth, gamma)
    return tree, leaf, criterion.leaf_value(tree.sums)


@pytest.mark.parametrize(
    ("reg_lambda", "gain", "value"), [(0, 2, 2), (1, 2 / 3, 2 / 3)]
)
def test_four_points_by_hand(reg_lambda, gain, value):
    g, h = [0.5, 0.5, -0.5, -0.5], [0.25] * 4
    tree, leaf, values = hand([1, 2, 3, 4], g, h, reg_lambda)
    assert tree.gain[0] / 2 == pytest.approx(gain, rel=1e-6)
    assert tree.threshold[0] == pytest.approx(2.5, rel=1e-6)
    np.testing.assert_allclose(values[leaf], [-value, -value, value, value])
    model = XGBClassifier(
        n_estimators=1, max_depth=1, learning_rate=1, reg_lambda=reg_lambda,
        min_child_weight=0, base_score=0.5, tree_method="exact",
    ).fit([[1], [2], [3], [4]], [0, 0, 1, 1])
    np.testing.assert_allclose(
        model.decision_function([[1], [2], [3], [4]]), [-value, -value, value, value],
        rtol=1e-6,
    )


def test_no_curvature_and_no_penalty_gives_leaf_zero():
    tree, _, values = hand([1, 2], [0.0, 0.0], [0.0, 0.0], reg_lambda=0)
    np.testing.assert_array_equal(values, 0)
    X, y = [[0.0], [1.0]], [0, 1]
    model = XGBClassifier(reg_lambda=0, min_child_weight=0, n_estimators=300,
                          learning_rate=1, tree_method="exact").fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def best_first_cut(X, g, h, reg_lambda):
    """Gain, in the library's scale, of the best of all cuts, by trying them all."""
    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + reg_lambda)

    every = np.ones(len(X), bool)
    return max(
        score(column <= cut) + score(column > cut) - score(every)
        for column in X.T for cut in np.unique(column)[:-1]
    )


@pytest.mark.parametrize("reg_lambda", [0.0, 1.0, 20.0])
def test_the_first_split_is_the_best_of_all(reg_lambda):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, size=(60, 4)).astype(float)
    g, h = rng.normal(size=60), rng.uniform(0.1, 1, size=60)
    tree, _ = grow_exact(Columns(X, True, descending=True), np.array([g, h]),
                         SingleNewton(reg_lambda), 1, 0.0)
    expected = best_first_cut(X, g, h, reg_lambda)
    assert tree.gain[0] == pytest.approx(expected, rel=1e-5)


def test_the_gain_is_what_the_penalised_loss_falls_by():
    """The quadratic of the round, minimised over all leaf values at once."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    g, h = rng.normal(size=40), rng.uniform(0.1, 1, size=40)
    criterion = SingleNewton(0.7)
    columns = Columns(X, True, descending=True)
    tree, leaf = grow_exact(columns, np.array([g, h]), criterion, 3, 0.0)
    values = criterion.leaf_value(tree.sums)

    def quadratic(z, w):  # z marks the leaf of each row
        step = z @ w
        return g @ step + 0.5 * h @ step**2 + 0.5 * 0.7 * w @ w

    leaves = np.flatnonzero(tree.is_leaf)
    z = (leaf[:, np.newaxis] == leaves).astype(float)
    w = np.linalg.solve(z.T @ (h[:, np.newaxis] * z) + 0.7 * np.eye(len(leaves)),
                        -z.T @ g)
    np.testing.assert_allclose(values[leaves], w, rtol=1e-10)
    root = -g.sum() / (h.sum() + 0.7)
    fall = quadratic(np.ones((40, 1)), np.array([root])) - quadratic(z, w)
    assert tree.gain.sum() / 2 == pytest.approx(fall, rel=1e-5)


# The slopes


def logistic_loss(m, y):
    return np.logaddexp(0, m) - y * m


def softmax_loss(m, t):
    return np.log(np.exp(m).sum(axis=0)) - (t * m).sum(axis=0)


@pytest.mark.parametrize(
    ("slopes", "loss"),
    [(squared_slopes, lambda m, y: 0.5 * (m - y) ** 2),
     (logistic_slopes, logistic_loss)],
)
def test_slopes_are_the_derivatives(slopes, loss):
    rng = np.random.default_rng(0)
    m, y = rng.normal(size=50), rng.integers(0, 2, size=50).astype(float)
    g, h = slopes(m, y)
    e = 1e-4
    up, here, down = (loss(m + s, y) for s in (e, 0, -e))
    np.testing.assert_allclose(g, (up - down) / (2 * e), atol=1e-7)
    np.testing.assert_allclose(h, (up - 2 * here + down) / e**2, atol=1e-6)


def test_softmax_slopes_are_the_derivatives():
    rng = np.random.default_rng(0)
    m, t = rng.normal(size=(4, 30)), np.eye(4)[:, rng.integers(0, 4, size=30)]
    g, h = softmax_slopes(m, t)
    e = 1e-4
    for k in range(4):
        step = np.eye(4)[:, [k]] * e
        up, here, down = (softmax_loss(m + s * step, t) for s in (1, 0, -1))
        np.testing.assert_allclose(g[k], (up - down) / (2 * e), atol=1e-7)
        np.testing.assert_allclose(h[k], (up - 2 * here + down) / e**2, atol=1e-6)


def test_twice_the_softmax_curvature_bounds_the_hessian():
    rng = np.random.default_rng(0)
    m = 2 * rng.normal(size=(5, 40))
    p = softmax(m)
    _, h = softmax_slopes(m, np.zeros_like(m), 2)
    _, derived = softmax_slopes(m, np.zeros_like(m))
    lowest = []
    for column, upper, own in zip(p.T, h.T, derived.T, strict=True):
        hessian = np.diag(column) - np.outer(column, column)
        assert np.linalg.eigvalsh(np.diag(upper) - hessian).min() > -1e-12
        lowest.append(np.linalg.eigvalsh(np.diag(own) - hessian).min())
    assert min(lowest) < -0.01  # the derived one does not bound it


def test_two_margins_with_the_librarys_curvature_take_the_logistic_step_together():
    m = np.array([[0.3], [-0.4]])
    g, h = softmax_slopes(m, np.array([[0.0], [1.0]]), 2)
    step = -g / h
    g_two, h_two = logistic_slopes(m[1] - m[0], np.array([1.0]))
    np.testing.assert_allclose(step[1] - step[0], -g_two / h_two)


def test_slopes_at_the_limits():
    m = np.array([-1e4, -90, 90, 1e4], dtype=np.float32)
    for y in (0, 1):
        g, h = logistic_slopes(m, np.full(4, y, dtype=np.float32))
        np.testing.assert_allclose(g, np.array([0, 0, 1, 1]) - y, atol=1e-12)
        assert (h >= 1e-17).all() and (h < 1e-12).all()
    p = softmax(np.array([[1e4], [-1e4], [0]], dtype=np.float32))
    np.testing.assert_array_equal(p[:, 0], [1, 0, 0])
    assert sigmoid(np.float32([0.0]))[0] == 0.5 and p.dtype == np.float32


def test_sigmoid_and_softmax_of_float64_and_of_whole_numbers():
    m = np.array([-700.0, -200.0, 0.0, 30.0])
    np.testing.assert_allclose(sigmoid(m), np.exp(-np.logaddexp(0, -m)), rtol=1e-13)
    limits = [-1e4, -np.inf, np.inf]
    np.testing.assert_allclose(sigmoid(limits), [0, 0, 1], atol=1e-300)
    assert sigmoid(np.float32([-100.0])).dtype == np.float32
    whole, y = np.array([0, 1, -200]), np.array([0, 1, 1])
    np.testing.assert_allclose(sigmoid(whole), sigmoid(whole.astype(float)))
    np.testing.assert_allclose(softmax([1, 2]), sigmoid(np.array([-1.0, 1.0])))
    for slopes in (squared_slopes, logistic_slopes, softmax_slopes):
        for found, right in zip(slopes(whole, y), slopes(whole * 1.0, y * 1.0),
                                strict=True):
            np.testing.assert_array_equal(found, right)
            assert found.dtype == np.float64


@pytest.mark.parametrize("slopes", [squared_slopes, logistic_slopes, softmax_slopes])
def test_slopes_take_margins_and_targets_of_one_shape(slopes):
    for shape in ((3, 1), (1, 3), (2,), ()):
        with pytest.raises(ValueError, match=r"must have one shape, got \(3,\) and"):
            slopes(np.zeros(3), np.zeros(shape))


def test_probabilities_of_two_classes_reach_below_float32():
    X = np.array([[0.0], [1.0]])
    model = XGBClassifier(1, learning_rate=100.0, reg_lambda=0, min_child_weight=0)
    p = model.fit(X, [0, 1]).predict_proba(X)
    np.testing.assert_allclose(model.decision_function(X), [-200, 200])
    np.testing.assert_allclose(p[[0, 1], [1, 0]], np.exp(-200.0), rtol=1e-12)


def test_softmax_curvature_chooses_the_step():
    X, score = features("dense", n=200)
    y = target("three classes", score)
    library_step, derived = (
        XGBClassifier(n_estimators=1, reg_lambda=0, min_child_weight=0, max_depth=2,
                      softmax_curvature=name).fit(X, y)
        for name in ("library", "derived")
    )
    step = [m.decision_function(X) - m.base_margin_ for m in (library_step, derived)]
    np.testing.assert_allclose(2 * step[0], step[1], rtol=1e-3, atol=1e-4)


# Rounds


def test_the_first_margin_is_the_best_constant():
    X, score = features("dense", n=200)
    slopes_of = {"regression": squared_slopes, "binary": logistic_slopes}
    for problem, slopes in slopes_of.items():
        y = target(problem, score)
        model = fitted(X, y, problem, "exact", rounds=0)
        assert abs(slopes(margin(model, X), y)[0].sum()) < 1e-3
    y = target("three classes", score)
    model = fitted(X, y, "three classes", "exact", rounds=0)
    share = (np.bincount(y) / len(y) + 1e-6) / (1 + 3e-6)  # so does the library
    np.testing.assert_allclose(model.predict_proba(X)[0], share, rtol=1e-6)


def test_stages_end_at_the_prediction():
    X, score = features("missing", n=200)
    for problem in OBJECTIVE:
        y = target(problem, score)
        model = fitted(X, y, problem, "hist", rounds=4)
        stages = list(model.staged_predict(X) if problem == "regression"
                      else model.staged_decision_function(X))
        assert len(stages) == 5
        np.testing.assert_array_equal(stages[-1], margin(model, X))
        base = model.base_margin_
        np.testing.assert_array_equal(stages[0], np.broadcast_to(
            base if problem == "three classes" else base[0], stages[0].shape))


def test_the_loss_falls_in_every_round():
    X, score = features("dense")
    y = target("binary", score)
    model = fitted(X, y, "binary", "exact", rounds=50)
    losses = [logistic_loss(m, y).sum() for m in model.staged_decision_function(X)]
    assert (np.diff(losses) < 0).all()


def test_probabilities_and_labels():
    X, score = features("dense", n=300)
    for problem in ("binary", "three classes"):
        y = target(problem, score)
        model = fitted(X, y, problem, "hist", rounds=10)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
        booster_like = model.decision_function(X)
        expected = (sigmoid(booster_like) if problem == "binary"
                    else softmax(booster_like.T).T)
        np.testing.assert_allclose(p[:, 1] if problem == "binary" else p, expected)


def test_repeated_rows_and_weights():
    X, score = features("missing", n=150)
    counts = np.random.default_rng(2).integers(0, 4, size=150)
    for problem in OBJECTIVE:
        y = target(problem, score)
        for method in ("exact", "hist"):
            weighted = fitted(X, y, problem, method, weight=counts, rounds=20)
            repeated = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts),
                              problem, method, rounds=20)
            np.testing.assert_allclose(margin(weighted, X), margin(repeated, X),
                                       rtol=1e-6, atol=1e-7)


# Pruning


FOUR = {"x": [1, 2, 3, 4], "g": [0.25, 0.25, -0.75, 0.25], "h": [3 / 16] * 4}


@pytest.mark.parametrize(("gamma", "leaves"), [(0.0, 3), (0.255, 3), (0.265, 1)])
def test_prune_by_hand(gamma, leaves):
    """The first split gains 1/4, the one below it 27/104 = 0.2596: it keeps both."""
    tree, _, values = hand(**FOUR, reg_lambda=5 / 8, depth=3)
    gains = tree.gain[~tree.is_leaf] / 2
    np.testing.assert_allclose(gains, [1 / 4, 27 / 104], rtol=1e-6)
    np.testing.assert_allclose(values[tree.is_leaf], [-1 / 2, 12 / 13, -4 / 13])
    assert prune(tree, 2 * gamma)[0].is_leaf.sum() == leaves


@pytest.mark.parametrize(
    ("gamma", "leaves", "Q", "root"), [(0.252, 3, 0.756, 1), (0.257, 3, 0.771, -1)]
)
def test_pruning_asks_each_split_alone_as_in_the_library(gamma, leaves, Q, root):
    """Q falls with both splits for gamma below 53/208 only, yet both are kept."""
    X, y = np.array([FOUR["x"]], float).T, np.array([0, 0, 1, 0])
    given = {"rounds": 1, "max_depth": 2, "reg_lambda": 5 / 8, "gamma": 2 * gamma,
             "min_child_weight": 0, "learning_rate": 1.0}
    model = fitted(X, y, "binary", "exact", **given)
    theirs, _ = library_margin(X, y, "binary", "exact", **given)
    assert_agree(margin(model, X), theirs)
    tree = model.trees_[0][0].tree
    assert tree.is_leaf.sum() == len(np.unique(theirs)) == leaves
    G, H = tree.sums[:, tree.is_leaf]
    worth = gamma * leaves - (G**2 / (H + 5 / 8)).sum() / 2
    assert worth == pytest.approx(Q - 53 / 104, rel=1e-6)
    assert np.sign(gamma - worth) == root  # one leaf alone: Q = gamma


@pytest.mark.parametrize("gamma", [0.1, 1.0, 4.0, 1e9])
def test_pruning_keeps_what_is_strong_and_only_what_holds_it(gamma):
    X, score = features("dense", n=200)
    stats = np.array([-score, np.ones(200)])
    columns = Columns(X, True, descending=True)
    tree, leaf = grow_exact(columns, stats, SingleNewton(1.0), 6, 0.0)
    small, number = prune(tree, gamma)
    inner = ~small.is_leaf
    above_leaves = small.is_leaf[small.left] & small.is_leaf[small.right] & inner
    assert (small.gain[above_leaves] >= gamma).all()
    assert inner[number[~tree.is_leaf & (tree.gain >= gamma)]].all()
    np.testing.assert_array_equal(number[leaf], small.apply(X))
    children = small.sums[:, small.left[inner]] + small.sums[:, small.right[inner]]
    np.testing.assert_allclose(small.sums[:, inner], children, atol=1e-9)


def test_a_split_that_gains_exactly_gamma_stays():
    tree, _, _ = hand([1, 2], [1.0, -1.0], [1.0, 1.0], reg_lambda=0)
    assert tree.gain[0] == 2
    assert prune(tree, 2.0)[0].node_count == 3
    assert prune(tree, np.nextafter(np.float32(2), np.float32(3)))[0].node_count == 1
    X, y = [[1.0], [2.0]], [-1.0, 1.0]
    for gamma, n in ((2.0, 3), (2.001, 1)):
        for method in ("exact", "hist"):
            model = XGBRegressor(1, reg_lambda=0, gamma=gamma, tree_method=method)
            assert model.fit(X, y).trees_[0][0].tree.node_count == n


@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("size", [1.0, 1.7, 0.3])
def test_a_gain_equal_to_gamma_in_float32_is_enough_as_in_the_library(size, method):
    """So a gamma that only float64 tells from the gain does not stop the split."""
    X, y = np.array([[1.0], [2.0]]), np.array([-size, size])
    given = {"rounds": 1, "reg_lambda": 0.0, "base_score": 0.0}
    model = fitted(X, y, "regression", method, **given)
    gain = np.float32(model.trees_[0][0].tree.gain[0])
    assert gain == pytest.approx(2 * size**2)
    for gamma, leaves in [
        (float(gain), 2), (np.nextafter(float(gain), np.inf), 2),
        (np.nextafter(float(gain), 0), 2),
        (float(np.nextafter(gain, np.float32(np.inf))), 1),
    ]:
        gamma = float(gamma)
        theirs, _ = library_margin(
            X, y, "regression", method, gamma=gamma, **given)
        model = fitted(X, y, "regression", method, gamma=gamma, **given)
        assert model.trees_[0][0].tree.is_leaf.sum() == leaves
        assert len(np.unique(theirs)) == leaves


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_a_gain_between_two_float32_counts_as_the_even_one(method):
    """The gain is half a unit below a gamma to which it rounds, as in the library."""
    y = np.array([0.661, 0.138, 0.402, 0.595, 0.03, 1.111, -0.729, -1.436])
    X = np.arange(8.0)[:, np.newaxis]
    given = {"rounds": 1, "max_depth": 1, "reg_lambda": 0.0, "base_score": 0.5}
    gain = fitted(X, y, "regression", method, **given).trees_[0][0].tree.gain[0]
    gamma = float(np.float32(gain))
    assert gamma - gain == np.spacing(np.float32(gamma)) / 2
    theirs, _ = library_margin(X, y, "regression", method, gamma=gamma, **given)
    model = fitted(X, y, "regression", method, gamma=gamma, **given)
    assert model.trees_[0][0].tree.node_count == 3 and len(np.unique(theirs)) == 2


@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize(("gamma", "leaves"), [(2.0, 2), (2.01, 1)])
def test_the_first_exercise_at_its_price(gamma, leaves, method):
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0, 0, 1, 1])
    given = {"rounds": 1, "max_depth": 2, "reg_lambda": 0.5, "min_child_weight": 0,
             "base_score": 0.5, "gamma": gamma}
    theirs, _ = library_margin(X, y, "binary", method, **given)
    model = fitted(X, y, "binary", method, **given)
    assert model.trees_[0][0].tree.is_leaf.sum() == leaves
    assert len(np.unique(theirs)) == leaves


# Samples of rows and features


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_a_tree_uses_the_features_that_it_drew(method):
    X, score = features("dense", n=300)
    y = target("binary", score)
    model = fitted(X, y, "binary", method, rounds=30, colsample_bytree=0.5,
                   random_state=0)
    used = [set(t.tree.feature[~t.tree.is_leaf].tolist()) for (t,) in model.trees_]
    assert max(map(len, used)) == 3 and set().union(*used) == set(range(6))


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_a_tree_sums_over_the_rows_that_it_drew(method):
    X, score = features("missing", n=300)
    y = target("regression", score)
    model = fitted(X, y, "regression", method, rounds=5, subsample=0.4, random_state=0)
    for (tree,) in model.trees_:
        assert tree.tree.sums[1, 0] == tree.tree.count[0] == 120
    whole = fitted(X, y, "regression", method, rounds=5)
    assert not np.allclose(margin(whole, X), margin(model, X))
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_random_state(method):
    X, score = features("dense", n=200)
    y = target("binary", score)
    given = {"subsample": 0.5, "colsample_bytree": 0.5, "rounds": 5}
    one, two, other = (
        margin(fitted(X, y, "binary", method, random_state=s, **given), X)
        for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_max_depth_zero_is_no_limit():
    x = np.arange(200.0)
    y = np.where(x % 2, 1.0, -1.0)
    model = XGBRegressor(1, max_depth=0, learning_rate=1, reg_lambda=0).fit(
        x[:, np.newaxis], y)
    np.testing.assert_allclose(model.predict(x[:, np.newaxis]), y)


# What is refused


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_estimators": -1}, "n_estimators must be >= 0"),
        ({"max_depth": -1}, "max_depth must be >= 0"),
        ({"learning_rate": 0}, "learning_rate must be finite and > 0"),
        ({"reg_lambda": -1}, "reg_lambda must be finite and >= 0"),
        ({"gamma": -1}, "gamma must be finite and >= 0"),
        ({"min_child_weight": -1}, "min_child_weight must be finite and >= 0"),
        ({"subsample": 0}, "subsample must be finite and > 0 and <= 1"),
        ({"colsample_bytree": 1.1}, "colsample_bytree must be finite and > 0 and <= 1"),
        ({"tree_method": "approx"}, "tree_method must be one of 'exact', 'hist'"),
        ({"max_bin": 1}, "max_bin must be between 2"),
        ({"softmax_curvature": "both"}, "softmax_curvature must be one of 'library'"),
        ({"base_score": 1.0}, "base_score must be finite and > 0 and < 1"),
    ],
)
def test_bad_parameters(given, message):
    with pytest.raises(ValueError, match=message):
        XGBClassifier(**given).fit([[0.0], [1.0]], [0, 1])


def test_bad_data():
    with pytest.raises(ValueError, match="at least 2 classes, got one class: 3"):
        XGBClassifier().fit([[0.0], [1.0]], [3, 3])
    with pytest.raises(ValueError, match="X contains a value too large for float32"):
        XGBRegressor().fit([[1e300], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="y contains a value too large for float32"):
        XGBRegressor().fit([[0.0], [1.0]], [0, 1e300])
    model = XGBRegressor(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="X contains a value too large for float32"):
        model.predict([[-1e300]])
    with pytest.raises(ValueError, match="one array for each of the 1 features"):
        XGBRegressor().fit([[0.0], [1.0]], [0, 1], bin_edges=[])
    with pytest.raises(ValueError, match="bin_edges can be given for tree_method='hi"):
        XGBRegressor(tree_method="exact").fit([[0.0], [1.0]], [0, 1], bin_edges=[[0.5]])


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_nothing_to_cut(method):
    for X, y in (([[1.0, 2.0]], [3.0]), ([[1.0, 2.0]] * 2, [2.0, 4.0])):
        model = XGBRegressor(2, tree_method=method).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), 3)


def test_neighbouring_values_and_empty_columns():
    a = np.float32(1.0)
    b = np.nextafter(a, np.float32(2))
    X = np.array([[a, np.nan], [b, np.nan]], dtype=float)
    for method in ("exact", "hist"):
        model = XGBRegressor(1, learning_rate=1, reg_lambda=0, tree_method=method)
        np.testing.assert_allclose(model.fit(X, [-1.0, 1.0]).predict(X), [-1, 1])
    far = np.array([[1.0], [1.0 + 1e-12]])  # one value in float32: nothing to cut
    model = XGBRegressor(1, reg_lambda=0, tree_method="exact").fit(far, [-1.0, 1.0])
    assert model.trees_[0][0].tree.node_count == 1


@pytest.mark.parametrize("share", [1e-8, 3e-7, 1e-5, 1 - 1e-9])
def test_the_start_of_a_rare_class_is_the_librarys(share):
    X, score = features("dense", n=60)
    y = target("binary", score)
    weight = np.where(y == 1, share / (y == 1).sum(), (1 - share) / (y == 0).sum())
    start = XGBClassifier(0).fit(X, y, weight).decision_function(X)
    data = library.DMatrix(X, y, weight=weight)
    theirs = library.train({"objective": "binary:logistic", "eta": 0}, data, 1)
    np.testing.assert_allclose(
        start, theirs.predict(library.DMatrix(X), output_margin=True), rtol=1e-6)


@pytest.mark.parametrize(
    "given",
    [{"learning_rate": 1e39}, {"reg_lambda": 1e39}, {"gamma": 1e39},
     {"base_score": 1e39}, {"base_score": -1e39}],
)
def test_parameters_beyond_float32(given):
    with pytest.raises(ValueError, match="must be finite and .* <= 3.4"):
        XGBRegressor(5, **given).fit([[0.0], [1.0]], [0.0, 1.0])


def test_slopes_beyond_float32_are_refused():
    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8.0)
    for method in ("exact", "hist"):
        with pytest.raises(ValueError, match="sums of slopes leave the range"):
            XGBRegressor(5, tree_method=method).fit(X, 1e20 * y)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("method", ["exact", "hist"])
@pytest.mark.parametrize("rounds", [1, 3])
def test_margins_beyond_float32_are_refused(rounds, method):
    """After the last round, too, where no slopes are taken any more."""
    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8.0)
    for model in (XGBRegressor(rounds), XGBClassifier(rounds)):
        model.set_params(learning_rate=3e38, reg_lambda=0, tree_method=method)
        with pytest.raises(ValueError, match="margins .* leave the range of float32"):
            model.fit(X, 10 * y if isinstance(model, XGBRegressor) else y > 3)


def test_check_range_refuses_what_is_not_a_number_too():
    check_range(np.array([0.0, 1.0]), 2.0)
    for size in (2.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="leave the range of float32"):
            check_range(np.array([0.0, size]), 2.0)


def test_a_penalty_that_rounds_to_0_does_not_stop_growth():
    X, y = np.arange(8.0)[:, np.newaxis], [0, 0, 1, 1, 0, 1, 1, 1]
    for reg_lambda in (0.0, 1e-46, 1e-30):
        model = XGBRegressor(1, learning_rate=1, min_child_weight=0,
                             reg_lambda=reg_lambda).fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


def test_edges_must_ascend():
    X, y = np.linspace(0, 1, 20)[:, np.newaxis], np.arange(20) > 9
    with pytest.raises(ValueError, match="edges of feature 0 must .* ascends strictly"):
        XGBRegressor(1).fit(X, y.astype(float), bin_edges=[[0.75, 0.5, 0.25]])


def test_a_share_of_the_rows_is_not_rounded_down_by_a_float():
    rng = np.random.default_rng(0)
    for n, share, size in ((100, 0.29, 29), (7, 0.5, 3), (100, 0.57, 57), (3, 0.1, 1)):
        assert len(_draw(rng, n, share)) == size


@pytest.mark.parametrize("share", [1e-30, 1e-8, 5e-4, None])
def test_the_start_of_a_rare_class_among_three_is_the_librarys(share):
    """None: 2 rows of 2000, without weights."""
    if share is None:
        y, weight = np.repeat([0, 1, 2], [1100, 898, 2]), None
    else:
        y = np.arange(9) % 3
        weight = np.where(y == 1, share, 1.0)
    X = np.zeros((len(y), 1))
    start = XGBClassifier(0).fit(X, y, weight).decision_function(X)
    data = library.DMatrix(X, y, weight=weight)
    theirs = library.train(
        {"objective": "multi:softprob", "num_class": 3, "eta": 0}, data, 1)
    np.testing.assert_allclose(
        start, theirs.predict(library.DMatrix(X), output_margin=True), rtol=1e-6)


def test_given_edges_are_rounded_as_x_is():
    X, y = np.array([[0.1], [0.2], [0.3], [0.4]]), np.arange(4.0)
    model = XGBRegressor(1, learning_rate=1, reg_lambda=0)
    model.fit(X, y, bin_edges=[[0.1, 0.2, 0.3]])
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)
    for bad in (5, [[0.1, 0.1 + 1e-12]], [None]):  # the second: one in float32
        with pytest.raises(ValueError, match="edges"):
            model.fit(X, y, bin_edges=bad)


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_a_score_beyond_float32_is_refused(method):
    """Though the sums of slopes are not: G is small, and H far smaller."""
    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8.0)
    model = XGBRegressor(1, reg_lambda=0, min_child_weight=0, tree_method=method)
    with pytest.raises(ValueError, match="leave the range of float32"):
        model.fit(X, 1e30 * y, np.full(8, 1e-12))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["exact", "hist"])
def test_what_is_refused_is_refused_without_a_warning(method):
    X, y = np.arange(8.0)[:, np.newaxis], np.arange(8.0)
    for weight, rate in ((np.full(8, 1e308), 1.0), (None, 3e38)):
        model = XGBRegressor(3, reg_lambda=0, learning_rate=rate, tree_method=method)
        with pytest.raises(ValueError, match="leave the range|sample_weight"):
            model.fit(X, 10 * y, weight)


def test_the_score_of_one_node_alone():
    score = SingleNewton(1.0).score(np.array([1.0, 2.0]))
    assert score == pytest.approx(1 / 3) and score.dtype == np.float32
    assert SingleNewton(0.0).score(np.array([0.0, 0.0])) == 0


def test_slopes_have_the_precision_of_the_margin():
    for slopes in (squared_slopes, logistic_slopes, softmax_slopes):
        for kind in (np.float32, np.float64):
            g, h = slopes(np.array([0, 1], dtype=kind), [0.0, 1.0])
            assert g.dtype == h.dtype == kind


def test_slopes_of_what_is_no_real_number():
    for bad in ([1 + 2j], [None], ["a"]):
        for function in (sigmoid, softmax, lambda m: squared_slopes(m, [0.0])):
            with pytest.raises(ValueError, match="must be real"):
                function(bad)
    for factor in (0, -1, np.nan):
        with pytest.raises(ValueError, match="factor must be finite and > 0"):
            softmax_slopes([[0.0], [1.0]], [[0.0], [1.0]], factor)


def test_the_curvature_of_many_classes_has_its_floor():
    m, t = np.float32([[200.0], [0.0], [0.0]]), np.float32([[1.0], [0.0], [0.0]])
    for factor in (1, 2):
        _, h = softmax_slopes(m, t, factor)
        assert (h >= np.float32(9e-17)).all() and (h < 1e-15).all()


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_every_tree_draws_its_own_rows(method):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    model = XGBRegressor(5, learning_rate=1e-6, subsample=0.5, random_state=0,
                         tree_method=method).fit(X, y)
    sums = [t.tree.sums[0, 0] for (t,) in model.trees_]
    assert len(np.unique(np.round(sums, 2))) == 5


@pytest.mark.parametrize("method", ["exact", "hist"])
def test_rows_that_were_not_drawn_move_too(method):
    """One tree fits both groups, so that the next has nothing left on any row."""
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    model = XGBRegressor(2, learning_rate=1, reg_lambda=0, subsample=0.5,
                         random_state=0, tree_method=method).fit(X, 4 * X[:, 0])
    second = model.trees_[1][0].tree
    assert second.node_count == 1 and abs(second.sums[0, 0]) < 1e-9


def test_max_bin_is_the_number_of_bins():
    x = np.arange(100.0)
    for bins in (2, 4):
        model = XGBRegressor(1, max_depth=0, reg_lambda=0, max_bin=bins)
        tree = model.fit(x[:, np.newaxis], x).trees_[0][0].tree
        assert tree.is_leaf.sum() == bins


def test_a_margin_of_0_is_the_first_class():
    model = XGBClassifier(0).fit([[0.0], [0.0]], ["a", "b"])
    assert model.decision_function([[0.0]]) == 0 and model.predict([[0.0]]) == "a"


def test_stages_check_new_data_at_once():
    for model, name in ((XGBRegressor(1), "staged_predict"),
                        (XGBClassifier(1), "staged_decision_function")):
        model.fit([[0.0], [1.0]], [0, 1])
        with pytest.raises(ValueError, match="features"):
            getattr(model, name)([[0.0, 1.0]])
