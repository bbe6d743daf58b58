"""Decision stumps and AdaBoost: rules of thumb that vote, each weighted by its success.

A stump cuts one feature once and lets the majority of the weight speak on either side.
AdaBoost fits stump after stump. After each, the rows that it got wrong gain weight and
the others lose some, until that stump is no better than guessing on them. With

    error  = weight of the wrong rows,              sum of all weights 1,
    alpha  = 1/2 ln((1 - error) / error) + 1/2 ln(K - 1),
    weight of a row  <-  weight * exp(alpha) if wrong, exp(-alpha) if right

the stumps vote with the weights alpha. For K = 2 classes, y = -1 or 1, this minimises
the sum of exp(-y F(x)), F = sum_t alpha_t h_t, one stump after the other.

Sources: Freund and Schapire (1997); Friedman, Hastie and Tibshirani (2000) for the
exponential loss; Zhu, Zou, Rosset and Hastie (2009) for K classes (SAMME).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier
from mlbook.ensembles.criteria import Criterion, Gini, Misclassification
from mlbook.ensembles.splits import Columns, ExactSplits, OpenNodes, cut_between, pack
from mlbook.ensembles.tree import Ints, Splits, Tree, grow
from mlbook.scaling import largest_exponent
from mlbook.validation import (
    Floats,
    as_float,
    check_bool,
    check_choice,
    check_integer,
    check_number,
    check_sample_weight,
    positive_rows,
    random_generator,
)

CRITERIA = {"error": Misclassification, "gini": Gini}
LEAST_ERROR = float(np.finfo(np.float64).eps)  # a perfect stump counts as this good
NO_EDGE = 1e-12  # an error this close to that of guessing is guessing
SAME_GAIN = 1e-12  # gains are equal up to this share of the weight: sums are rounded
BLOCK = 20000  # numbers of each kind that are priced at once: they stay in the cache
DRAWS = 10  # samples that are tried in a round before it gives up


class TwoClassGini(Gini):
    """Gini's score for two classes of weights a and b, less a + b, which cancels.

    (a^2 + b^2) / (a + b) - (a + b) = -2 a b / (a + b) takes half the time to compute.
    """

    def score(self, sums: Floats) -> Floats:
        first, second = sums
        weight = first + second
        np.maximum(weight, np.finfo(np.float64).tiny, out=weight)  # 0 / 0 is 0 here
        np.divide(-2.0, weight, out=weight)
        weight *= first
        weight *= second
        return weight


class StumpSplits(ExactSplits):
    """The exact split finder for a root alone, whose weights change from fit to fit.

    All features are priced from the orders that ``columns`` sorted once. Cuts whose
    gains differ by rounding alone count as equal, and the first of them wins: the
    lowest feature, then the lowest threshold.

    Parameters
    ----------
    columns : Columns with presorted orders
    y : ndarray of shape (n,), classes as 0, 1, ..., n_classes - 1
    criterion : Criterion on class weights
    """

    def __init__(
        self, columns: Columns, y: Ints, n_classes: int, criterion: Criterion
    ) -> None:
        self.member = np.equal.outer(np.arange(n_classes), y).astype(np.float64)
        super().__init__(columns, self.member, criterion)
        # a cut behind position p needs another value at p + 1
        ranks = np.take_along_axis(columns.rank, columns.order, axis=1)
        self.blocked = ranks[:, 1:] == ranks[:, :-1]

    def weigh(self, weight: Floats) -> StumpSplits:
        """Give the rows new weights, shape (n,); return self."""
        self.weight = weight
        self.stats = self.member * weight
        self.packed = pack(self.stats)
        return self

    def root(self) -> OpenNodes:
        """Return the root; its rows are never sorted again, so one order will do."""
        rows = np.arange(self.n_rows, dtype=np.intp)[np.newaxis]
        return OpenNodes(rows, np.array([self.n_rows]),
                         self.stats.sum(axis=1, keepdims=True))

    def best(self, frontier: OpenNodes) -> Splits:
        """Return the best cut of the root."""
        d = len(self.columns.rank)
        total = frontier.sums[:, 0]
        splits = Splits(np.full(1, -np.inf), np.zeros(1, np.intp), np.zeros(1),
                        np.zeros(1, bool))
        if self.n_rows < 2 or np.count_nonzero(total) < 2:
            return splits  # one row or one class
        size = max(1, BLOCK // (self.n_rows * len(self.packed)))
        blocks = [self.cut_scores(slice(f, f + size), total) for f in range(0, d, size)]
        highest = np.concatenate([scores.max(axis=1) for scores in blocks])
        enough = highest.max() - SAME_GAIN * total.sum()
        if not enough > -np.inf:
            return splits  # every feature is constant
        f = int((highest >= enough).argmax())
        scores = blocks[f // size][f % size]
        place = int((scores >= enough).argmax())
        splits.gain[0] = scores[place] - self.criterion.score(frontier.sums)[0]
        splits.feature[0] = f
        splits.threshold[0] = self._threshold(f, place)
        return splits

    def children(
        self, frontier: OpenNodes, splits: Splits, chosen: NDArray[np.bool_],
        last: bool = True,
    ) -> OpenNodes:
        """Return the two sides of the root; nothing is sorted by feature any more."""
        left = self.columns.by_column[splits.feature[0]] <= splits.threshold[0]
        order = np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)])
        counts = np.array([np.count_nonzero(left), 0])
        counts[1] = self.n_rows - counts[0]
        sums = np.add.reduceat(self.stats.take(order, axis=1), [0, counts[0]], axis=1)
        return OpenNodes(order[np.newaxis], counts, sums)

    def _threshold(self, f: int, place: int) -> float:
        """Return a cut of feature f behind a position, halfway to the next weighty row."""
        order, values = self.columns.order[f], self.columns.by_column[f]
        after = place + 1 + int((self.weight.take(order[place + 1 :]) > 0).argmax())
        return float(cut_between(values[order[[place]]], values[order[[after]]])[0])

    def cut_scores(self, features: slice, total: Floats) -> Floats:
        """Return score(left) + score(right) of every cut, shape (features, n - 1).

        Cuts between equal values score -inf, and so do those without weight on a side.
        """
        order = self.columns.order[features, :-1]
        left = np.empty((self.n_stats, *order.shape))
        for k, values in enumerate(self.packed):
            running = values.take(order)
            np.cumsum(running, axis=1, out=running)
            left[2 * k] = running.real
            if 2 * k + 1 < self.n_stats:
                left[2 * k + 1] = running.imag
        right = total[:, np.newaxis, np.newaxis] - left
        np.maximum(right, 0.0, out=right)  # rounding may leave -1e-16 where 0 is right
        scores = self.criterion.score(left)
        scores += self.criterion.score(right)
        if self.columns.tied[features].any():
            scores[self.blocked[features]] = -np.inf
        if not self.weight.all():  # rows that were not drawn, or whose weight vanished
            weighty = np.cumsum(self.weight.take(order) > 0, axis=1)
            one_side = (weighty == 0) | (weighty == np.count_nonzero(self.weight))
            scores[one_side] = -np.inf
        return scores


@dataclass(frozen=True)
class Stump:
    """x[feature] <= threshold says class ``left``, all else class ``right``.

    Classes are positions 0, 1, ... in ``classes_``. A stump that has found no cut has
    the threshold infinity, so that ``left`` speaks for every row.
    """

    feature: int
    threshold: float
    left: int
    right: int

    def predict(self, X: Floats) -> Ints:
        """Return the class of every row of X, shape (n,)."""
        return np.where(X[:, self.feature] <= self.threshold, self.left, self.right)


def fit_stump(finder: StumpSplits, weight: Floats) -> tuple[Tree, Ints]:
    """Return the best stump for these weights as a tree, and each row's leaf."""
    return grow(finder.weigh(weight), max_depth=1)


def as_stump(tree: Tree) -> Stump:
    """Return a tree of depth at most 1 as a stump; of equal classes the first speaks."""
    classes = tree.sums.argmax(axis=0)
    if tree.node_count == 1:
        return Stump(0, np.inf, int(classes[0]), int(classes[0]))
    return Stump(int(tree.feature[0]), float(tree.threshold[0]),
                 int(classes[1]), int(classes[2]))


class DecisionStump(Classifier):
    """The best cut of one feature, with the majority's class on either side.

    Parameters
    ----------
    criterion : "error" or "gini"
        "error" minimises the weight of the wrong rows, over all cuts of all features
        and all classes on both sides. "gini" minimises the weighted Gini impurity of
        the two sides, as scikit-learn's trees do. Both do so up to 1e-12 of the weight.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    tree_ : Tree of three nodes, or of one for one class or if no cut is possible
        Its ``sums`` are class weights times the power of two that brings the largest
        weight of a row into [1, 2).
    stump_ : Stump

    Among equally good cuts the lowest feature wins, then the lowest threshold; among
    equally heavy classes the first. Cuts whose gains differ by less than 1e-12 of the
    weight count as equally good, so that rows lighter than that may be ignored. A row's
    weight below 1e-307 of the largest may be rounded, even to 0. The search keeps a few
    tables of K x n numbers, which are large for thousands of classes.
    """

    def __init__(self, criterion: str = "error") -> None:
        self.criterion = criterion

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionStump:
        """Fit to X of shape (n, d) and labels y (n,); weights >= 0 (n,) or None."""
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        finder = _finder(X, y, len(self.classes_), self.criterion)
        self.tree_, _ = fit_stump(finder, _relative(weight, len(y)))
        self.stump_ = as_stump(self.tree_)
        return self

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the class shares of the training weight on x's side, shape (m, K)."""
        X = self._check_new_data(X)
        return (self.tree_.sums / self.tree_.sums.sum(axis=0))[:, self.tree_.apply(X)].T

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return labels, shape (m,)."""
        X = self._check_new_data(X)
        return self.classes_[self.stump_.predict(X)]


def _finder(X: Floats, y: Ints, n_classes: int, criterion: str) -> StumpSplits:
    rule = CRITERIA[check_choice("criterion", criterion, list(CRITERIA))]()
    if criterion == "gini" and n_classes == 2:
        rule = TwoClassGini()
    return StumpSplits(Columns(X, presort=True), y, n_classes, rule)


# One round of AdaBoost


def weighted_error(weight: ArrayLike, wrong: ArrayLike) -> float:
    """Return the share of the weight on the wrong rows, in [0, 1]; both of shape (n,).

    Raises ValueError for weights that are negative, not finite or all 0.
    """
    wrong = _vector("wrong", wrong) != 0
    weight = _relative(weight, len(wrong))
    return float(min(weight[wrong].sum() / weight.sum(), 1.0))


def vote_weight(error: float, n_classes: int = 2) -> float:
    """Return alpha = 1/2 ln((1 - error) / error) + 1/2 ln(K - 1) for an error in [0, 1].

    For two classes it is the minimum of (1 - error) exp(-a) + error exp(a). It is 0
    where the error is that of guessing, 1 - 1/K. Errors are kept the machine epsilon
    away from 0 and 1, so that |alpha| is at most 18.03 for two classes.

    Raises ValueError for an error outside [0, 1] or no class.
    """
    error = check_number("error", error, low=0, high=1)
    n_classes = check_integer("n_classes", n_classes, low=1)
    error = min(max(error, LEAST_ERROR), 1 - LEAST_ERROR)
    odds = math.log(max(n_classes - 1, 1))  # of math: for whole numbers of any length
    return float(0.5 * (np.log1p(-error) - np.log(error) + odds))


def row_weights(sample_weight: ArrayLike | None, margin: ArrayLike) -> Floats:
    """Return weights proportional to sample_weight * exp(-margin), (n,), of sum 1.

    The largest exponent is taken out first. A row's margin is the sum of alpha over the
    stumps that were right about it less those that were wrong: y F(x) for two classes.

    Raises ValueError for a margin that is not finite, for weights that are negative,
    not finite or all 0, and for different lengths.
    """
    margin = _vector("margin", margin)
    weight = check_sample_weight(sample_weight, len(margin))
    # log(0) = -inf and a difference that overflows to -inf both mean the weight 0
    with np.errstate(divide="ignore", over="ignore"):
        exponent = np.log(weight) - margin
        weight = np.exp(exponent - exponent.max())
    return weight / weight.sum()


def loss_factor(error: float, alpha: float) -> float:
    """Return (1 - error) exp(-alpha) + error exp(alpha).

    A stump with this error and vote multiplies the exponential loss by that much.

    Raises ValueError unless 0 <= error <= 1 and |alpha| <= 700: exp(710) overflows.
    """
    error = check_number("error", error, low=0, high=1)
    alpha = check_number("alpha", alpha, low=-700, high=700)
    return float((1 - error) * np.exp(-alpha) + error * np.exp(alpha))


def exponential_loss(
    margin: ArrayLike, sample_weight: ArrayLike | None = None
) -> float:
    """Return the (weighted) mean of exp(-margin) over the rows; both of shape (n,).

    It is infinity only where it exceeds the largest float: the exponential of the
    smallest margin is taken out of the mean.
    """
    margin = _vector("margin", margin)
    weight = _relative(sample_weight, len(margin))
    margin, weight = positive_rows(weight, margin, weight)
    low = margin.min()
    with np.errstate(over="ignore"):
        mean = np.average(np.exp(low - margin), weights=weight)
        return float(mean * np.exp(-low) if low > -700 else np.exp(np.log(mean) - low))


def error_bound(errors: ArrayLike) -> Floats:
    """Return prod 2 sqrt(e_t (1 - e_t)) after each of the rounds, shape (rounds,).

    With two classes and a learning rate of 1, the training error is at most that.

    Raises ValueError for an error outside [0, 1].
    """
    errors = _vector("errors", errors)
    if (errors < 0).any() or (errors > 1).any():
        raise ValueError("errors must be >= 0 and <= 1: they are shares of the weight.")
    return np.cumprod(2 * np.sqrt(errors * (1 - errors)))


def _vector(name: str, values: ArrayLike) -> Floats:
    values = as_float(values, name)
    if values.ndim != 1 or not len(values):
        raise ValueError(
            f"{name} must be a vector of at least one entry, got shape {values.shape}."
        )
    return values


def _relative(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Return n checked weights, the largest brought into [1, 2) by a power of two.

    No sum or square of them overflows. A weight is rounded only where it ends below
    2.3e-308, and below 5e-324 it becomes 0.
    """
    weight = check_sample_weight(sample_weight, n)
    return np.ldexp(weight, 1 - largest_exponent(weight))


class AdaBoostClassifier(Classifier):
    """AdaBoost on decision stumps; SAMME for more than two classes.

    Parameters
    ----------
    n_estimators : int >= 1
        Rounds at most.
    criterion : "gini" or "error"
        How a stump picks its cut; see ``DecisionStump``, whose default is "error".
        "gini" is what scikit-learn's default stumps do; "error" is what the exponential
        loss asks for. Gini's gain goes with the square of the edge over guessing, and
        an edge below about 1e-6 is lost in the rounding of gains; "error" sees it.
    learning_rate : float from 1e-100 to 1e100
        Multiplies alpha; beyond these limits votes would overflow or vanish. At 1 a
        step goes to the minimum of the exponential loss along its stump; at 2, with two
        classes, it would go to the point of equal loss on the far side of that minimum,
        and beyond 2 the loss grows. At a tiny rate, such as 1e-20, all probabilities
        round to 1/K; ``predict`` still compares the votes.
    resample : bool
        False: stumps are fitted to weighted rows. True: to n rows drawn with
        replacement, with probabilities equal to the weights, for learners that know no
        weights; the error is that on the weighted rows all the same.
    random_state : None, int or Generator
        For ``resample``.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimators_ : list of Stump
    estimator_weights_ : ndarray of shape (rounds,), alpha times the learning rate
    estimator_errors_ : ndarray of shape (rounds,), weighted errors

    Training stops early after a stump without a mistake on any row (its alpha is
    finite, see ``vote_weight``: the committee may still err), and before a round whose
    search finds none that does better than guessing, error < 1 - 1/K. When that is the
    first round, there is nothing to vote and ``fit`` raises ValueError. With
    ``resample`` a stump that fails because of an unlucky draw gets up to ten draws.
    """

    def __init__(
        self,
        n_estimators: int = 50,
        criterion: str = "gini",
        learning_rate: float = 1.0,
        resample: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.learning_rate = learning_rate
        self.resample = resample
        self.random_state = random_state

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> AdaBoostClassifier:
        """Fit to X of shape (n, d) and labels y (n,); weights >= 0 (n,) or None."""
        X, y, start = self._check_fit_data_and_target(X, y, sample_weight)
        rounds = check_integer("n_estimators", self.n_estimators, low=1)
        rate = check_number("learning_rate", self.learning_rate, low=1e-100, high=1e100)
        rng = random_generator(self.random_state)
        rng = rng if check_bool("resample", self.resample) else None
        n_classes = len(self.classes_)
        finder = _finder(X, y, n_classes, self.criterion)
        margin = np.zeros(len(y))
        stumps, alphas, errors = [], [], []
        for _ in range(rounds):
            weight = row_weights(start, margin)
            stump, wrong, error = _round(finder, weight, y, rng)
            if n_classes > 1 and error >= 1 - 1 / n_classes - NO_EDGE:
                break
            alpha = rate * vote_weight(error, n_classes)
            margin += np.where(wrong, -alpha, alpha)
            stumps.append(stump)
            alphas.append(alpha)
            errors.append(error)
            if not wrong.any():
                break
        if not stumps:
            raise ValueError(
                "No stump does better than guessing a class: boosting cannot start. "
                "Add features, or products of features, that say something on their "
                "own. Edges below about 1e-6 are seen only with criterion='error'."
            )
        self.estimators_ = stumps
        self.estimator_weights_ = np.array(alphas)
        self.estimator_errors_ = np.array(errors)
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return F = sum_t alpha_t h_t, shape (m,), h_t = 1 for the second class.

        With K != 2 classes the sum of alpha over the stumps that vote for each class,
        shape (m, K).
        """
        *_, score = self.staged_decision_function(X)
        return score

    def staged_decision_function(self, X: ArrayLike) -> Iterator[Floats]:
        """Return an iterator over ``decision_function`` after 1, 2, ... rounds."""
        X = self._check_new_data(X)  # here, so that a wrong X raises at once
        return (votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes.copy()
                for votes in self._staged_votes(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return labels, shape (m,): of the class with most votes, the first if equal."""
        votes = self._votes(self._check_new_data(X))
        return self.classes_[votes.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return probabilities proportional to exp(2 votes), shape (m, K).

        They are what the exponential loss would have its minimum at if it were
        minimised over all functions: for two classes 1 / (1 + exp(-2 F)). Boosted for
        long, they are far too sure.
        """
        doubled = 2 * self._votes(self._check_new_data(X))
        shares = np.exp(doubled - doubled.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    def _votes(self, X: Floats) -> Floats:
        *_, votes = self._staged_votes(X)
        return votes

    def _staged_votes(self, X: Floats) -> Iterator[Floats]:
        """Return the votes of the stumps there are now, whatever is fitted later."""
        return _running_votes(X, len(self.classes_), self.estimators_,
                              self.estimator_weights_)


def _running_votes(
    X: Floats, n_classes: int, stumps: list[Stump], alphas: Floats
) -> Iterator[Floats]:
    """Yield the votes for each class, (m, K): one array, which goes on growing."""
    votes = np.zeros((len(X), n_classes))
    rows = np.arange(len(X))
    for stump, alpha in zip(stumps, alphas, strict=True):
        votes[rows, stump.predict(X)] += alpha
        yield votes


def _round(
    finder: StumpSplits, weight: Floats, y: Ints, rng: np.random.Generator | None
) -> tuple[Stump, NDArray[np.bool_], float]:
    """Return the stump of one round, where it is wrong, and its weighted error."""
    for _ in range(1 if rng is None else DRAWS):
        tree, leaf = fit_stump(finder, weight if rng is None else _draw(weight, rng))
        wrong = tree.sums.argmax(axis=0)[leaf] != y
        error = weighted_error(weight, wrong)
        if error < 1 - 1 / len(tree.sums) - NO_EDGE:
            break
    return as_stump(tree), wrong, error


def _draw(weight: Floats, rng: np.random.Generator) -> Floats:
    """Return how often each of n rows is drawn, shape (n,)."""
    return rng.multinomial(len(weight), weight / weight.sum()).astype(np.float64)
