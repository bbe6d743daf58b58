"""LightGBM held to the lightgbm library, to brute force, enumeration and paper."""

import itertools
import warnings
from pathlib import Path

import lightgbm as library
import numpy as np
import pytest

from mlbook.ensembles.criteria import Newton
from mlbook.ensembles.histogram import BinnedColumns, HistogramSplits, bin_edges
from mlbook.ensembles.lightgbm import (
    BundledColumns,
    BundledSplits,
    LGBMClassifier,
    LGBMRegressor,
    LeafWiseSplits,
    bundle_features,
    goss,
    logistic_slopes,
    softmax,
    softmax_slopes,
)
from mlbook.ensembles.tree import grow
from tests.ensembles.pages import library_numbers

ROUNDS = 20
OBJECTIVES = ["regression", "binary", "multiclass"]


# Data


def problem(objective, seed=0, n=1500, one_hot=False):
    """Features that have a bin for each value, and a target."""
    rng = np.random.default_rng(seed)
    X = np.round(8 * rng.normal(size=(n, 5))) / 4 + 0.125
    score = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    if one_hot:  # two groups of indicators, the first with values of its own
        kind, day = rng.integers(0, 9, n), rng.integers(0, 5, n)
        amounts = np.eye(9)[kind] * rng.integers(-3, 4, (n, 1))
        score += rng.normal(size=9)[kind] * amounts.sum(axis=1) + (day == 2)
        X = np.column_stack([amounts, X[:, :2], np.eye(5)[day]])
    if objective == "binary":
        return X, (score > 0).astype(int)
    if objective == "multiclass":
        return X, np.digitize(score, [-1, 1])
    return X, score.astype(np.float32).astype(float)


def train(objective, X, y, weight=None, rounds=ROUNDS, **given):
    """The library's model, one thread, a bin for every value."""
    parameters = {
        "objective": objective, "num_class": 3 if objective == "multiclass" else 1,
        "num_threads": 1, "verbose": -1, "force_col_wise": True, "min_data_in_bin": 1,
        "feature_pre_filter": False, "deterministic": True, **given,
    }
    return library.train(parameters, library.Dataset(X, y, weight=weight), rounds)


def estimator(objective, rounds=ROUNDS, **given):
    cls = LGBMRegressor if objective == "regression" else LGBMClassifier
    return cls(n_estimators=rounds, **given)


def scores(model, X):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(X)


# The library's trees


def assert_same_margins(objective, ours, theirs, X):
    """To rounding; but the library keeps regression targets in float32."""
    np.testing.assert_allclose(
        scores(ours, X), theirs.predict(X, raw_score=True), rtol=0,
        atol=1e-6 if objective == "regression" else 1e-12,
    )


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    "rounds, theirs, ours",
    [
        (60, {"min_data_in_leaf": 20}, {"min_child_samples": 20}),
        (20, {"min_data_in_leaf": 1}, {"min_child_samples": 1}),
        (20, {"num_leaves": 6, "max_depth": 3, "learning_rate": 0.3,
          "min_sum_hessian_in_leaf": 8.0},
         {"num_leaves": 6, "max_depth": 3, "learning_rate": 0.3,
          "min_child_weight": 8.0}),
    ],
    ids=["20 rows", "1 row", "other limits"],
)
def test_the_margins_are_the_librarys(objective, rounds, theirs, ours):
    X, y = problem(objective)
    model = estimator(objective, rounds, **ours).fit(X, y)
    theirs = train(objective, X, y, rounds=rounds, **theirs)
    assert_same_margins(objective, model, theirs, X)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_of_equal_cuts_the_last_is_taken(objective):
    """Cuts with no row of a node between them are equal for it, not for new rows."""
    X, y = problem(objective)
    model = estimator(objective, 10, num_leaves=6).fit(X, y)
    theirs = train(objective, X, y, rounds=10, num_leaves=6)
    new = np.random.default_rng(1).permuted(X, axis=0)
    assert_same_margins(objective, model, theirs, new)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_weighted_margins_are_the_librarys(objective):
    X, y = problem(objective)
    rng = np.random.default_rng(9)
    weight = rng.uniform(0.5, 2, len(y)).astype(np.float32)
    ours, theirs = {}, {}
    if objective == "multiclass":  # the priors, too, must be the weighted ones
        weight = rng.integers(1, 5, len(y)).astype(float) + 3 * (y == 1)
        ours, theirs = {"min_child_samples": 1}, {"min_data_in_leaf": 1}
    model = estimator(objective, **ours).fit(X, y, weight)
    theirs = train(objective, X, y, weight, **theirs)
    assert_same_margins(objective, model, theirs, X)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("least", [5.0, 50.0])
def test_a_least_gain_is_the_librarys(objective, least):
    """With one feature, where no other can be left out below a node.

    At 50 some rounds split nothing: such a tree adds 0, not the value of its root.
    """
    X, y = problem(objective)
    X = X[:, :1]
    model = estimator(objective, min_split_gain=least).fit(X, y)
    theirs = train(objective, X, y, min_gain_to_split=least)
    assert_same_margins(objective, model, theirs, X)
    trees = [tree for tree, _ in itertools.chain(*model.trees_)]
    assert min(tree.gain[~tree.is_leaf].min(initial=np.inf) for tree in trees) > least
    if least == 50 and objective != "regression":
        assert min(tree.node_count for tree in trees) == 1


def test_where_the_first_tree_is_not_the_librarys():
    """What the page and the module say: a least gain, and gains that are rounding."""
    X, y = problem("regression", n=800)
    ours = estimator("regression", 1, min_split_gain=5.0).fit(X, y)
    theirs = train("regression", X, y, None, 1, min_gain_to_split=5.0)
    assert np.abs(scores(ours, X) - theirs.predict(X)).max() > 0.1
    X, y = problem("binary", n=800)
    weight = np.random.default_rng(9).uniform(0.5, 2, len(y)).astype(np.float32)
    ours = estimator("binary", 1).fit(X, y, weight)
    theirs = train("binary", X, y, weight, 1)
    gap = np.abs(scores(ours, X) - theirs.predict(X, raw_score=True)).max()
    assert 1e-12 < gap < 1e-8


def test_with_small_leaves_the_library_leaves_out_features_too():
    """No penalty and no least gain: a cut that gains 0, or is forbidden, is enough."""
    X, y = problem("binary", 10, n=500)
    ours = estimator("binary", 1, min_child_samples=1, num_leaves=60).fit(X, y)
    theirs = train("binary", X, y, None, 1, min_data_in_leaf=1, num_leaves=60)
    gap = np.abs(scores(ours, X) - theirs.predict(X, raw_score=True)).max()
    assert gap == pytest.approx(0.34, abs=0.01)


def test_beside_zero_the_library_cuts_at_zero():
    """What the page and the module say: equal on the rows of the fit, not between."""
    X = np.tile([0.0, 1, 2, 3], 30)[:, np.newaxis]
    y = np.tile([0.0, 5, 5, 9], 30)
    for shift, equal in [(0, False), (4, True)]:
        ours = estimator("regression", 5, min_child_samples=1).fit(X + shift, y)
        theirs = train("regression", X + shift, y, None, 5, min_data_in_leaf=1)
        assert_same_margins("regression", ours, theirs, X + shift)
        gap = scores(ours, [[shift + 0.3]]) - theirs.predict([[shift + 0.3]])
        assert (np.abs(gap) < 1e-6) == equal


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_bundled_features_give_the_librarys_margins(objective):
    X, y = problem(objective, one_hot=True)
    model = estimator(objective, min_child_samples=1).fit(X, y)
    assert len(model.bundles_) == 4
    theirs = train(objective, X, y, min_data_in_leaf=1)
    assert_same_margins(objective, model, theirs, X)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_with_a_penalty_the_first_split_is_the_librarys(objective):
    """Below the root the library leaves out features that gained nothing there."""
    X, y = problem(objective)
    model = estimator(objective, 1, num_leaves=2, reg_lambda=3.0).fit(X, y)
    theirs = train(objective, X, y, None, 1, num_leaves=2, lambda_l2=3.0)
    assert_same_margins(objective, model, theirs, X)


@pytest.mark.parametrize("objective", ["regression", "binary"])
def test_with_missing_values_the_first_tree_is_the_librarys(objective):
    X, y = problem(objective)
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    model = estimator(objective, 1).fit(X, y)
    assert_same_margins(objective, model, train(objective, X, y, None, 1), X)


# What the page prints of the library

PAGE = Path(__file__).parents[2] / "chapters" / "ensembles" / "lightgbm.ipynb"
PAGE_GAINS = [394.7, 212.9, 58.6, 47.4, 18.1]
PAGE_MINUTES = [86.2718, 42.2831, 62.1409, 29.7476]
PAGE_MINUTES_3 = [86.6402, 42.9617, 62.8145, 29.9087]
PAGE_LEAVES = {"reg_lambda": 7, "min_split_gain": 21}


def page_parcels(n, seed):
    """The deliveries of the page."""
    rng = np.random.default_rng(seed)
    km = np.ceil(2 * rng.gamma(2.5, 6, n)) / 2
    kg = np.ceil(2 * rng.exponential(4, n)) / 2
    depot, day = rng.integers(12, size=n), rng.integers(7, size=n)
    over_pass = (depot == 7) & (km > 15)
    minutes = (12 + 1.8 * km + 0.3 * kg + 4 * (depot % 4) + 8 * (day == 0)
               + over_pass * (30 + (km - 15) ** 2 / 5))
    X = np.column_stack([km, kg, np.eye(12)[depot], np.eye(7)[day]])
    return X, np.round(minutes + rng.normal(0, 5, n))


def test_the_pages_stored_rows_are_the_librarys():
    """The page cannot import the library: it shows these numbers, and no others."""
    assert library_numbers(PAGE) == {
        "LIBRARY_GAINS": PAGE_GAINS, "LIBRARY_MINUTES": PAGE_MINUTES,
        "LIBRARY_MINUTES_3_TO_A_BIN": PAGE_MINUTES_3, "LIBRARY_LEAVES": PAGE_LEAVES,
    }
    X, y = page_parcels(1500, 0)
    new, _ = page_parcels(3000, 1)
    first = train("regression", X, y, None, 1, num_leaves=6).trees_to_dataframe()
    gains = np.sort(first.split_gain.dropna())[::-1]
    np.testing.assert_allclose(gains / 1000, PAGE_GAINS, rtol=0, atol=0.051)
    for given, minutes in [({}, PAGE_MINUTES),
                           ({"min_data_in_bin": 3}, PAGE_MINUTES_3)]:
        theirs = train("regression", X, y, None, 100, **given)
        np.testing.assert_allclose(theirs.predict(new[:4]), minutes, rtol=0, atol=6e-5)
    for given, leaves in [({"lambda_l2": 100.0}, "reg_lambda"),
                          ({"min_gain_to_split": 1e3}, "min_split_gain")]:
        (tree,) = train("regression", X, y, None, 1, **given).dump_model()["tree_info"]
        assert tree["num_leaves"] == PAGE_LEAVES[leaves]
    model = LGBMRegressor().fit(X, y)
    assert_same_margins("regression", model, train("regression", X, y, None, 100), new)


def held_out_loss(objective, model, X, y):
    """The loss on new rows of our model, or of the library's."""
    ours = not isinstance(model, library.Booster)
    if objective == "regression":
        return np.mean((model.predict(X) - y) ** 2)
    p = model.predict_proba(X)[:, 1] if ours else model.predict(X)
    return -np.log(np.where(y == 1, p, 1 - p)).mean()


@pytest.mark.parametrize("objective", ["regression", "binary"])
@pytest.mark.parametrize("kind", ["penalty", "missing", "goss"])
def test_the_loss_on_new_rows_is_the_librarys(objective, kind):
    """Where single trees differ, the models are equally good."""
    X, y = problem(objective, n=4000)
    if kind == "missing":
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    given = {
        "penalty": ({"reg_lambda": 5.0}, {"lambda_l2": 5.0}),
        "missing": ({}, {}),
        "goss": ({"data_sample_strategy": "goss", "random_state": 0},
                 {"data_sample_strategy": "goss", "top_rate": 0.2, "other_rate": 0.1}),
    }[kind]
    new, X, y_new, y = X[2000:], X[:2000], y[2000:], y[:2000]
    model = estimator(objective, 60, **given[0]).fit(X, y)
    theirs = train(objective, X, y, rounds=60, **given[1])
    assert held_out_loss(objective, model, new, y_new) == pytest.approx(
        held_out_loss(objective, theirs, new, y_new), rel=0.12
    )


# Slopes


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_slopes_are_the_derivatives(n_classes):
    rng = np.random.default_rng(n_classes)
    k = 1 if n_classes == 2 else n_classes
    F, step = rng.normal(size=(20, k)), 1e-5
    label = rng.integers(0, n_classes, 20)

    def loss(F):
        if k == 1:
            return np.logaddexp(0, F[:, 0]) - label * F[:, 0]
        return np.log(np.exp(F).sum(axis=1)) - F[np.arange(20), label]

    target = label[:, np.newaxis] if k == 1 else np.eye(k)[label]
    g, h = (logistic_slopes if k == 1 else softmax_slopes)(F, target.astype(float))
    for c in range(k):
        e = step * np.eye(k)[c]
        up, down = loss(F + e), loss(F - e)
        np.testing.assert_allclose(g[:, c], (up - down) / (2 * step), atol=1e-8)
        bend = (up - 2 * loss(F) + down) / step**2
        factor = 1 if k == 1 else n_classes / (n_classes - 1)
        np.testing.assert_allclose(h[:, c], factor * bend, atol=1e-4)


def test_slopes_do_not_cancel_where_a_class_is_certain():
    """Exchanged labels and scores of the other sign give the mirror image."""
    F, one = np.array([[40.0], [-40.0], [3.0]]), np.ones((3, 1))
    g, h = logistic_slopes(F, one)
    mirrored, same = logistic_slopes(-F, 0 * one)
    np.testing.assert_array_equal(g, -mirrored)
    np.testing.assert_array_equal(h, same)
    np.testing.assert_allclose(g[0], -np.exp(-40.0), rtol=1e-14)
    np.testing.assert_allclose(h[0], np.exp(-40.0), rtol=1e-14)
    p = LGBMClassifier._probabilities(F)
    np.testing.assert_array_equal(p, LGBMClassifier._probabilities(-F)[:, ::-1])
    np.testing.assert_allclose(p[0], [np.exp(-40.0), 1], rtol=1e-14)
    g, h = softmax_slopes([[40.0, 0, 0]], [[1.0, 0, 0]])
    np.testing.assert_allclose(g, np.exp(-40.0) * np.array([[-2, 1, 1]]), rtol=1e-14)
    np.testing.assert_allclose(h, np.exp(-40.0) * np.array([[3, 1.5, 1.5]]), rtol=1e-14)


def test_exchanged_labels_give_the_mirrored_model():
    X = np.arange(20.0)[:, np.newaxis]
    y = (X[:, 0] > 9).astype(int)
    one, other = (LGBMClassifier(n_estimators=60, learning_rate=1.0,
                                 min_child_samples=1, min_child_weight=0.0)
                  .fit(X, labels).decision_function(X) for labels in (y, 1 - y))
    assert one.max() > 40
    np.testing.assert_allclose(one, -other, rtol=1e-12)


def test_slopes_of_wrong_shapes_and_values_are_refused():
    for slopes in (logistic_slopes, softmax_slopes):
        with pytest.raises(ValueError, match="one shape"):
            slopes(np.zeros((3, 2)), np.zeros(3))
        with pytest.raises(ValueError, match="F contains infinity"):
            slopes([[np.inf, 0.0]], [[0.0, 1.0]])
        with pytest.raises(ValueError, match="target contains NaN"):
            slopes([[0.0, 0.0]], [[0.0, np.nan]])
    with pytest.raises(ValueError, match="K >= 2"):
        softmax_slopes([[1.0]], [[1.0]])
    with pytest.raises(ValueError, match="F contains"):
        softmax([np.inf, 0.0])
    for empty in ([], np.zeros((2, 0)), 3.0):
        with pytest.raises(ValueError, match="a score for each class"):
            softmax(empty)
    np.testing.assert_allclose(softmax([0, 1]), 1 / (1 + np.exp([1.0, -1.0])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(softmax([1e308, -1e308]), [1, 0])


# Growth


def brute_force(X, g, h, num_leaves, reg_lambda, least_rows):
    """Grow without histograms: return each row's leaf value and all gains."""

    def score(rows):
        return g[rows].sum() ** 2 / (h[rows].sum() + reg_lambda)

    def best_cut(rows):
        found = (0.0, None)
        for f in range(X.shape[1]):
            for t in np.unique(X[rows, f])[:-1]:
                left, right = rows[X[rows, f] <= t], rows[X[rows, f] > t]
                gain = score(left) + score(right) - score(rows)
                if min(len(left), len(right)) >= least_rows and gain > found[0]:
                    found = (gain, (left, right))
        return found

    leaves, gains = [np.arange(len(g))], []
    while len(leaves) < num_leaves:
        cuts = [best_cut(rows) for rows in leaves]
        chosen = int(np.argmax([gain for gain, _ in cuts]))
        gain, parts = cuts[chosen]
        if parts is None:
            break
        gains.append(gain)
        leaves[chosen : chosen + 1] = parts
    value = np.empty(len(g))
    for rows in leaves:
        value[rows] = -g[rows].sum() / (h[rows].sum() + reg_lambda)
    return value, gains


@pytest.mark.parametrize("splits", [LeafWiseSplits, BundledSplits])
@pytest.mark.parametrize("reg_lambda", [0.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_growth_is_that_of_brute_force(splits, reg_lambda, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, (90, 3)).astype(float)
    X = np.column_stack([X, np.eye(4)[rng.integers(0, 4, 90)]])
    g, h = rng.normal(size=90) ** 3, np.ones(90)
    kind = BundledColumns if splits is BundledSplits else BinnedColumns
    columns = kind(X, bin_edges(X))
    finder = splits(columns, np.stack([g, h]), Newton(reg_lambda), 3)
    tree, leaf = grow(finder, max_leaf_nodes=9, min_gain=0.0)
    value, gains = brute_force(X, g, h, 9, reg_lambda, 3)
    ours = Newton(reg_lambda).leaf_value(tree.sums)
    np.testing.assert_allclose(ours[leaf], value, atol=1e-12)
    np.testing.assert_allclose(tree.gain.sum(), sum(gains), atol=1e-9)
    # each split has the largest gain of those that were open when it was made
    made = np.sort(tree.left[tree.left >= 0])
    np.testing.assert_allclose(tree.gain[tree.parent[made]], gains, atol=1e-9)


@pytest.mark.parametrize("kind", ["plain", "bundled"])
@pytest.mark.parametrize("missing", [False, True])
def test_a_childs_histogram_is_that_of_its_rows(kind, missing):
    """One child's is counted, the other's is a difference: both must be its own."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(-5, 6, (200, 3)),
                         np.eye(6)[rng.integers(0, 6, 200)]]).astype(float)
    if missing:
        X[rng.random(X.shape) < 0.05] = np.nan
    stats = np.stack([rng.normal(size=200), rng.uniform(0.5, 1.5, 200)])
    make = BundledColumns if kind == "bundled" else BinnedColumns
    splits = BundledSplits if kind == "bundled" else LeafWiseSplits
    finder = splits(make(X, bin_edges(X)), stats, Newton(1.0), 1)
    root = finder.root()
    pair = finder.children(root, finder.best(root), np.array([True]))
    plain = HistogramSplits(BinnedColumns(X, bin_edges(X)), stats, Newton(1.0))
    seen = []
    for block, nodes in pair.below:
        for k, node in enumerate(nodes):
            rows = pair.rows[pair.node == node]
            direct = plain._histogram(rows, np.zeros(len(rows), dtype=np.intp), 1)
            np.testing.assert_allclose(block[..., k], direct[..., 0], atol=1e-12)
            seen.append(node)
    assert sorted(seen) == [0, 1]


def test_limits_of_a_tree():
    X, y = problem("regression")
    model = LGBMRegressor(5, 4, n_estimators=20, min_child_samples=30).fit(X, y)
    for ((tree, _),) in model.trees_:
        assert tree.is_leaf.sum() <= 5
        assert tree.depth.max() <= 4
        assert tree.count[tree.is_leaf].min() >= 30  # h = 1: the estimate is exact


def test_few_values_are_found_by_adding_up():
    """One leaf per group of equal rows: one round of rate 1 predicts the means."""
    X = np.repeat(np.arange(4.0), 3)[:, np.newaxis]
    y = np.array([1, 2, 3, 7, 7, 7, 0, 0, 6, 9, 9, 12.0])
    model = LGBMRegressor(n_estimators=1, learning_rate=1.0, min_child_samples=1)
    np.testing.assert_allclose(
        model.fit(X, y).predict(X), np.repeat([2.0, 7.0, 2.0, 10.0], 3), atol=1e-6
    )


# Sampling


def all_draws(slopes, top_rate, other_rate):
    """The weights (n,) of every possible draw, each equally likely."""
    n = len(slopes)
    order = np.argsort(-slopes, kind="stable")
    n_top, n_drawn = int(top_rate * n), int(other_rate * n)
    for drawn in itertools.combinations(order[n_top:], n_drawn):
        weight = np.zeros(n)
        weight[order[:n_top]] = 1
        weight[list(drawn)] = (n - n_top) / n_drawn
        yield weight


def test_weights_of_goss():
    slopes = np.random.default_rng(0).permutation(np.arange(100.0))
    rows, weight = goss(slopes, 0.2, 0.1, np.random.default_rng(1))
    top = slopes[rows] >= 80
    assert top.sum() == 20 and (~top).sum() == 10
    assert (weight[top] == 1).all() and (weight[~top] == 8).all()
    assert weight.sum() == 100
    assert (np.diff(rows) > 0).all()


def test_every_draw_of_goss_is_equally_likely():
    slopes = np.array([5.0, 1.0, 4.0, 3.0, 6.0, 2.0])
    possible = {tuple(w): 0 for w in all_draws(slopes, 1 / 3, 1 / 3)}
    assert len(possible) == 6
    rng = np.random.default_rng(0)
    for _ in range(3000):
        rows, weight = goss(slopes, 1 / 3, 1 / 3, rng)
        whole = np.zeros(6)
        whole[rows] = weight
        assert tuple(whole) in possible
        possible[tuple(whole)] += 1
    # 500 each, with a standard deviation of 20
    assert all(420 < count < 580 for count in possible.values())


@pytest.mark.parametrize("a, b", [(1 / 3, 1 / 3), (0.0, 0.5), (0.5, 0.2), (0.3, 0.25)])
def test_sampled_sums_have_the_right_expectation_and_variance(a, b):
    rng = np.random.default_rng(2)
    g = rng.normal(size=10)
    for v in (g, rng.uniform(size=10), g * (rng.random(10) < 0.6)):
        sums = [weight @ v for weight in all_draws(np.abs(g), a, b)]
        np.testing.assert_allclose(np.mean(sums), v.sum(), atol=1e-12)
        others = np.sort(np.abs(g))[: 10 - int(a * 10)]
        rest = v[np.isin(np.abs(g), others)]
        m, s = len(rest), int(b * 10)
        spread = ((rest - rest.mean()) ** 2).sum()
        np.testing.assert_allclose(
            np.var(sums), m * (m - s) / (s * (m - 1)) * spread, atol=1e-12
        )


@pytest.mark.parametrize("n, a, b", [(1, 0.2, 0.1), (3, 0.2, 0.1), (7, 0.5, 0.5),
                                     (100, 0.0, 0.07), (50, 0.3, 0.7)])
def test_weights_always_add_up(n, a, b):
    rows, weight = goss(np.ones(n), a, b, np.random.default_rng(0))
    assert len(np.unique(rows)) == len(rows) >= 1
    assert weight.sum() == pytest.approx(n)


def test_sampling_scales_slopes_and_curvatures():
    """The root's curvature is the number of rows, its slope the weighted sum."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (100, 2)).astype(float)
    y = rng.permutation(100) / 4.0
    model = LGBMRegressor(n_estimators=1, learning_rate=1.5,  # no round without draws
                          data_sample_strategy="goss", random_state=8).fit(X, y)
    ((tree, _),) = model.trees_[0]
    g = y.mean() - y
    rows, weight = goss(np.abs(g), 0.2, 0.1, np.random.default_rng(8))
    assert tree.count[0] == 30
    np.testing.assert_allclose(tree.sums[:, 0], [weight @ g[rows], 100.0], rtol=1e-6)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("missing", [False, True])
def test_every_round_samples_at_the_scores_of_all_rows(objective, weighted, missing):
    """A row's size is the sum of |g h| over the classes, with its weight in both."""
    X, y = problem(objective, n=300)
    if missing:
        X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    weight = np.ones(300)
    if weighted:  # some rows are large by their weight alone
        weight = np.random.default_rng(4).choice([0.25, 1.0, 8.0], 300)
    model = estimator(objective, 3, learning_rate=1.5, random_state=8,
                      data_sample_strategy="goss").fit(X, y, weight)
    rng = np.random.default_rng(8)
    for round_, F in zip(model.trees_, model._staged_scores(X), strict=False):
        g, h = F - y[:, np.newaxis], np.ones((300, 1))
        if objective != "regression":
            p = 1 / (1 + np.exp(-F))
            target = y[:, np.newaxis]
            if objective == "multiclass":
                p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
                target = np.eye(3)[y]
            factor = 1 if objective == "binary" else 3 / 2
            g, h = p - target, factor * p * (1 - p)
        g, h = g * weight[:, np.newaxis], h * weight[:, np.newaxis]
        rows, factor = goss(np.abs(g * h).sum(axis=1), 0.2, 0.1, rng)
        for k, (tree, _) in enumerate(round_):  # every class has the same rows
            expected = [factor @ g[rows, k], factor @ h[rows, k]]
            np.testing.assert_allclose(
                tree.sums[:, 0], expected, rtol=1e-5, atol=1e-5
            )
    assert len(model.trees_) == 3


def test_the_first_rounds_see_every_row():
    X, y = problem("regression", n=700)
    plain = LGBMRegressor(n_estimators=8, learning_rate=0.2).fit(X, y)
    some = LGBMRegressor(n_estimators=8, learning_rate=0.2, random_state=0,
                         data_sample_strategy="goss").fit(X, y)
    counts = [round_[0][0].count[0] for round_ in some.trees_]
    assert counts == [700] * 5 + [210] * 3
    for t, (a, b) in enumerate(zip(plain.staged_predict(X), some.staged_predict(X),
                                   strict=True)):
        assert np.array_equal(a, b) == (t <= 5)


@pytest.mark.parametrize(
    "size, a, b, message",
    [
        ([1, np.nan, 2, 3], 0.25, 0.25, "size contains NaN"),
        ([1, -1, 2, 3], 0.25, 0.25, "pass |g|"),
        ([], 0.25, 0.25, "n >= 1"),
        ([[1, 2]], 0.25, 0.25, "n >= 1"),
        ([1, 2, 3, 4], 0.25, 0.0, "other_rate"),
        ([1, 2, 3, 4], 1.0, 0.25, "top_rate"),
        ([1, 2, 3, 4], 0.7, 0.4, r"top_rate \+ other_rate"),
    ],
)
def test_goss_checks_what_it_is_given(size, a, b, message):
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        goss(size, a, b, np.random.default_rng(0))


def test_goss_of_whole_numbers_keeps_the_largest():
    """Unsigned numbers have no negatives to sort by."""
    rows, weight = goss(np.uint8([0, 5, 3, 1]), 0.25, 0.25, np.random.default_rng(0))
    assert weight[rows == 1] == 1 and weight.sum() == 4


def test_a_tiny_learning_rate_never_samples():
    X, y = problem("regression", n=60)
    model = LGBMRegressor(n_estimators=2, learning_rate=1e-320,
                          data_sample_strategy="goss").fit(X, y)
    assert [tree.count[0] for ((tree, _),) in model.trees_] == [60, 60]


# Bundles


def test_exclusive_features_share_a_bundle():
    nonzero = np.eye(5, dtype=bool)[np.array([0, 1, 1, 2, 3, 4, 4, 4])]
    assert sorted(bundle_features(nonzero)[0]) == [0, 1, 2, 3, 4]
    assert bundle_features(nonzero)[0][0] == 4  # the fullest first


def test_the_budget_is_one_for_the_bundle():
    """Three features that meet in pairs, each once: a budget of 1 holds one pair."""
    nonzero = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)
    assert bundle_features(nonzero, 0) == [[0], [1], [2]]
    assert bundle_features(nonzero, 1) == [[0, 1], [2]]
    assert bundle_features(nonzero, 2) == [[0, 1], [2]]  # the third meets both: 1 + 2
    assert bundle_features(nonzero, 3) == [[0, 1, 2]]


def test_conflicts_of_a_bundle_accumulate():
    """Neighbours in a chain meet once: all four together have three conflicts."""
    nonzero = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]], dtype=bool)
    assert bundle_features(nonzero, 1) == [[1, 2], [0, 3]]
    assert bundle_features(nonzero, 2) == [[1, 2, 0], [3]]
    assert bundle_features(nonzero, 3) == [[1, 2, 0, 3]]


def test_bundles_of_counts_are_those_of_used_or_not():
    counts = np.array([[1, 2], [0, 1]])  # 1 & 2 is 0, but both are used
    assert bundle_features(counts) == bundle_features(counts > 0) == [[1], [0]]
    with pytest.raises(ValueError, match="max_conflicts"):
        bundle_features(counts, -1)


def test_the_budget_is_rounded_down():
    """5% of 41 rows are 2.05: two conflicts are allowed, three are not."""
    for meet, bundles in [(2, [[0, 1]]), (3, [[0], [1]])]:
        X = np.zeros((41, 2))
        X[:10, 0], X[10 - meet : 20 - meet, 1] = 1.0, 1.0
        columns = BundledColumns(X, bin_edges(X), max_conflict_rate=0.05)
        assert columns.bundles == bundles


@pytest.mark.parametrize("budget", [0, 1, 4, 20])
@pytest.mark.parametrize("seed", range(3))
def test_no_bundle_exceeds_its_budget_and_no_feature_is_lost(budget, seed):
    nonzero = np.random.default_rng(seed).random((60, 12)) < 0.08
    bundles = bundle_features(nonzero, budget)
    assert sorted(f for bundle in bundles for f in bundle) == list(range(12))
    for bundle in bundles:
        lost = nonzero[:, bundle].sum() - nonzero[:, bundle].any(axis=1).sum()
        assert lost <= budget


@pytest.mark.parametrize("missing", [False, True])
def test_a_bundles_code_can_be_undone(missing):
    X, _ = problem("regression", one_hot=True)
    if missing:
        X[5, 0], X[7, 12] = np.nan, np.nan
    columns = BundledColumns(X, bin_edges(X), max_conflict_rate=0.0)
    assert len(columns.bundles) < X.shape[1]
    for f in range(X.shape[1]):
        code = columns.bundle_code[columns.bundle_of[f]]
        undone = np.full(len(X), columns.default[f])
        for k, place in enumerate(columns.place[:, f]):
            if place:
                undone[code == place] = k
        np.testing.assert_array_equal(undone, columns.code[f])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("missing", [False, True])
def test_bundling_changes_no_tree(objective, missing):
    X, y = problem(objective, one_hot=True)
    if missing:  # where a value was not 0: the features still exclude each other
        gone = (X != 0) & (np.random.default_rng(0).random(X.shape) < 0.05)
        X[gone] = np.nan
    one, other = (estimator(objective, 10, enable_bundle=on).fit(X, y)
                  for on in (True, False))
    assert len(one.bundles_) < len(other.bundles_) == X.shape[1]
    for a, b in zip(itertools.chain(*one.trees_), itertools.chain(*other.trees_),
                    strict=True):
        np.testing.assert_array_equal(a[0].feature, b[0].feature)
        np.testing.assert_array_equal(a[0].threshold, b[0].threshold)
        np.testing.assert_array_equal(a[0].missing_left, b[0].missing_left)
        np.testing.assert_allclose(a[1], b[1], atol=1e-9)


def test_a_conflict_spoils_only_the_histogram():
    """The row is still sent where its values say, and its leaf counts it."""
    X = np.zeros((40, 2))
    X[:20, 0], X[19:39, 1] = 1.0, 1.0  # row 19 has both
    y = np.where(X[:, 0] == 1, 4.0, 0.0)
    model = LGBMRegressor(n_estimators=1, learning_rate=1.0, min_child_samples=1,
                          max_conflict_rate=0.05).fit(X, y)
    assert model.bundles_ == [[0, 1]]
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


def test_a_conflict_keeps_the_last_feature_of_the_bundle():
    X = np.zeros((40, 2))
    X[:20, 0], X[19:38, 1] = 1.0, 1.0  # row 19 has both; the first is the fuller one
    columns = BundledColumns(X, bin_edges(X), max_conflict_rate=0.05)
    assert columns.bundles == [[0, 1]] and columns.conflicts == 1
    first, last = (columns.place[columns.code[f, 19], f] for f in (0, 1))
    assert columns.bundle_code[0, 19] == last != first
    assert columns.bundle_code[0, 18] == first


@pytest.mark.parametrize("rate, meet", [(0.0, 40), (0.04, 40), (0.1, 100), (0.5, 500)])
def test_conflicts_make_no_empty_children(rate, meet):
    """In the histogram of the first feature all its zeros look like rows of y = 10."""
    first, last = np.ones(1000), np.zeros(1000)
    last[:meet], first[: meet // 2] = 1.0, 0.0
    X, y = np.column_stack([first, last]), 10 * last
    model = LGBMRegressor(n_estimators=50, min_child_samples=5,
                          max_conflict_rate=rate).fit(X, y)
    assert (len(model.bundles_) == 1) == (rate > 0)
    np.testing.assert_allclose(model.predict(X), y, atol=0.1)
    assert min(tree.count.min() for ((tree, _),) in model.trees_) >= 5


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("strategy", ["bagging", "goss"])
@pytest.mark.parametrize("missing", [False, True])
def test_with_conflicts_a_split_gains_what_its_rows_say(objective, strategy, missing):
    """And a child has the least rows, counted, and the least H, added up."""
    X, y = problem(objective, one_hot=True, n=600)
    if missing:
        X[np.random.default_rng(3).random(X.shape) < 0.03] = np.nan
    model = estimator(
        objective, 6, max_conflict_rate=0.4, min_child_samples=7,
        min_child_weight=2.0, data_sample_strategy=strategy, learning_rate=0.3,
        random_state=0).fit(X, y)
    assert BundledColumns(X, bin_edges(X), 0.4).conflicts > 100
    for tree, _ in itertools.chain(*model.trees_):
        assert tree.count.min() >= 7 and tree.sums[1].min() >= 2.0 - 1e-9
        worth = tree.sums[0] ** 2 / tree.sums[1]
        inner = np.flatnonzero(~tree.is_leaf)
        gain = worth[tree.left[inner]] + worth[tree.right[inner]] - worth[inner]
        np.testing.assert_allclose(tree.gain[inner], gain, rtol=1e-6)
        assert (gain > 0).all()


def test_a_proposal_that_the_rows_refuse_leaves_the_features_as_they_were():
    X = np.column_stack([np.ones(40), np.zeros(40)])
    X[:20, 1], X[:10, 0] = 1.0, 0.0
    columns = BundledColumns(X, bin_edges(X), max_conflict_rate=0.5)
    stats = np.stack([np.where(X[:, 1] == 1, -1.0, 1.0), np.ones(40)])
    for allowed, found in [(None, 1), ([True, True], 1), ([False, True], 1),
                           ([True, False], None)]:
        allowed = None if allowed is None else np.array(allowed)
        finder = BundledSplits(columns, stats, Newton(0.0), 11, features=allowed)
        split = finder.best(finder.root())
        assert finder.features is allowed
        if found is None:
            assert split.gain[0] == -np.inf
        else:
            assert split.feature[0] == found and split.gain[0] == pytest.approx(40)


def test_a_cut_that_gains_nothing_on_its_rows_is_refused():
    """Half of either side are +1: the histogram misses ten rows of -1 on the right."""
    first, last = np.repeat([0.0, 1.0], 20), np.tile([0.0, 1.0], 20)
    X = np.column_stack([first, last])
    columns = BundledColumns(X, bin_edges(X), max_conflict_rate=0.5)
    assert columns.bundles == [[0, 1]] and columns.conflicts == 10
    stats = np.stack([np.where(last == 1, -1.0, 1.0), np.ones(40)])
    finder = BundledSplits(columns, stats, Newton(0.0), 1,
                           features=np.array([True, False]))
    assert LeafWiseSplits.best(finder, finder.root()).gain[0] > 10
    assert finder.best(finder.root()).gain[0] == -np.inf


def test_a_value_missing_in_new_rows_only_goes_right():
    """What the page says; the library reads it as 0."""
    X = np.arange(-50.0, 50.0)[:, np.newaxis]
    y = (X[:, 0] > 5).astype(float)
    ours = LGBMRegressor(n_estimators=3).fit(X, y)
    theirs = train("regression", X, y, None, 3)
    seen, new = [[0.0], [49.0]], [[np.nan]]
    assert ours.predict(new) == ours.predict(seen)[1] != ours.predict(seen)[0]
    assert theirs.predict(new) == theirs.predict(seen)[0] != theirs.predict(seen)[1]


def test_goss_without_top_rows_is_refused_by_the_library():
    X, y = problem("regression", n=60)
    with pytest.raises(library.basic.LightGBMError, match="top_rate > 0"):
        train("regression", X, y, None, 2, data_sample_strategy="goss", top_rate=0.0,
              learning_rate=1.0)


# Invariants


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_features_count_by_their_order_only(objective):
    X, y = problem(objective, n=300)
    stretched = X**3 + 1e6 * X  # order and distinct values stay
    a, b = (estimator(objective, 10).fit(Z, y) for Z in (X, stretched))
    np.testing.assert_allclose(scores(a, X), scores(b, stretched), atol=1e-12)


def test_regression_follows_the_units_of_the_target():
    X, y = problem("regression", n=300)
    base = LGBMRegressor(n_estimators=10).fit(X, y).predict(X)
    for scale in (2.0**-40, 2.0**40):
        model = LGBMRegressor(n_estimators=10).fit(X, scale * y)
        np.testing.assert_allclose(model.predict(X), scale * base, rtol=1e-6)
    moved = LGBMRegressor(n_estimators=10).fit(X, y + 2.0**20)
    np.testing.assert_allclose(moved.predict(X) - 2.0**20, base, atol=1e-5)


def test_stages_lead_to_the_prediction():
    X, y = problem("multiclass", n=200)
    model = LGBMClassifier(n_estimators=3).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == model.n_iter_ + 1 == 4
    np.testing.assert_allclose(stages[0], np.tile(np.bincount(y) / 200, (200, 1)))
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))


def test_a_seed_repeats_the_draws():
    X, y = problem("regression", n=300)
    a, b, c = (LGBMRegressor(n_estimators=15, data_sample_strategy="goss",
                             random_state=seed).fit(X, y).predict(X)
               for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


# Hard inputs


HARD = {
    "one row": (np.zeros((1, 2)), np.array([3.0])),
    "constant features": (np.ones((30, 2)), np.arange(30.0)),
    "constant target": (np.arange(60.0).reshape(30, 2), np.full(30, 7.0)),
    "all missing": (np.full((30, 2), np.nan), np.arange(30.0)),
    "adjacent floats": (np.nextafter(1.0, [[0.0], [2.0]] * 20), np.arange(40.0) % 2),
    "huge features": (np.array([[1.7e308], [1.6e308]] * 20), np.arange(40.0) % 2),
    "tiny target": (np.arange(40.0)[:, np.newaxis], 1e-300 * np.arange(40.0)),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("strategy", ["bagging", "goss"])
def test_hard_inputs(name, strategy):
    X, y = HARD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LGBMRegressor(n_estimators=12, learning_rate=1.0, min_child_samples=1,
                              data_sample_strategy=strategy, random_state=0).fit(X, y)
        found = model.predict(X)
    assert np.isfinite(found).all()
    if name in ("constant features", "all missing") and strategy == "bagging":
        np.testing.assert_allclose(found, y.mean())
    if name in ("adjacent floats", "huge features"):
        np.testing.assert_allclose(found, y, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_too_small_for_float32_leave_no_curvature(n_classes):
    """H = 0 at the root: nothing is split, and nothing is divided by it."""
    X = np.repeat(np.arange(float(n_classes)), 3)[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LGBMClassifier(n_estimators=2, min_child_samples=1)
        p = model.fit(X, X[:, 0], np.full(len(X), 1e-300)).predict_proba(X)
    np.testing.assert_allclose(p, 1 / n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_certain_probabilities_leave_no_curvature(n_classes):
    """Rounds go on when every h is 0 in float32, and nothing divides by it."""
    X = np.repeat(np.arange(float(n_classes)), 3)[:, np.newaxis]
    y = X[:, 0].astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LGBMClassifier(n_estimators=150, learning_rate=1.0,
                               min_child_weight=0.0, min_child_samples=1)
        p = model.fit(X, y).predict_proba(X)
    assert (p[np.arange(len(y)), y] > 0.999).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_slopes_beyond_float32_are_refused():
    X = np.arange(30.0)[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (1e39 * np.arange(30.0), np.linspace(1, 1.7e308, 30),
                  np.full(30, -1e60)):
            with pytest.raises(ValueError, match="y exceeds 3.4e38"):
                LGBMRegressor(n_estimators=2).fit(X, y)
    with pytest.raises(ValueError, match="scale y, or lower the learning rate"):
        LGBMRegressor(n_estimators=99, learning_rate=20.0, min_child_samples=1).fit(
            X, np.arange(30.0)
        )


@pytest.mark.parametrize("cls", [LGBMRegressor, LGBMClassifier])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_scores_beyond_float32_are_refused_after_the_last_round_too(cls, n_labels):
    X = np.arange(30.0)[:, np.newaxis]
    advice = "scale y" if cls is LGBMRegressor else "lower the learning rate, or raise"
    for rate in (1e300, 1e308):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match=f"a score exceeds 3.4e38: {advice}"):
                cls(n_estimators=1, learning_rate=rate, min_child_samples=1).fit(
                    X, np.arange(30) * n_labels // 30
                )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_extreme_weights_leave_finite_scores_or_are_refused(n_classes):
    X = np.arange(30.0)[:, np.newaxis]
    y = np.arange(30) * n_classes // 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LGBMClassifier(n_estimators=2)
        model.fit(X, y, np.where(y == 1, 1e-300, 1e30))
        assert np.isfinite(model.decision_function(X)).all()
        assert model.start_[min(1, n_classes - 2)] < -750  # log(1e-330) is -760
        for large in (1e39, 1e308):
            for given in (np.full(30, large), np.where(y == 1, large, 1.0)):
                for refused in (model, LGBMRegressor(n_estimators=2)):
                    with pytest.raises(ValueError, match="sample_weight exceeds"):
                        refused.fit(X, y, given)


def test_new_data_are_checked_before_the_first_stage():
    X, y = problem("binary", n=60)
    for stages in (LGBMRegressor(n_estimators=1).fit(X, y).staged_predict,
                   LGBMClassifier(n_estimators=1).fit(X, y).staged_predict_proba):
        with pytest.raises(ValueError, match="2 features"):
            stages(np.zeros((3, 2)))


def test_missing_values_go_where_they_gain_most():
    X = np.array([[0.0], [1.0], [np.nan]] * 20)
    for low, high, gap in [(0.0, 5.0, 5.0), (0.0, 5.0, 0.0), (0.0, 0.0, 5.0)]:
        y = np.tile([low, high, gap], 20)
        model = LGBMRegressor(n_estimators=1, learning_rate=1.0, num_leaves=2)
        np.testing.assert_allclose(model.fit(X, y).predict(X), y, atol=1e-6)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"num_leaves": 1}, "num_leaves"),
        ({"max_depth": -2}, "max_depth"),
        ({"max_depth": 0}, "-1 for no limit"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"n_estimators": 0}, "n_estimators"),
        ({"min_child_samples": 0}, "min_child_samples"),
        ({"min_child_weight": -1.0}, "min_child_weight"),
        ({"min_split_gain": -1.0}, "min_split_gain"),
        ({"reg_lambda": -1.0}, "reg_lambda"),
        ({"max_bin": 1}, "max_bin"),
        ({"data_sample_strategy": "all"}, "data_sample_strategy"),
        ({"top_rate": 1.0}, "top_rate"),
        ({"other_rate": 0.0}, "other_rate"),
        ({"top_rate": 0.7, "other_rate": 0.4}, r"top_rate \+ other_rate"),
        ({"max_conflict_rate": 1.0}, "max_conflict_rate"),
    ],
)
@pytest.mark.parametrize("cls", [LGBMRegressor, LGBMClassifier])
def test_parameters_are_checked(cls, given, message):
    with pytest.raises(ValueError, match=message):
        cls(**given).fit(np.zeros((4, 1)), [0, 1, 0, 1])


@pytest.mark.parametrize("value", ["no", None, 3.5, np.array([True, False])])
def test_bundling_is_true_or_false(value):
    with pytest.raises(TypeError, match="enable_bundle must be True or False"):
        LGBMRegressor(enable_bundle=value).fit(np.zeros((4, 1)), [0, 1, 0, 1])


def test_one_class_is_refused():
    for label, shown in [(1, "1"), ("late", "'late'")]:
        with pytest.raises(ValueError, match=f"1 class, {shown}: boosting"):
            LGBMClassifier().fit(np.zeros((3, 1)), [label] * 3)


def test_more_rows_to_a_leaf_than_there_are_leave_the_mean():
    X = np.arange(30.0)[:, np.newaxis]
    for least in (31, 10**400):
        model = LGBMRegressor(n_estimators=1, min_child_samples=least)
        np.testing.assert_allclose(model.fit(X, X[:, 0]).predict(X), 14.5)


@pytest.mark.parametrize("rate", [1.0, 2.0, -0.1, np.nan])
def test_a_bundles_budget_is_a_share(rate):
    X = np.eye(3)
    with pytest.raises(ValueError, match="max_conflict_rate"):
        BundledColumns(X, bin_edges(X), rate)


def test_goss_takes_a_seed():
    size = np.arange(50.0)
    rows, weight = goss(size, 0.2, 0.1, 7)
    again, same = goss(size, 0.2, 0.1, np.random.default_rng(7))
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_array_equal(weight, same)
    assert len(goss(size, 0.2, 0.1, None)[0]) == 15
