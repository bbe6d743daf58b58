"""Trees held to scikit-learn, to brute force, and to rpart's rule for surrogates."""

import itertools

import numpy as np
import pytest
from sklearn import tree as sk
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from mlbook.ensembles.decision_tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    SurrogateTree,
    between_sum_of_squares,
    check_categories,
    condition,
    count_features,
    export_text,
    prediction_text,
    weakest_links,
)
from mlbook.ensembles.splits import cut_between


def features(n, d, seed=0):
    """Numbers that float32 holds exactly, since scikit-learn casts to it."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X.astype(np.float32).astype(float)


def classes(X, K, seed=1):
    noise = np.random.default_rng(seed).normal(size=len(X))
    score = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 0] + 0.3 * noise
    return np.searchsorted(np.quantile(score, np.arange(1, K) / K), score)


def response(X, seed=1):
    noise = np.random.default_rng(seed).normal(size=len(X))
    return 100 + X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 0] + 0.3 * noise


def weights(n):
    """Weights without structure: two splits then never gain exactly as much.

    Their sums are exact, or scikit-learn would find an impurity in pure nodes.
    """
    return np.random.default_rng(5).integers(512, 2048, size=n) / 1024


def in_step(ours, theirs):
    """The nodes of both trees, side by side from the root."""
    pairs = [(0, 0)]
    for here, there in pairs:
        assert (ours.left[here] < 0) == (theirs.children_left[there] < 0)
        if ours.left[here] >= 0:
            pairs.append((ours.left[here], theirs.children_left[there]))
            pairs.append((ours.right[here], theirs.children_right[there]))
    here, there = np.array(pairs).T
    assert len(here) == ours.node_count == theirs.node_count
    return here, there


def assert_same_tree(model, lib):
    ours, theirs = model.tree_, lib.tree_
    here, there = in_step(ours, theirs)
    inner = ours.feature[here] >= 0
    np.testing.assert_array_equal(
        ours.feature[here][inner], theirs.feature[there][inner])
    np.testing.assert_array_equal(
        ours.threshold[here][inner], theirs.threshold[there][inner])
    np.testing.assert_array_equal(ours.count[here], theirs.n_node_samples[there])
    np.testing.assert_allclose(
        model.impurity_[here], theirs.impurity[there], rtol=1e-9, atol=1e-12)
    if isinstance(model, DecisionTreeRegressor):
        np.testing.assert_allclose(
            model.value_[here], theirs.value[there][:, 0, 0], rtol=1e-12)
    else:
        share = ours.sums / ours.sums.sum(axis=0)
        np.testing.assert_allclose(
            share[:, here].T, theirs.value[there][:, 0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        model.feature_importances_, lib.feature_importances_, rtol=1e-9, atol=1e-12)


LIMITS = {
    "leaves of 8": {"min_samples_leaf": 8},
    "nodes of 60": {"min_samples_split": 60, "min_samples_leaf": 4},
    "depth 3": {"max_depth": 3, "min_samples_leaf": 5},
    "9 leaves": {"max_leaf_nodes": 9, "min_samples_leaf": 8},
    "a fall of 0.01": {"min_impurity_decrease": 0.01, "min_samples_leaf": 8},
    "pruned": {"ccp_alpha": 0.004, "min_samples_leaf": 8},
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_the_tree_is_scikit_learns(criterion, limit):
    X = features(500, 5)
    regression = criterion == "squared_error"
    y = response(X) if regression else classes(X, 3)
    options = {"criterion": criterion, **LIMITS[limit]}
    model = DecisionTreeRegressor if regression else DecisionTreeClassifier
    lib = sk.DecisionTreeRegressor if regression else sk.DecisionTreeClassifier
    w = weights(len(X))
    ours = model(**options).fit(X, y, w)
    assert_same_tree(ours, lib(random_state=0, **options).fit(X, y, w))
    assert ours.get_n_leaves() > 4
    fresh = features(300, 5, seed=9)
    theirs = lib(random_state=0, **options).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(fresh), theirs.predict(fresh), rtol=1e-12)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_two_classes_without_weights(criterion):
    X = features(1500, 4)
    y = classes(X, 2)
    options = {"criterion": criterion, "min_samples_leaf": 40}
    ours = DecisionTreeClassifier(**options).fit(X, y)
    lib = sk.DecisionTreeClassifier(random_state=0, **options).fit(X, y)
    assert_same_tree(ours, lib)
    assert ours.get_depth() == lib.get_depth()


def test_a_fully_grown_regression_tree_fits_as_scikit_learns():
    X = features(400, 4)
    y = response(X)
    ours = DecisionTreeRegressor().fit(X, y)
    lib = sk.DecisionTreeRegressor(random_state=0).fit(X, y)
    assert ours.get_n_leaves() == lib.get_n_leaves() == 400
    np.testing.assert_allclose(ours.predict(X), y, rtol=1e-14)


# Splits and impurities by brute force


def impurity(y, w, criterion):
    """By the definitions, for one node."""
    if criterion == "squared_error":
        return np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    p = np.array([w[y == k].sum() for k in np.unique(y)]) / w.sum()
    if criterion == "gini":
        return 1 - (p**2).sum()
    return -(p * np.log2(p)).sum()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("seed", range(5))
def test_the_first_split_is_the_best_of_all(criterion, seed):
    X = np.round(features(40, 3, seed), 1)
    regression = criterion == "squared_error"
    y = response(X) - 100 if regression else classes(X, 3)
    w = weights(40)
    best = max(
        impurity(y, w, criterion) - sum(
            w[side].sum() / w.sum() * impurity(y[side], w[side], criterion)
            for side in (X[:, f] <= t, X[:, f] > t))
        for f in range(3) for t in np.unique(X[:, f])[:-1]
    )
    model = DecisionTreeRegressor if regression else DecisionTreeClassifier
    stump = model(criterion=criterion, max_depth=1).fit(X, y, w)
    after = stump.tree_.sums
    mass = (after[0] if regression else after.sum(axis=0)) / w.sum()
    fall = stump.impurity_[0] - mass[1:] @ stump.impurity_[1:]
    assert fall == pytest.approx(best, abs=1e-12)
    assert stump.tree_.gain[0] / w.sum() == pytest.approx(best, abs=1e-12)
    assert stump.impurity_[0] == pytest.approx(impurity(y, w, criterion), abs=1e-12)


@pytest.mark.parametrize("K", [2, 3, 8])
def test_ranges_of_the_impurities(K):
    X = np.zeros((4 * K, 1))
    even = np.repeat(np.arange(K), 4)
    gini = DecisionTreeClassifier().fit(X, even).impurity_[0]
    entropy = DecisionTreeClassifier("entropy").fit(X, even).impurity_[0]
    assert gini == pytest.approx((K - 1) / K) and entropy == pytest.approx(np.log2(K))
    for criterion in ("gini", "entropy"):
        one = DecisionTreeClassifier(criterion).fit(X, np.zeros(4 * K))
        assert one.impurity_.tolist() == [0.0]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_leaves_count_inner_nodes_and_no_split_raises_the_impurity(criterion, missing):
    X = features(300, 4)
    y = response(X) if criterion == "squared_error" else classes(X, 4)
    if missing:
        X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    model = (DecisionTreeRegressor if criterion == "squared_error"
             else DecisionTreeClassifier)(criterion).fit(X, y)
    tree = model.tree_
    inner = ~tree.is_leaf
    assert tree.is_leaf.sum() == inner.sum() + 1
    total = model._node_weights(tree) * model.impurity_
    left, right = tree.left[inner], tree.right[inner]
    assert (total[left] + total[right] <= total[inner] + 1e-9).all()
    np.testing.assert_array_equal(tree.count[left] + tree.count[right],
                                  tree.count[inner])
    np.testing.assert_array_equal(
        np.bincount(model.apply(X), minlength=tree.node_count)[tree.is_leaf],
        tree.count[tree.is_leaf])


def test_node_variances_far_from_zero():
    """Differences of means: 2^30 costs the digits of a mean, not those of its square."""
    X = features(200, 3)
    y = np.round(64 * response(X)) / 64
    near = DecisionTreeRegressor(max_depth=4).fit(X, y)
    far = DecisionTreeRegressor(max_depth=4).fit(X, y + 2.0**30)
    np.testing.assert_array_equal(near.tree_.feature, far.tree_.feature)
    np.testing.assert_allclose(near.impurity_, far.impurity_, rtol=1e-6)


def test_the_fall_of_the_sum_of_squares():
    rng = np.random.default_rng(0)
    y, w = rng.normal(size=30), rng.uniform(0.1, 2, size=30)
    inside, a, b = (w[s].sum() * impurity(y[s], w[s], "squared_error")
                    for s in (slice(None), slice(0, 11), slice(11, None)))
    means = [np.average(y[s], weights=w[s]) for s in (slice(0, 11), slice(11, None))]
    between = between_sum_of_squares(w[:11].sum(), means[0], w[11:].sum(), means[1])
    assert between == pytest.approx(inside - a - b, rel=1e-12)


def test_exclusive_or_is_learnt_though_no_first_split_gains():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([0, 1, 1, 0])
    for model in (DecisionTreeClassifier(), DecisionTreeClassifier("entropy"),
                  DecisionTreeRegressor()):
        model.fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)
        assert model.tree_.gain[0] == 0 and model.get_n_leaves() == 4
    assert DecisionTreeClassifier(min_impurity_decrease=1e-9).fit(X, y).get_depth() == 0


# Pruning


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_the_pruning_path_is_scikit_learns(criterion):
    X = features(300, 5)
    regression = criterion == "squared_error"
    y = response(X) if regression else classes(X, 3)
    w = weights(300)
    options = {"criterion": criterion, "min_samples_leaf": 7}
    ours = DecisionTreeRegressor if regression else DecisionTreeClassifier
    lib = sk.DecisionTreeRegressor if regression else sk.DecisionTreeClassifier
    path = ours(**options).cost_complexity_pruning_path(X, y, w)
    theirs = lib(random_state=0, **options).cost_complexity_pruning_path(X, y, w)
    assert len(path.ccp_alphas) >= 20
    np.testing.assert_allclose(path.ccp_alphas, theirs.ccp_alphas, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(path.impurities, theirs.impurities, rtol=1e-9, atol=1e-12)
    for alpha in (path.ccp_alphas[1:] + path.ccp_alphas[:-1])[10::6] / 2:
        pruned = ours(ccp_alpha=alpha, **options).fit(X, y, w)
        assert_same_tree(
            pruned, lib(ccp_alpha=alpha, random_state=0, **options).fit(X, y, w))


@pytest.mark.parametrize("data", [load_breast_cancer, load_diabetes])
def test_the_pruning_path_of_real_data(data):
    X, y = data(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    if data is load_breast_cancer:
        options = {"criterion": "entropy", "min_samples_leaf": 10}
        ours, lib = DecisionTreeClassifier(**options), sk.DecisionTreeClassifier(**options)
    else:
        options = {"min_samples_leaf": 20}
        ours, lib = DecisionTreeRegressor(**options), sk.DecisionTreeRegressor(**options)
    path, theirs = (m.cost_complexity_pruning_path(X, y) for m in (ours, lib))
    np.testing.assert_allclose(path.ccp_alphas, theirs.ccp_alphas, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(path.impurities, theirs.impurities, rtol=1e-9, atol=1e-12)


def every_pruning(tree, node=0):
    """Every way to prune below a node, as the set of its leaves."""
    yield (node,)
    if tree.left[node] >= 0:
        for left in every_pruning(tree, tree.left[node]):
            for right in every_pruning(tree, tree.right[node]):
                yield left + right


def test_no_pruned_subtree_has_a_smaller_penalised_risk():
    X = features(120, 3)
    y = response(X)
    full = DecisionTreeRegressor(max_depth=4).fit(X, y)
    risk = full._risk(full.tree_, full.impurity_)
    prunings = [np.array(leaves) for leaves in every_pruning(full.tree_)]
    assert len(prunings) > 500
    for alpha in [0.001, 0.01, 0.03, 0.1, 0.3, 2.0]:
        best = min(risk[leaves].sum() + alpha * len(leaves) for leaves in prunings)
        pruned = DecisionTreeRegressor(max_depth=4, ccp_alpha=alpha).fit(X, y)
        leaves = pruned.tree_.is_leaf
        ours = pruned._risk(pruned.tree_, pruned.impurity_)[leaves].sum()
        assert ours + alpha * leaves.sum() == pytest.approx(best, rel=1e-12)


def test_weakest_links_by_hand():
    """y = 0, 0, 3, 9: cut at 3|9, then 0|3. A leaf less costs 6/4, then 48/4."""
    X, y = np.arange(4.0)[:, np.newaxis], np.array([0.0, 0, 3, 9])
    model = DecisionTreeRegressor().fit(X, y)
    assert model.tree_.threshold[model.tree_.feature >= 0].tolist() == [2.5, 1.5]
    alphas, risks, nodes = weakest_links(
        model.tree_, model._risk(model.tree_, model.impurity_))
    np.testing.assert_allclose(alphas, [1.5, 12], rtol=1e-12)
    np.testing.assert_allclose(risks, [1.5, 13.5], rtol=1e-12)
    assert nodes.tolist() == [1, 0]
    assert DecisionTreeRegressor(ccp_alpha=1.5).fit(X, y).get_n_leaves() == 2
    assert DecisionTreeRegressor(ccp_alpha=1.49).fit(X, y).get_n_leaves() == 3
    assert DecisionTreeRegressor(ccp_alpha=12.1).fit(X, y).get_n_leaves() == 1


def test_a_root_alone_has_a_path_of_one():
    path = DecisionTreeClassifier().cost_complexity_pruning_path([[1.0]], [3])
    assert path.ccp_alphas.tolist() == path.impurities.tolist() == [0.0]


# Categories


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("seed", range(8))
def test_the_subset_is_the_best_of_all(criterion, seed):
    rng = np.random.default_rng(seed)
    # of very unequal size: an order by sums is not one by means
    x = rng.choice(6, size=50, p=[0.45, 0.25, 0.12, 0.08, 0.06, 0.04]).astype(float)
    effect = rng.exponential(size=6)[x.astype(int)] ** 2
    y = effect + 0.5 * rng.normal(size=50)
    if criterion != "squared_error":
        y = (y > np.quantile(y, 0.8)).astype(int)
    w = weights(50)
    codes = np.unique(x)
    best = min(
        sum(w[s].sum() * impurity(y[s], w[s], criterion) for s in (inside, ~inside))
        for size in range(1, len(codes))
        for chosen in itertools.combinations(codes, size)
        for inside in [np.isin(x, chosen)]
    )
    model = (DecisionTreeRegressor if criterion == "squared_error"
             else DecisionTreeClassifier)(criterion, max_depth=1, categorical_features=[0])
    model.fit(x[:, np.newaxis], y, w)
    risk = model._node_weights(model.tree_) * model.impurity_
    assert risk[1:].sum() == pytest.approx(best, rel=1e-12)


def test_categories_are_ordered_by_means_and_not_by_sums():
    """One row far above the mean, against twenty that together lie further above."""
    x = np.repeat([0.0, 1, 2], [1, 20, 79])[:, np.newaxis]
    y = np.repeat([10, 0.55, -21 / 79], [1, 20, 79])
    tree = DecisionTreeRegressor(max_depth=1, categorical_features=[0]).fit(x, y).tree_
    assert tree.subset[0].tolist() == [False, True, True]


def test_a_category_that_was_not_seen_goes_right():
    X, y = np.array([[0.0], [0], [2], [2], [5], [5]]), [1, 1, 0, 0, 1, 1]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, y)
    assert model.tree_.subset[0].nonzero()[0].tolist() == [2]
    assert model.apply([[2.0], [5], [3], [77], [-1], [2.5]]).tolist() == [1] + 5 * [2]
    with pytest.raises(ValueError, match="Column 0 is categorical and must hold whole"):
        DecisionTreeClassifier(categorical_features=[0]).fit([[0.5], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="categorical_features must be between 0 and 0"):
        check_categories(X, [1])


# Missing values


def rpart_surrogates(X, node, feature, left, w, limit=5):
    """rpart's rule in plain loops, for one node: a list of the surrogates kept.

    ``left[i]`` is True, False or None (the node's own value is missing).
    """
    goes_left = sum(w[i] for i in node if left[i] is True)
    goes_right = sum(w[i] for i in node if left[i] is False)
    majority, total = max(goes_left, goes_right), goes_left + goes_right
    kept = []
    for f in range(X.shape[1]):
        rows = sorted((i for i in node if not np.isnan(X[i, f])), key=lambda i: X[i, f])
        both = [i for i in rows if left[i] is not None]
        agree, found = majority, None
        for before, after in itertools.pairwise(rows):
            low = [i for i in both if X[i, f] <= X[before, f]]
            high = [i for i in both if X[i, f] > X[before, f]]
            if X[before, f] == X[after, f] or min(len(low), len(high)) < 2:
                continue
            for low_left in (False, True):
                agreeing = (sum(w[i] for i in low if left[i] is low_left)
                            + sum(w[i] for i in high if left[i] is not low_left))
                if agreeing > agree:
                    agree = agreeing
                    found = (X[before, f] + X[after, f]) / 2, low_left
        if f != feature and found:
            kept.append((f, *found, agree / total, (agree - majority) / (total - majority)))
    return sorted(kept, key=lambda s: -s[3])[:limit], goes_left >= goes_right


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 12}, {"max_surrogates": 2}],
                         ids=str)
def test_surrogates_are_rparts(options, seed):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(150, 1))
    X = np.round(base + 0.7 * rng.normal(size=(150, 7)), 1)
    y = (base[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    X[rng.random(X.shape) < 0.15] = np.nan
    w = rng.integers(1, 4, size=150).astype(float)
    model = DecisionTreeClassifier(min_samples_leaf=4, **options).fit(X, y, w)
    tree, limit = model.tree_, options.get("max_surrogates", 5)
    waiting, n_found = [(0, list(range(150)))], 0
    while waiting:
        at, rows = waiting.pop()
        assert tree.count[at] == len(rows)
        if tree.is_leaf[at]:
            assert (tree.surrogates.feature[at] == -1).all()
            assert set(np.flatnonzero(model.apply(X) == at)) == set(rows)
            continue
        f, t = tree.feature[at], tree.threshold[at]
        left = {i: None if np.isnan(X[i, f]) else bool(X[i, f] <= t) for i in rows}
        kept, heavier_left = rpart_surrogates(X, rows, f, left, w, limit)
        mine = tree.surrogates.take(at)
        n_found += len(kept)
        assert mine.feature.tolist() == [s[0] for s in kept] + [-1] * (limit - len(kept))
        for k, (_, threshold, low_left, agreement, adjusted) in enumerate(kept):
            assert mine.threshold[k] == pytest.approx(threshold, abs=1e-12)
            assert mine.low_left[k] == low_left
            assert mine.agreement[k] == pytest.approx(agreement, abs=1e-12)
            assert mine.adjusted[k] == pytest.approx(adjusted, abs=1e-12)
        assert tree.missing_left[at] == heavier_left
        for i in rows:
            if left[i] is None:
                usable = [s for s in kept if not np.isnan(X[i, s[0]])]
                left[i] = ((X[i, usable[0][0]] <= usable[0][1]) == usable[0][2]
                           if usable else heavier_left)
        waiting.append((tree.left[at], [i for i in rows if left[i]]))
        waiting.append((tree.right[at], [i for i in rows if not left[i]]))
    assert n_found > 10


def test_the_surrogate_of_height_for_weight():
    weight = [10, 9, np.nan, 7, 6, 5, 4, 3, 2, 1]
    height = [10, 9, 8, 7, 5, 6, 4, 3, 2, 1]
    y = [1] * 5 + [0] * 5
    X = np.column_stack([weight, height])
    tree = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_
    assert (tree.feature[0], tree.threshold[0]) == (0, 5.5)
    first = tree.surrogates.take(0)
    assert (first.feature[0], first.threshold[0], first.low_left[0]) == (1, 4.5, True)
    assert first.agreement[0] == pytest.approx(8 / 9)
    assert first.adjusted[0] == pytest.approx(0.75)
    assert tree.apply(X).tolist() == [2] * 5 + [1] * 5  # the third with its height, 8
    assert tree.apply(np.array([[np.nan, 3.0], [np.nan, 9]])).tolist() == [1, 2]
    assert tree.apply(np.array([[np.nan, np.nan]])).tolist() == [1]  # 5 rows against 4


def test_a_surrogate_that_runs_the_other_way():
    x = np.arange(12.0)
    X = np.column_stack([x, -x])
    X[3, 0] = np.nan
    tree = DecisionTreeClassifier(max_depth=1).fit(X[:, :1], x > 5).tree_
    assert tree.apply(X[:, :1]).tolist() == [1, 1, 1, 2, 1, 1] + [2] * 6
    X[7, 1] = np.nan  # or the second column would make the better split
    X[8, 1] = np.nan
    tree = DecisionTreeClassifier(max_depth=1).fit(X, x > 5).tree_
    assert tree.feature[0] == 0
    first = tree.surrogates.take(0)
    assert first.low_left[0] == np.False_ and first.threshold[0] == -5.5
    assert first.agreement[0] == 9 / 11 and first.adjusted[0] == 3 / 5
    assert tree.apply(X).tolist() == [1] * 6 + [2] * 6
    assert tree.apply(np.array([[np.nan, -11.0]])).tolist() == [2]


@pytest.mark.parametrize(("low_rows", "kept"), [(1, False), (2, True)])
def test_a_surrogate_leaves_two_rows_on_either_side(low_rows, kept):
    height = np.where(np.arange(9) < low_rows, 0.0, 5.0)
    X = np.column_stack([np.arange(9.0), height])
    X[8, 0] = np.nan
    for side in (X, X * [1, -1]):
        first = DecisionTreeClassifier(max_depth=1).fit(
            side, [0] * 4 + [1] * 5).tree_.surrogates.take(0)
        assert (first.feature[0] == 1) == kept
        assert first.adjusted[0] == pytest.approx(low_rows / 4 if kept else 0)


def test_pruning_keeps_the_surrogates():
    X = features(200, 4)
    y = response(X)
    X[:, 1] += X[:, 0]
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    full = DecisionTreeRegressor(min_samples_leaf=5).fit(X, y)
    pruned = DecisionTreeRegressor(min_samples_leaf=5, ccp_alpha=0.02).fit(X, y)
    assert isinstance(pruned.tree_, SurrogateTree)
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves()
    old = full.tree_
    new, where = old.collapse(old.depth == 2)
    np.testing.assert_array_equal(new.apply(X), where[old.apply(X)])
    assert (new.surrogates.feature[new.is_leaf] == -1).all()
    np.testing.assert_array_equal(new.surrogates.feature[0], old.surrogates.feature[0])
    leaf = pruned.apply(X)
    for node in np.unique(leaf):
        assert pruned.value_[node] == pytest.approx(y[leaf == node].mean(), rel=1e-12)
        assert pruned.impurity_[node] == pytest.approx(y[leaf == node].var(), rel=1e-9)


def test_pruning_one_branch_keeps_the_surrogates_of_the_other():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(150, 1))
    X = base + 0.7 * rng.normal(size=(150, 7))
    y = (base[:, 0] + 0.5 * rng.normal(size=150) > 0).astype(int)
    X[rng.random(X.shape) < 0.15] = np.nan
    old = DecisionTreeClassifier(min_samples_leaf=4).fit(X, y).tree_
    into_leaf = np.zeros(old.node_count, dtype=bool)
    into_leaf[old.left[0]] = True  # the kept nodes are no longer the first ones
    new, where = old.collapse(into_leaf)
    np.testing.assert_array_equal(new.apply(X), where[old.apply(X)])
    stay = np.flatnonzero(~new.is_leaf[where] & ~old.is_leaf)
    assert len(stay) > 3
    for name in ("feature", "threshold", "low_left", "adjusted"):
        np.testing.assert_array_equal(getattr(new.surrogates, name)[where[stay]],
                                      getattr(old.surrogates, name)[stay])


def test_a_child_next_to_which_the_other_weighs_nothing():
    """1 + 1e-20 is 1: the agreement is measured from the lighter child's own weight."""
    with np.errstate(all="raise"):
        tree = DecisionTreeClassifier(max_depth=1).fit(
            [[0, 0], [1, 1], [np.nan, 0]], [0, 1, 0], [1, 1e-20, 1]).tree_
    assert tree.feature.tolist() == [0, -1, -1]
    assert tree.surrogates.feature[0].tolist() == [-1]


def test_a_missing_value_where_none_was_goes_to_the_heavier_child():
    X = features(301, 4)
    y = response(X)
    options = {"min_samples_leaf": 14}
    model = DecisionTreeRegressor(**options).fit(X, y)
    lib = sk.DecisionTreeRegressor(random_state=0, **options).fit(X, y)
    assert_same_tree(model, lib)
    tree = model.tree_
    inner = ~tree.is_leaf
    assert (tree.count[tree.left] != tree.count[tree.right])[inner].all()
    assert 0 < tree.missing_left[inner].sum() < inner.sum()
    holes = features(200, 4, seed=3)
    holes[np.random.default_rng(4).random(holes.shape) < 0.4] = np.nan
    np.testing.assert_allclose(model.predict(holes), lib.predict(holes), rtol=1e-12)
    for heavy, side in ([1, 1, 1, 9], 2), ([9, 1, 1, 1], 1), ([1, 1, 1, 1], 1):
        stump = DecisionTreeClassifier(max_depth=1).fit(
            [[0.0], [1], [2], [3]], [0, 0, 1, 1], heavy)
        assert stump.apply([[np.nan]]) == [side]


def test_a_missing_category_follows_a_numeric_surrogate():
    color = np.array([0.0, 2, 0, 2, 1, 1, 1, np.nan])
    size = np.array([1.0, 2, 3, 4, 11, 12, 13, 14])
    X = np.column_stack([color, size, color])
    model = DecisionTreeClassifier(max_depth=1, categorical_features=[0, 2])
    tree = model.fit(X, [0, 0, 0, 0, 1, 1, 1, 1]).tree_
    if tree.feature[0] == 1:
        X[3, 1], X[4, 1] = 11, 4
        tree = model.fit(X, [0, 0, 0, 0, 1, 1, 1, 1]).tree_
    assert tree.feature[0] == 0
    assert tree.surrogates.feature[0].tolist() == [1, -1]
    assert tree.apply(X)[7] == tree.apply(X)[6] != tree.apply(X)[0]


# Hard inputs


def test_constant_and_missing_columns_are_never_cut():
    X = np.full((6, 3), 7.0)
    X[:, 1] = np.nan
    X[:, 2] = range(6)
    model = DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    assert model.tree_.feature.tolist() == [2, -1, -1]
    assert model.feature_importances_.tolist() == [0, 0, 1]
    assert model.predict([[np.nan, 3.0, 5.0]]) == [1]
    nothing = DecisionTreeRegressor().fit(X[:, :2], np.arange(6.0))
    assert nothing.get_n_leaves() == 1 and nothing.predict(X[:1, :2]) == [2.5]
    assert nothing.feature_importances_.tolist() == [0, 0]


def test_adjacent_floats_are_told_apart():
    for a in (1.0, 1e-300, -3.0, 1.7e308, np.nextafter(1.0, 2)):
        b = np.nextafter(a, np.inf)
        model = DecisionTreeClassifier().fit([[a], [b]], [0, 1])
        assert model.tree_.count.tolist() == [2, 1, 1]
        assert model.predict([[a], [b]]).tolist() == [0, 1]


def test_a_cut_lies_between_its_neighbours():
    low = np.array([1.0, np.nextafter(1.0, 2), -1.7e308, 1.6e308, 0.0, -5e-324])
    high = np.array([2.0, np.nextafter(low[1], 2), -1.6e308, 1.7e308, 5e-324, 0.0])
    with np.errstate(over="ignore"):
        cut = cut_between(low, high)
    assert ((low <= cut) & (cut < high)).all()
    np.testing.assert_allclose(cut[[0, 2, 3]], [1.5, -1.65e308, 1.65e308])


def test_the_largest_floats():
    X = np.array([[1.7e308], [1.6e308], [-1.7e308]])
    model = DecisionTreeRegressor().fit(X, [0.0, 1, 2])
    assert model.predict(X).tolist() == [0, 1, 2]
    assert np.isfinite(model.tree_.threshold).all()
    assert 1.6e308 < model.tree_.threshold.max() < 1.7e308


def test_one_class_one_row_and_equal_rows():
    model = DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    assert model.predict_proba([[9.0], [np.nan]]).tolist() == [[1.0], [1.0]]
    assert DecisionTreeRegressor().fit([[1.0]], [4.0]).predict([[0.0]]) == [4.0]
    mixed = DecisionTreeClassifier().fit([[1.0]] * 3, [0, 1, 1])
    np.testing.assert_allclose(mixed.predict_proba([[1.0]]), [[1 / 3, 2 / 3]])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("K", [2, 3, 4])
def test_drawn_features_and_categories(criterion, K):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 60), rng.normal(size=60)])
    y = rng.integers(0, K, 60)
    for seed in range(5):
        model = DecisionTreeClassifier(
            criterion, max_features=1, categorical_features=[0], random_state=seed)
        tree = model.fit(X, y).tree_
        assert set(tree.feature) == {-1, 0, 1} and model.score(X, y) == 1.0
        reached = np.bincount(model.apply(X), minlength=tree.node_count)
        np.testing.assert_array_equal(reached[tree.is_leaf], tree.count[tree.is_leaf])


def test_max_features_draws_for_each_node():
    X = features(300, 6)
    y = classes(X, 2)
    one = DecisionTreeClassifier(max_features=1, random_state=0).fit(X, y)
    two = DecisionTreeClassifier(max_features=1, random_state=1).fit(X, y)
    assert len(np.unique(one.tree_.feature)) == 7  # six features and -1
    assert one.tree_.feature.tolist() != two.tree_.feature.tolist()
    assert one.score(X, y) == 1.0


@pytest.mark.parametrize(("value", "count"), [
    (None, 9), ("sqrt", 3), ("log2", 3), (4, 4), (0.5, 4), (0.01, 1), (1.0, 9),
    (np.int64(2), 2)])
def test_count_features(value, count):
    assert count_features(value, 9) == count


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"criterion": "mse"}, ValueError, "criterion must be one of 'gini', 'entropy'"),
    ({"max_depth": -1}, ValueError, "max_depth must be >= 0"),
    ({"max_depth": 2.5}, TypeError, "max_depth must be a whole number"),
    ({"min_samples_split": 1}, ValueError, "min_samples_split must be >= 2"),
    ({"min_samples_leaf": 0}, ValueError, "min_samples_leaf must be >= 1"),
    ({"max_leaf_nodes": 1}, ValueError, "max_leaf_nodes must be >= 2"),
    ({"max_features": 9}, ValueError, "max_features must be between 1 and 2"),
    ({"max_features": 0.0}, ValueError, "max_features must be finite and > 0 and <= 1"),
    ({"max_features": "all"}, ValueError, "max_features must be one of"),
    ({"min_impurity_decrease": -1.0}, ValueError, "decrease must be finite and >= 0"),
    ({"ccp_alpha": -0.1}, ValueError, "ccp_alpha must be finite and >= 0"),
    ({"ccp_alpha": "a"}, TypeError, "ccp_alpha must be a number"),
    ({"max_surrogates": -1}, ValueError, "max_surrogates must be >= 0"),
])
def test_bad_parameters(options, error, message):
    with pytest.raises(error, match=message):
        DecisionTreeClassifier(**options).fit([[0.0, 1], [1, 0]], [0, 1])


def test_count_features_of_64_and_of_1():
    assert [count_features(v, 64) for v in ("sqrt", "log2", 0.5)] == [8, 6, 32]
    assert [count_features(v, 1) for v in ("sqrt", "log2", 0.5)] == [1, 1, 1]


@pytest.mark.parametrize("weight", [1.0, 0.1, 0.3, 1 / 3])
def test_limits_that_are_met_exactly(weight):
    """y = 0, 0, 3, 9: the first cut lowers the variance by 12, the second by 1.5."""
    X, y, w = np.arange(4.0)[:, np.newaxis], [0.0, 0, 3, 9], [weight] * 4

    def leaves(**options):
        return DecisionTreeRegressor(**options).fit(X, y, w).get_n_leaves()

    falls = [12, 12.001, 1.5, 1.501]
    assert [leaves(min_impurity_decrease=f) for f in falls] == [2, 1, 3, 2]
    assert [leaves(ccp_alpha=a) for a in (12, 11.99, 1.5, 1.49)] == [1, 2, 2, 3]
    with np.errstate(all="raise"):
        assert leaves(min_impurity_decrease=1e308) == 1


def test_codes_of_categories():
    for code in (0, 4096):
        assert check_categories(np.array([[code], [np.nan]]), [0]).tolist() == [True]
    for code in (-1.0, 0.5, 4097.0):
        with pytest.raises(ValueError, match="whole numbers from 0 to 4096"):
            check_categories(np.array([[code], [1.0]]), [0])
    X, y = [[0.0], [1.0], [4096.0]], [0, 0, 1]
    model = DecisionTreeClassifier(categorical_features=np.array([0])).fit(X, y)
    assert model.predict(X).tolist() == y


@pytest.mark.parametrize("columns", [0, "auto", [True], np.array([True]), [[0]],
                                     [[0], [0, 1]]])
def test_categories_are_named_by_a_sequence_of_numbers(columns):
    with pytest.raises(TypeError, match="a sequence of column numbers"):
        DecisionTreeClassifier(categorical_features=columns).fit([[0.0], [1.0]], [0, 1])


def test_importances_are_not_negative_where_nothing_is_gained():
    """The first cut of XOR gains 0: rounding must not make that a loss."""
    corners, parity = [[0.0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    for times, weight in itertools.product(range(1, 12), (0.1, 0.3, 1.1)):
        X, y = np.repeat(corners, times, axis=0), np.repeat(parity, times)
        for criterion in ("gini", "entropy"):
            model = DecisionTreeClassifier(criterion).fit(X, y, [weight] * len(y))
            assert model.tree_.feature[0] == 0
            assert (model.feature_importances_ >= 0).all()
            np.testing.assert_allclose(model.feature_importances_, [0, 1], atol=1e-12)
    root = DecisionTreeRegressor(max_depth=0).fit(X, y)
    assert root.feature_importances_.dtype == np.float64


# Weights and targets of any size


def same_tree(one, other):
    """Whether features, thresholds, surrogates and directions agree exactly."""
    def parts(tree):
        found = [tree.feature, tree.threshold, tree.missing_left, tree.left]
        if isinstance(tree, SurrogateTree):
            s = tree.surrogates
            found += [s.feature, s.threshold, s.low_left]
        return found

    return all(map(np.array_equal, parts(one.tree_), parts(other.tree_)))


@pytest.mark.parametrize("weight", [0.1, 0.3, np.pi])
def test_a_common_factor_of_the_weights_changes_nothing(weight):
    """Ties of surrogates, sides and classes stay ties when the sums are rounded."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = np.round(rng.normal(size=(60, 4)))
        X[rng.random(X.shape) < 0.2] = np.nan
        y = (np.nan_to_num(X[:, 0] + X[:, 1]) + rng.normal(size=60) > 0).astype(int)
        for options in ({"max_depth": 3}, {"max_depth": 5, "max_surrogates": 1}):
            plain = DecisionTreeClassifier(**options).fit(X, y)
            heavy = DecisionTreeClassifier(**options).fit(X, y, [weight] * 60)
            assert same_tree(plain, heavy)
            np.testing.assert_array_equal(plain.predict(X), heavy.predict(X))
        full = np.nan_to_num(X)
        plain = DecisionTreeClassifier(max_depth=4).fit(full, y)
        heavy = DecisionTreeClassifier(max_depth=4).fit(full, y, [weight] * 60)
        assert same_tree(plain, heavy)
        assert export_text(plain) == export_text(heavy)


def test_children_that_weigh_the_same_but_for_rounding():
    """0.1 + 0.2 is above 0.3 by one bit: still a tie, and what is missing goes left."""
    for weight in ([0.3, 0.1, 0.2], [0.1, 0.2, 0.3]):
        y = [0, 1, 1] if weight[0] == 0.3 else [0, 0, 1]
        X = np.arange(3.0)[:, np.newaxis]
        model = DecisionTreeClassifier(max_depth=1).fit(X, y, weight)
        assert model.apply([[np.nan]]).tolist() == [1]
        holes, y = np.append(X, [[np.nan]], axis=0), [*y, 1]
        model = DecisionTreeClassifier(max_depth=1).fit(holes, y, [*weight, 0.1])
        assert model.tree_.threshold[0] == (0.5 if weight[0] == 0.3 else 1.5)
        assert model.apply([[np.nan]]).tolist() == [1]


def test_a_surrogate_that_only_rounding_prefers_is_not_kept():
    X = [[np.nan, 3], [3, 2], [3, 3], [3, 0], [1, 2], [1, 1], [2, 3], [2, 0]]
    y = [1, 1, 0, 1, 0, 1, 0, 0]
    for w in (None, [0.1] * 8):
        tree = DecisionTreeClassifier(max_depth=1).fit(X, y, w).tree_
        assert tree.surrogates.feature[0].tolist() == [-1]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("missing", [False, True])
def test_weights_of_any_size_grow_the_same_tree(criterion, missing):
    X = features(80, 3)
    y = response(X) if criterion == "squared_error" else classes(X, 3)
    if missing:
        X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    kind = (DecisionTreeRegressor if criterion == "squared_error"
            else DecisionTreeClassifier)
    w = weights(80)
    plain = kind(criterion, ccp_alpha=0.002).fit(X, y, w)
    for exponent in (-900, -565, -3, 7, 500, 900):
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            scaled = kind(criterion, ccp_alpha=0.002).fit(X, y, np.ldexp(w, exponent))
        assert same_tree(plain, scaled)
        np.testing.assert_array_equal(plain.impurity_, scaled.impurity_)
        np.testing.assert_array_equal(plain.predict(X), scaled.predict(X))
        np.testing.assert_array_equal(
            plain.feature_importances_, scaled.feature_importances_)
        for name in ("sums", "gain"):
            np.testing.assert_array_equal(
                np.ldexp(getattr(plain.tree_, name), exponent),
                getattr(scaled.tree_, name))


@pytest.mark.parametrize("model", [
    DecisionTreeRegressor(), DecisionTreeClassifier(), DecisionTreeClassifier("entropy")],
    ids=str)
def test_weights_beyond_float64_are_refused(model):
    X, y = np.arange(4.0)[:, np.newaxis], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="sample_weight is too large"):
        model.fit(X, y, [1e308] * 4)
    with pytest.raises(ValueError, match="sample_weight is too large"):
        model.fit(X[:2], y[:2], [1e308] * 2)
    with pytest.raises(ValueError, match="spans a factor of more than 1e150"):
        model.fit(X, y, [1e100, 1, 1, 1e-100])
    model.fit(X, y, [1e200] * 4)
    assert model.predict(X).tolist() == y


def test_targets_whose_squares_leave_float64_are_refused():
    X = np.arange(4.0)[:, np.newaxis]
    for y in ([0, 0, 3e155, 9e155], [0, 0, 3e-200, 9e-200],
              [-1.7e308, 1.7e308, 1.7e308, -1.7e308]):
        with pytest.raises(ValueError, match="y must be scaled: .* Divide y by its larg"):
            DecisionTreeRegressor().fit(X, y)
        scaled = np.array(y) / np.abs(y).max()
        np.testing.assert_array_equal(
            DecisionTreeRegressor().fit(X, scaled).predict(X), scaled)
    with pytest.raises(ValueError, match=r"its largest size, 1\.7e\+308"):
        DecisionTreeRegressor().fit(X, [-1.7e308, 1.7e308, 0, 0])
    for scale in (1e-150, 1e150):
        model = DecisionTreeRegressor().fit(X, np.array([0.0, 0, 3, 9]) * scale)
        np.testing.assert_allclose(model.predict(X) / scale, [0, 0, 3, 9], rtol=1e-15)
        np.testing.assert_allclose(
            model.impurity_ / scale / scale, [13.5, 2, 0, 0, 0], rtol=1e-12)
        assert model.feature_importances_.tolist() == [1.0]
    assert DecisionTreeRegressor().fit(X, [1.7e308] * 4).predict(X[:1]) == [1.7e308]


def test_targets_times_weights_that_leave_float64_are_refused():
    X = np.arange(4.0)[:, np.newaxis]
    y, w = np.array([0.0, 0, 3, 9]), [1e-100, 1e-100, 1e-100, 1]
    model = DecisionTreeRegressor().fit(X, y, w)
    for scale in (1e-120, 1e-60):
        with pytest.raises(ValueError, match="Divide y by its largest difference, 9e-"):
            DecisionTreeRegressor().fit(X, y * scale, w)
    small = DecisionTreeRegressor().fit(X, y * 1e-45, w)
    for tree in (model.tree_, small.tree_):
        assert tree.threshold[~tree.is_leaf].tolist() == [2.5, 1.5]
    assert small.feature_importances_.tolist() == [1.0]


def test_the_sums_are_those_of_differences_from_the_mean():
    X, w = features(50, 3), np.geomspace(0.1, 10, 50)
    y = response(X)
    tree = DecisionTreeRegressor(max_depth=2).fit(X, y, w).tree_
    assert abs(tree.sums[1, 0]) < 1e-9 * w.sum()
    leaf, centred = tree.apply(X), w * (y - np.average(y, weights=w))
    for node in np.unique(leaf):
        assert tree.sums[1, node] == pytest.approx(centred[leaf == node].sum())


def test_an_outlier_costs_the_other_leaves_no_digits():
    X = np.arange(7.0)[:, np.newaxis]
    for far in (1e12, -1e18):
        y = np.array([far, 0.1, 0.2, 0.3, 0.1, 0.1, 0.1])
        model = DecisionTreeRegressor().fit(X, y)
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-14)
        two = DecisionTreeRegressor(max_leaf_nodes=2).fit(X, y, [1, 1, 2, 1, 1, 1, 1])
        np.testing.assert_allclose(two.predict(X[1:]), 1.1 / 7, rtol=1e-14)
        inside = np.average((y[1:] - 1.1 / 7) ** 2, weights=[1, 2, 1, 1, 1, 1])
        np.testing.assert_allclose(two.impurity_[two.tree_.is_leaf].max(), inside,
                                   rtol=1e-12)


# Helpers that anyone may call


def test_weakest_links_asks_for_finite_risks_of_all_nodes():
    tree = DecisionTreeRegressor().fit([[0.0], [1], [2]], [0.0, 3, 9]).tree_
    for risk in (np.full(5, np.nan), [np.inf, 1, 1, 1, 1], [1.0, 2]):
        with pytest.raises(ValueError, match="risk"):
            weakest_links(tree, risk)
    assert weakest_links(tree, [9, 2, 0, 0, 0])[0].tolist() == [2, 7]
    with pytest.raises(ValueError, match="risk of node 0 must be at least the sum"):
        weakest_links(tree, [0, 5, 5, 0, 0])
    parts = np.array([0.1 + 0.2, 0.1, 0.2, 0.1, 0.0])
    parts[0] = 0.3  # less than its children by rounding
    assert weakest_links(tree, parts)[0].max() == 0


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_rounding_does_not_raise_the_risk_of_the_children(criterion):
    """Beside a large weight the impurity of small ones is rounding, in every node."""
    for seed in range(15, 40):
        rng = np.random.default_rng(seed)
        w, y = 10.0 ** -rng.integers(0, 19, 8), rng.integers(0, 3, 8)
        X = rng.normal(size=(8, 1))
        model = DecisionTreeClassifier(criterion, ccp_alpha=0.1).fit(X, y, w)
        path = model.cost_complexity_pruning_path(X, y, w)
        assert (np.diff(path.impurities) >= -1e-15).all()


def test_the_path_checks_the_price_too():
    for price, error in ((-3, ValueError), ("a", TypeError)):
        with pytest.raises(error, match="ccp_alpha must be"):
            DecisionTreeClassifier(ccp_alpha=price).cost_complexity_pruning_path(
                [[0.0], [1]], [0, 1])


def test_between_sum_of_squares_asks_for_weights():
    for pair in ((0, 0), (1, -1), ([1, 0], [1, 1])):
        with pytest.raises(ValueError, match="weight of either part must be > 0"):
            between_sum_of_squares(pair[0], 1.0, pair[1], 2.0)
    between = between_sum_of_squares([1, 2], [0, 0], [1, 2], [1, 3])
    assert between.tolist() == [0.5, 9]
    tiny = between_sum_of_squares(1e-170, 0, 1e-170, 2)
    assert tiny == pytest.approx(2e-170, rel=1e-12, abs=0)
    for bad in ((1, np.nan, 1, 2), (np.inf, 1, 1, 2), (1, "a", 1, 2)):
        with pytest.raises(ValueError, match="mean_left|weight_left"):
            between_sum_of_squares(*bad)


def test_no_more_surrogates_than_other_features():
    X = features(40, 3)
    X[0] = np.nan
    few, many = (DecisionTreeClassifier(max_surrogates=most).fit(X, X[:, 1] > 0)
                 for most in (2, 10**30))
    assert same_tree(few, many)
    assert many.tree_.surrogates.feature.shape == (many.tree_.node_count, 2)


# Reading a tree


@pytest.mark.parametrize("read", [condition, prediction_text])
def test_reading_a_node_checks_what_it_is_given(read):
    model = DecisionTreeRegressor().fit([[0.0], [1], [2]], [0.0, 3, 9])
    for node in (-1, 5):
        with pytest.raises(ValueError, match="node must be between 0 and 4"):
            read(model, node)
    for decimals in (-1, 10**9):
        with pytest.raises(ValueError, match="decimals must be between 0 and 100"):
            read(model, 0, decimals=decimals)
    with pytest.raises(ValueError, match="not fitted yet"):
        read(DecisionTreeRegressor(), 0)


def test_a_leaf_has_no_condition():
    model = DecisionTreeRegressor().fit([[0.0], [1], [2]], [0.0, 3, 9])
    leaf = np.flatnonzero(model.tree_.is_leaf)[0]
    with pytest.raises(ValueError, match=f"Node {leaf} is a leaf"):
        condition(model, leaf)
    assert condition(model, 0, ["x"], 1) == ("x <= 1.5", "x >  1.5")


def test_text_checks_names_and_digits():
    for y in ([1, 1], [0, 1]):
        model = DecisionTreeClassifier().fit([[0.0], [1]], y)
        for names, error in ((["a", "b"], ValueError), ("x", TypeError), (5, TypeError)):
            with pytest.raises(error, match="feature_names must"):
                export_text(model, names)
        for decimals in (-1, 10**9):
            with pytest.raises(ValueError, match="decimals must be between 0 and 100"):
                export_text(model, decimals=decimals)
    text = export_text(DecisionTreeRegressor().fit([[-1e-9], [0]], [-1e-9, 2]))
    assert text == ("|--- feature_0 <= 0.00\n|   |--- value: [0.00]\n"
                    "|--- feature_0 >  0.00\n|   |--- value: [2.00]\n")


def test_text_is_scikit_learns():
    X, y = load_iris(return_X_y=True)
    X = X.astype(np.float32).astype(float)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    ours = DecisionTreeClassifier(max_depth=2, min_samples_leaf=5).fit(X[:, 1:3], words)
    lib = sk.DecisionTreeClassifier(
        max_depth=2, min_samples_leaf=5, random_state=0).fit(X[:, 1:3], words)
    expected = sk.export_text(lib, feature_names=names[1:3])
    assert export_text(ours, names[1:3]) == expected
    assert export_text(ours) == sk.export_text(lib)
    ours = DecisionTreeRegressor(max_leaf_nodes=6).fit(X[:, :3], X[:, 3])
    lib = sk.DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(X[:, :3], X[:, 3])
    assert export_text(ours, decimals=4) == sk.export_text(lib, decimals=4)


def test_text_of_categories_of_a_root_and_of_wrong_names():
    X = [[0.0], [0], [2], [2], [5], [5]]
    model = DecisionTreeClassifier(categorical_features=[0]).fit(X, [1, 1, 0, 0, 1, 1])
    assert export_text(model, ["kind"]) == (
        "|--- kind in {2}\n|   |--- class: 0\n"
        "|--- kind not in {2}\n|   |--- class: 1\n")
    assert export_text(DecisionTreeClassifier().fit(X, [1] * 6)) == "|--- class: 1\n"
    with pytest.raises(ValueError, match="feature_names must contain 1 elements, got 2"):
        export_text(model, ["a", "b"])
    with pytest.raises(ValueError, match="not fitted yet"):
        export_text(DecisionTreeRegressor())


def test_a_deep_tree_is_written_without_recursion():
    X = np.arange(2100.0)[:, np.newaxis]
    y = np.arange(2100) % 2
    model = DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() > 1000
    assert export_text(model).count("class") == 2100
    path = model.cost_complexity_pruning_path(X, y)
    assert (np.diff(path.ccp_alphas) >= 0).all() and path.impurities[-1] == 0.5


def test_ferry_tree_of_the_chapter_is_that_of_scikit_learn() -> None:
    """The chapter quotes these numbers of scikit-learn's, which it cannot import."""
    rng = np.random.default_rng(3)
    wind = np.round(80 * rng.beta(2, 2.2, size=200))
    view = np.round(24 * rng.beta(1.2, 2, size=200)) / 2
    sailed = (wind <= 40) & (view > 1.5) | (wind <= 55) & (view > 6)
    X, y = np.column_stack([wind, view]), sailed ^ (rng.random(200) < 1 / 12)
    ours = DecisionTreeClassifier(max_leaf_nodes=5).fit(X, y)
    theirs = sk.DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y)
    inner = theirs.tree_.feature >= 0
    assert theirs.tree_.threshold[inner].tolist() == [1.75, 39.5, 52.5, 6.25]
    quoted = [0.56228485, 0.43771515]
    np.testing.assert_allclose(theirs.feature_importances_, quoted, rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        ours.feature_importances_, theirs.feature_importances_, rtol=1e-12
    )
