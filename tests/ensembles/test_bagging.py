"""Blends, stacks and bags held to scikit-learn, to exact results and to sums by hand."""

import itertools
import warnings

import numpy as np
import pytest
from sklearn import ensemble
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.linear_model import Ridge as LibraryRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
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
    fresh_copy,
    k_fold,
    minimum_variance_weights,
    out_of_fold,
    sample_size,
    stratified_k_fold,
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
    for scale in (1e-120, 1e120):
        for find in (affine_weights, convex_weights):
            np.testing.assert_allclose(find(scale * D), find(D), atol=1e-12)


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
    ]:
        with pytest.raises(ValueError, match=message):
            make()


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
    blend = LinearBlend(members, random_state=0).fit(X, y)
    np.testing.assert_allclose(blend.predict(Z), alone @ blend.weights_)


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
    """Members with probabilities and with a decision function; labels are text."""
    X, codes = classes(K=K)
    y = np.array(["c", "a", "b"])[codes]
    members = [("bayes", GaussianNB()), ("svc", LinearSVC(random_state=0))]
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


def test_refitting_forgets_the_old_out_of_bag_score():
    X, y = numbers(n=60)
    bag = BaggingRegressor(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    bag.set_params(oob_score=False).fit(X, y)
    for name in ("oob_score_", "oob_count_", "oob_prediction_"):
        assert not hasattr(bag, name)


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


@pytest.mark.parametrize(("n", "size"), [(1, 3), (2, 2), (5, 3), (10, 10)])
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


def test_rows_are_drawn_in_proportion_to_their_weights():
    rng = np.random.default_rng(0)
    weight = np.array([0.0, 1.0, 2.0, 5.0])
    X, y = np.arange(4.0)[:, None], np.arange(4.0)
    bag = BaggingRegressor(n_estimators=3000, random_state=0).fit(X, y, weight)
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


@pytest.mark.parametrize(
    ("estimators", "message"),
    [([], "at least one"), ([("a", Ridge()), ("a", Ridge())], "each name used once"),
     ([Ridge()], "pairs"), ([("a__b", Ridge())], "must not contain"),
     ([("estimators", Ridge())], "nor be one of")],
)
@pytest.mark.parametrize("cls", [UniformBlend, LinearBlend, StackingRegressor,
                                 StackingClassifier])
def test_bad_teams(cls, estimators, message):
    X, y = classes(n=30, K=2)
    with pytest.raises(ValueError, match=message):
        cls(estimators).fit(X, y)


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
        (StackingRegressor(cv="5"), TypeError, "cv must be a whole number"),
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
                         ([[1.0, 2.0], [2.0, 1.0]], "positive semi-definite"),
                         ([[1.0, 2.0]], "symmetric")]:
        with pytest.raises(ValueError, match=message):
            minimum_variance_weights(bad)
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
