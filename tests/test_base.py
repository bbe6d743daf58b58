"""The estimator contract, held against scikit-learn and over every estimator."""

import copy
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn.exceptions
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    parametrize_with_checks,
)

import mlbook
from mlbook import base, exceptions, validation
from mlbook.base import Classifier, Estimator, Regressor, Transformer
from mlbook.foundations.bias_variance import PolynomialRegression
from mlbook.generative.discriminant_analysis import LinearDiscriminantAnalysis
from mlbook.linear.ridge import Ridge
from mlbook.preprocessing import StandardScaler

AS_THEIRS = (
    "scikit-learn exempts its own: sums of weighted and of repeated rows round otherwise "
    "and break ties otherwise, or a bootstrap draws other rows"
)
NOT_SEPARABLE = "the check fits classes that no hyperplane separates"

# Checks of scikit-learn's that an estimator need not pass, each with its reason.
EXEMPT: dict[str, dict[str, str]] = {
    **{
        name: {"check_sample_weight_equivalence_on_dense_data": AS_THEIRS}
        for name in (
            "BaggingClassifier",
            "BaggingRegressor",
            "GradientBoostingClassifier",
            "GradientBoostingRegressor",
            "LGBMClassifier",
            "LGBMRegressor",
            "LinearBlend",
            "RandomForestClassifier",
            "RandomForestRegressor",
            "StackingClassifier",
            "StackingRegressor",
        )
    },
    "DecisionStump": {
        "check_classifiers_train": "one cut cannot tell three classes apart",
    },
    "HardMarginSVC": dict.fromkeys(
        [
            "check_classifier_data_not_an_array",
            "check_classifiers_train",
            "check_dataframe_column_names_consistency",
            "check_dtype_object",
            "check_estimators_dtypes",
            "check_estimators_nan_inf",
            "check_fit_check_is_fitted",
            "check_fit_idempotent",
            "check_fit_score_takes_y",
            "check_n_features_in",
            "check_n_features_in_after_fitting",
            "check_supervised_y_2d",
        ],
        NOT_SEPARABLE,
    ),
    "KMeans": {
        "check_sample_weight_equivalence_on_dense_data":
        "the check shuffles the rows, and the random start depends on their order",
    },
    "RBFInterpolator": {
        "check_positive_only_tag_during_fit": "the check's data hold a row twice",
    },
    "RBFNetwork": {
        "check_regressors_train": "few bumps do not explain a line in ten dimensions",
    },
}

# Estimators that are fitted to classes a hyperplane separates.
NEED_SEPARABLE_CLASSES = {"HardMarginSVC"}

# Iterations that stop at a tolerance are tested at a tight one where two fits must
# agree: weighted rows and repeated rows take different paths to one optimum.
# Some of the checks' data have four distinct rows, too few for eight centres.
# Random learners have a seed, and ensembles few members, so that the suite stays quick.
ARGUMENTS: dict[str, dict[str, float]] = {
    "AdaBoostClassifier": {"n_estimators": 10},
    "BaggingClassifier": {"n_estimators": 5, "random_state": 0},
    "BaggingRegressor": {"n_estimators": 5, "random_state": 0},
    "GradientBoostingClassifier": {"n_estimators": 5},
    "GradientBoostingRegressor": {"n_estimators": 5},
    "KMeans": {"n_clusters": 4},
    "LGBMClassifier": {"n_estimators": 5, "min_child_samples": 2},
    "LGBMRegressor": {"n_estimators": 5, "min_child_samples": 2},
    "LinearBlend": {"random_state": 0},
    "RBFNetwork": {"n_centers": 4},
    "RandomForestClassifier": {"n_estimators": 10, "random_state": 0},
    "RandomForestRegressor": {"n_estimators": 10, "random_state": 0},
    "SVC": {"tol": 1e-12},
    "SVR": {"tol": 1e-12},
    "XGBClassifier": {"n_estimators": 5},
    "XGBRegressor": {"n_estimators": 5},
}

# Estimators whose model may change when a row of weight k becomes k rows, each with
# its reason: learners that draw rows at random, or that start from their number.
WEIGHTS_ARE_NOT_COUNTS: dict[str, str] = {
    "BaggingClassifier": "the bootstrap draws rows",
    "BaggingRegressor": "the bootstrap draws rows",
    "LGBMClassifier": "the rows of a child are counted, as in the library",
    "LGBMRegressor": "the rows of a child are counted, as in the library",
    "LinearBlend": "rows are drawn for the weights",
    "RandomForestClassifier": "the bootstrap draws rows",
    "RandomForestRegressor": "the bootstrap draws rows",
    "StackingClassifier": "rows are dealt out to folds",
    "StackingRegressor": "rows are dealt out to folds",
}


def all_estimators():
    """Every public estimator class of the package, found by walking its modules."""
    found = {}
    for module_info in pkgutil.walk_packages(mlbook.__path__, "mlbook."):
        module = importlib.import_module(module_info.name)
        for name, cls in inspect.getmembers(module, inspect.isclass):
            own = cls.__module__ == module.__name__ != base.__name__
            if own and issubclass(cls, Estimator) and not name.startswith("_"):
                found[name] = cls
    return [found[name] for name in sorted(found)]


def parameters(function):
    return inspect.signature(function).parameters


ESTIMATORS = all_estimators()
CLASSIFIERS = [cls for cls in ESTIMATORS if issubclass(cls, Classifier)]
WEIGHTED = [cls for cls in ESTIMATORS if "sample_weight" in parameters(cls.fit)]
RANDOM = [cls for cls in ESTIMATORS if "random_state" in parameters(cls)]
SUPERVISED = [cls for cls in ESTIMATORS if issubclass(cls, (Classifier, Regressor))]


def over(classes):
    return pytest.mark.parametrize("cls", classes, ids=lambda cls: cls.__name__)


each = over(ESTIMATORS)


def data(cls, n=40, d=3):
    """Features, and a target of the estimator's kind, that any of them can learn."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(n, d))
    score = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)
    if cls.__name__ in NEED_SEPARABLE_CLASSES:
        X[:, 0] += 2 * np.sign(score)
    return X, (score > 0).astype(int) if issubclass(cls, Classifier) else score


def make(cls):
    """The estimator with its defaults, but for those that ARGUMENTS replaces."""
    return cls(**ARGUMENTS.get(cls.__name__, {}))


def output(model, X):
    """What the model says about X: the finest of its outputs."""
    for method in ("predict_proba", "decision_function", "transform", "predict"):
        if hasattr(model, method):
            return getattr(model, method)(X)
    raise AssertionError(f"{model} has no output")


def test_the_package_was_walked():
    names = {cls.__name__ for cls in ESTIMATORS}
    assert {"LinearDiscriminantAnalysis", "Ridge", "StandardScaler"} <= names
    kinds = (Classifier, Regressor, Transformer)
    assert all(any(issubclass(cls, kind) for cls in ESTIMATORS) for kind in kinds)
    tables = (EXEMPT, WEIGHTS_ARE_NOT_COUNTS, ARGUMENTS)
    assert set().union(*tables, NEED_SEPARABLE_CLASSES) <= names


# scikit-learn's own suite


@parametrize_with_checks(
    [make(cls) for cls in ESTIMATORS],
    expected_failed_checks=lambda estimator: EXEMPT.get(type(estimator).__name__, {}),
)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or one of the checks is skipped
    check(estimator)


# Only a few of scikit-learn's checks of data frames run in that suite.
@over([cls for cls in ESTIMATORS if check_dataframe_column_names_consistency.__name__
       not in EXEMPT.get(cls.__name__, {})])
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_data_frame_columns(cls):
    check_dataframe_column_names_consistency(cls.__name__, make(cls))


# In scikit-learn's company


def test_pipeline_and_grid_search():
    X, y = data(LinearDiscriminantAnalysis, n=90)
    pipeline = Pipeline(
        [("scale", StandardScaler()), ("classify", LinearDiscriminantAnalysis())]
    )
    accuracy = pipeline.fit(X, y).score(X, y)
    assert accuracy == accuracy_score(y, pipeline.predict(X)) > 0.8
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1e6]}
    )
    X, y = data(Ridge, n=90)
    assert search.fit(X, y).best_params_ == {"ridge__alpha": 0.1}
    assert search.best_score_ == pytest.approx(search.cv_results_["mean_test_score"][0])


def test_cross_val_score():
    X, y = data(LinearDiscriminantAnalysis, n=90)
    text = np.array(["no", "yes"])[y]
    scores = cross_val_score(LinearDiscriminantAnalysis(), X, text)
    np.testing.assert_array_equal(
        scores, cross_val_score(LinearDiscriminantAnalysis(), X, y)
    )
    assert scores.shape == (5,) and scores.mean() > 0.8
    X, y = data(Ridge)
    assert cross_val_score(PolynomialRegression(1), X, y).mean() > 0.8


def test_decision_boundary_display():
    X, y = data(LinearDiscriminantAnalysis, d=2)
    model = LinearDiscriminantAnalysis().fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(
        model, X, grid_resolution=7, response_method="predict"
    )
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    np.testing.assert_array_equal(display.response.ravel(), model.predict(grid))
    plt.close("all")


def test_scikit_learn_knows_what_they_are():
    assert is_classifier(LinearDiscriminantAnalysis())
    assert is_regressor(Ridge()) and not is_classifier(Ridge())


@each
def test_clone_pickle_and_deepcopy(cls):
    X, y = data(cls)
    model = make(cls).fit(X, y)
    for twin in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        clone(model).fit(X, y),
    ):
        np.testing.assert_array_equal(output(twin, X), output(model, X))
    assert not any(name.endswith("_") for name in vars(clone(model)))


@each
def test_a_fit_that_fails_leaves_the_old_model(cls):
    X, y = data(cls)
    model = make(cls).fit(X, y)
    before, learnt = output(model, X), dict(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((5, X.shape[1] + 1), np.inf), y[:5])
    assert vars(model).keys() == learnt.keys()
    np.testing.assert_array_equal(output(model, X), before)


def test_a_fit_that_fails_half_way_leaves_the_old_model():
    class Half(Regressor):
        def fit(self, X, y):
            X, y, _ = self._check_fit_data_and_target(X, y)
            self.mean_ = float(y.mean())
            if self.mean_ < 0:
                raise ValueError("cannot")
            return self

    model = Half().fit([[1.0]], [1.0])
    with pytest.raises(ValueError, match="cannot"):
        model.fit([[1.0, 2.0]], [-1.0])
    assert vars(model) == {"n_features_in_": 1, "mean_": 1.0}
    new = Half()
    with pytest.raises(ValueError, match="cannot"):
        new.fit([[1.0, 2.0]], [-1.0])
    assert vars(new) == {}


def test_importing_the_package_never_imports_scikit_learn():
    """And a model fits, predicts, fails and warns without it, by our own classes."""
    code = """
import importlib, pkgutil, sys, warnings
import mlbook, numpy as np
for module in pkgutil.walk_packages(mlbook.__path__, "mlbook."):
    importlib.import_module(module.name)
from mlbook import exceptions
from mlbook.linear.ridge import Ridge
try:
    Ridge().predict([[1.0]])
except exceptions.NotFittedError as error:
    assert "not fitted yet" in str(error), error
print(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]).score([[0.0], [1.0]], [0.0, 1.0]))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    Ridge().fit([[0.0], [1.0]], [[0.0], [1.0]])
    exceptions.warn_not_converged("no")
assert [w.category for w in caught] == [
    exceptions.DataConversionWarning, exceptions.ConvergenceWarning], caught
loaded = [name for name in sys.modules if name.split(".")[0] in
          ("sklearn", "scipy", "pandas", "torch", "xgboost", "lightgbm")]
assert not loaded, loaded
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=Path(mlbook.__file__).parents[1],
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_scikit_learn_classes_are_used_once_it_is_loaded():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        Ridge().predict([[1.0]])
    with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="after 3"):
        exceptions.warn_not_converged("stopped after 3 iterations")
    with pytest.warns(sklearn.exceptions.DataConversionWarning, match="column-vector"):
        Ridge().fit([[0.0], [1.0]], [[0.0], [1.0]])


# Any estimator


@over(CLASSIFIERS)
def test_any_sortable_labels_give_the_same_model(cls):
    X, y = data(cls)
    expected = make(cls).fit(X, y)
    for labels in (np.array([-1, 1]), np.array(["a", "b"]), np.array([False, True])):
        model = make(cls).fit(X, labels[y])
        np.testing.assert_array_equal(output(model, X), output(expected, X))
        np.testing.assert_array_equal(model.predict(X), labels[expected.predict(X)])
        np.testing.assert_array_equal(model.classes_, labels)
    mixed = np.array(["b", "a"], dtype=object)
    assert set(make(cls).fit(X, mixed[y]).predict(X)) == {"a", "b"}


@each
def test_integer_input_is_not_truncated(cls):
    X, y = data(cls)
    whole = np.round(X * 10).astype(int)
    expected = output(make(cls).fit(whole.astype(float), y), whole.astype(float))
    np.testing.assert_array_equal(output(make(cls).fit(whole, y), whole), expected)


@each
def test_read_only_input_fits_and_nothing_is_written(cls):
    X, y = data(cls)
    weight = np.ones(len(X))
    for array in (X, y, weight):
        array.flags.writeable = False
    saved = X.copy(), y.copy()
    model = make(cls).fit(X, y)
    if cls in WEIGHTED:
        model.fit(X, y, sample_weight=weight)
    output(model, X)
    np.testing.assert_array_equal(X, saved[0])
    np.testing.assert_array_equal(y, saved[1])


@each
def test_another_number_of_columns(cls):
    X, y = data(cls, d=4)
    model = make(cls).fit(X, y)
    message = f"X has 1 features, but {cls.__name__} is expecting 4 features as input"
    with pytest.raises(ValueError, match=message):
        output(model, X[:, :1])


@over([cls for cls in WEIGHTED if cls.__name__ not in WEIGHTS_ARE_NOT_COUNTS])
def test_weights_are_counts(cls):
    X, y = data(cls)
    counts = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = make(cls).fit(X, y, sample_weight=counts)
    repeated = make(cls).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(output(weighted, X), output(repeated, X), rtol=1e-9)
    unweighted = output(make(cls).fit(X, y), X)
    assert not np.allclose(output(weighted, X), unweighted), "weights had no effect"


@over(WEIGHTED)
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(40), "All of sample_weight is zero"),
        (np.ones(39), r"sample_weight.shape == \(39,\), expected \(40,\)"),
        (np.ones((40, 1)), r"sample_weight.shape == \(40, 1\), expected \(40,\)"),
        (-np.ones(40), "Negative values in sample_weight"),
        (np.full(40, np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_weights(cls, weight, message):
    X, y = data(cls)
    with pytest.raises(ValueError, match=message):
        make(cls).fit(X, y, sample_weight=weight)


class Drawing(Regressor):
    """Stands for the random learners as long as the package has few."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        X, y, _ = self._check_fit_data_and_target(X, y)
        self.coef_ = validation.random_generator(self.random_state).normal(size=X.shape[1])
        return self

    def predict(self, X):
        return self._check_new_data(X) @ self.coef_


@over([Drawing, *RANDOM])
def test_the_same_random_state_twice(cls):
    X, y = data(cls)
    model = cls(random_state=3).fit(X, y)
    first = output(model, X)
    np.testing.assert_array_equal(output(model.fit(X, y), X), first)
    np.testing.assert_array_equal(output(cls(random_state=3).fit(X, y), X), first)


@over(CLASSIFIERS)
def test_one_class_only(cls):
    X, _ = data(cls)
    try:
        model = make(cls).fit(X, np.full(len(X), "only"))
    except ValueError as error:
        assert "class" in str(error)
        return
    assert set(model.predict(X)) == {"only"}
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))


@each
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((0, 3)), "0 sample"),
        (np.zeros((40, 0)), r"0 feature\(s\) \(shape=\(40, 0\)\) while a minimum of 1"),
        (np.zeros(40), "Reshape your data"),
        (np.zeros((40, 3), dtype=complex), "Complex data not supported"),
        (np.full((40, 3), "1"), "X must be numeric, got an array of <U1"),
        (np.full((40, 3), "2020-01-01", dtype="M8[D]"), "X must be numeric"),
        (np.full((40, 3), np.inf), "Input X contains infinity"),
    ],
)
def test_bad_features(cls, bad, message):
    _, y = data(cls)
    with pytest.raises(ValueError, match=message):
        make(cls).fit(bad, y)
    if bad.shape != (40, 0):
        X, y = data(cls)
        with pytest.raises(ValueError, match=message):
            output(make(cls).fit(X, y), bad)


@each
def test_missing_values_are_named(cls):
    X, y = data(cls)
    holes = X.copy()
    holes[3, 1] = np.nan
    if cls._allow_nan:
        assert np.isfinite(output(make(cls).fit(holes, y), holes)).all()
        return
    for use in (lambda: make(cls).fit(holes, y), lambda: output(make(cls).fit(X, y), holes)):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            use()


@each
def test_sparse_is_rejected_by_name(cls):
    X, y = data(cls)
    with pytest.raises(TypeError, match="Sparse X was passed, but dense data is requi"):
        make(cls).fit(sparse.csr_array(X), y)


@over(SUPERVISED)
def test_bad_targets(cls):
    X, y = data(cls)
    bad = [
        (None, ValueError, "requires y to be passed, but the target y is None"),
        (y[:-1], ValueError, r"inconsistent numbers of samples: \[40, 39\]"),
        (np.column_stack([y, y]), ValueError, r"1d array, got an array of .*\(40, 2\)"),
        (np.full(40, np.nan), ValueError, "Input y contains NaN"),
        (y * 1j, ValueError, "Complex data not supported"),
        (sparse.csr_array(y), TypeError, "Sparse y"),
    ]
    if issubclass(cls, Classifier):
        bad += [
            (y + 0.5, ValueError, "Unknown label type: continuous"),
            (np.array(["a", 1] * 20, dtype=object), TypeError, "mixture of .*int.*str"),
        ]
    for target, error, message in bad:
        with pytest.raises(error, match=message):
            make(cls).fit(X, target)


@each
def test_not_fitted(cls):
    with pytest.raises(
        sklearn.exceptions.NotFittedError,
        match=f"This {cls.__name__} instance is not fitted yet",
    ):
        output(make(cls), np.zeros((2, 3)))


@each
def test_a_failed_fit_leaves_the_estimator_unfitted(cls):
    X, y = data(cls)
    model = make(cls)
    with pytest.raises(ValueError, match="inconsistent|expected"):
        if issubclass(cls, (Classifier, Regressor)):
            model.fit(X, y[:-1])
        else:
            model.fit(X, sample_weight=np.ones(39))
    assert not [name for name in vars(model) if name.endswith("_")]


@each
def test_float32_is_computed_in_float64(cls):
    X, y = data(cls)
    single = X.astype(np.float32)
    double = single.astype(np.float64)
    result = output(make(cls).fit(single, y), single)
    np.testing.assert_array_equal(result, output(make(cls).fit(double, y), double))


@each
def test_init_stores_its_parameters_and_nothing_else(cls):
    model = cls()
    assert vars(model) == model.get_params(deep=False)
    assert repr(model) == f"{cls.__name__}()"


# Parameters


class Outer(Estimator):
    def __init__(self, inner=None, size=1):
        self.inner = inner
        self.size = size


def test_get_and_set_params():
    outer = Outer(inner=Ridge(alpha=2.0))
    assert outer.get_params(deep=False) == {"inner": outer.inner, "size": 1}
    assert outer.get_params()["inner__alpha"] == 2.0
    assert outer.set_params(inner__alpha=3.0, size=5) is outer
    assert (outer.inner.alpha, outer.size) == (3.0, 5)
    outer.set_params(inner__alpha=7.0, inner=Ridge())  # the new one gets the 7
    assert outer.inner.alpha == 7.0
    assert repr(outer) == "Outer(inner=Ridge(alpha=7.0), size=5)"
    with pytest.raises(ValueError, match=r"'sise' for estimator Outer\(.*'size'"):
        outer.set_params(sise=2)
    with pytest.raises(ValueError, match=r"'beta' for estimator Ridge\(.*'alpha'"):
        outer.set_params(inner__beta=2)


def test_set_params_sets_nothing_when_one_is_unknown():
    ridge = Ridge()
    with pytest.raises(ValueError, match="Invalid parameter 'beta'"):
        ridge.set_params(alpha=5.0, beta=1.0)
    assert ridge.alpha == 1.0


# Feature names


def test_feature_names():
    X, y = data(Ridge)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = Ridge().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    model.predict(frame)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but Ri"):
        model.predict(X)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(frame[["b", "a", "c"]])
    with pytest.raises(ValueError, match="(?s)unseen at fit.*- d\n.*missing:\n- c\n"):
        model.predict(frame.rename(columns={"c": "d"}))
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    with pytest.warns(UserWarning, match="X has feature names, but Ridge was fitted w"):
        model.predict(frame)
    with pytest.raises(TypeError, match="all input features have string names"):
        model.fit(frame.rename(columns={"c": 3}), y)


# Scores, randomness and conversions


def test_scores_are_scikit_learns():
    rng = np.random.default_rng(0)
    weight = rng.uniform(0, 2, size=40)
    X, y = data(Ridge)
    model = Ridge(alpha=20.0).fit(X, y)
    assert model.score(X, y, weight) == pytest.approx(
        r2_score(y, model.predict(X), sample_weight=weight)
    )
    X, y = data(LinearDiscriminantAnalysis)
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert model.score(X, y, weight) == pytest.approx(
        accuracy_score(y, model.predict(X), sample_weight=weight)
    )


def test_score_of_a_constant_target_and_of_another_length():
    X, y = data(Ridge)
    constant = Ridge().fit(X, np.ones(40))
    assert constant.score(X, np.ones(40)) == 1.0
    assert Ridge().fit(X, y).score(X, np.ones(40)) == 0.0
    classifier = LinearDiscriminantAnalysis().fit(X, y > 0)
    for model in (constant, classifier):
        with pytest.raises(ValueError, match=r"the prediction, \(40,\), got \(1,\)"):
            model.score(X, [1.0])


def test_random_generator():
    first, second = (validation.random_generator(5).normal(size=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    own = np.random.default_rng(0)
    assert validation.random_generator(own) is own
    for bad, error in ((-1, ValueError), ("x", TypeError), (1.5, TypeError)):
        with pytest.raises(error, match="random_state must be None, a non-negative"):
            validation.random_generator(bad)


def test_as_float_copies_nothing_it_need_not_and_guards_the_callers_array():
    values = np.ones((2, 2))
    array = validation.as_float(values)
    assert np.shares_memory(values, array)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 5.0
    values[0, 0] = 2.0
    assert validation.as_float([[True, False]]).tolist() == [[1.0, 0.0]]
    assert np.isnan(validation.as_float([np.nan], allow_nan=True)).all()
    with pytest.raises(ValueError, match="infinity"):
        validation.as_float([np.nan, np.inf], allow_nan=True)


def test_r2_of_a_constant_target():
    for value in (0.1, 1 / 3, 7.7):
        y = np.full(60, value)
        model = Ridge().fit(np.arange(60.0)[:, np.newaxis], np.arange(60.0))
        assert model.score(np.arange(60.0)[:, np.newaxis], y) == 0
