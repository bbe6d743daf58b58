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

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlbook.base import Classifier
from mlbook.ensembles.criteria import Criterion, Gini, Misclassification
from mlbook.ensembles.splits import Columns, ExactSplits, OpenNodes, cut_between, pack
from mlbook.ensembles.tree import Ints, Splits, Tree, grow
from mlbook.validation import (
    Floats,
    check_bool,
    check_choice,
    check_integer,
    check_number,
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

        Cuts between equal values score -inf.
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
        scores = self.criterion.score(left)
        scores += self.criterion.score(right)
        if self.columns.tied[features].any():
            scores[self.blocked[features]] = -np.inf
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
        the two sides, as scikit-learn's trees do.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    tree_ : Tree of one node (no cut was possible or needed) or three
    stump_ : Stump

    Among equally good cuts the lowest feature wins, then the lowest threshold; among
    equally heavy classes the first.
    """

    def __init__(self, criterion: str = "error") -> None:
        self.criterion = criterion

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> DecisionStump:
        """Fit to X of shape (n, d) and labels y (n,); weights >= 0 (n,) or None."""
        X, y, weight = self._check_fit_data_and_target(X, y, sample_weight)
        finder = _finder(X, y, len(self.classes_), self.criterion)
        self.tree_, _ = fit_stump(finder, weight)
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


def weighted_error(weight: Floats, wrong: NDArray[np.bool_]) -> float:
    """Return the share of the weight on the wrong rows, in [0, 1]."""
    return float(weight[wrong].sum() / weight.sum())


def vote_weight(error: float, n_classes: int = 2) -> float:
    """Return alpha = 1/2 ln((1 - error) / error) + 1/2 ln(K - 1) for an error in [0, 1].

    For two classes it is the minimum of (1 - error) exp(-a) + error exp(a). It is 0
    where the error is that of guessing, 1 - 1/K. Errors are kept the machine epsilon
    away from 0 and 1, so that |alpha| is at most 18.03 for two classes.
    """
    error = min(max(error, LEAST_ERROR), 1 - LEAST_ERROR)
    return float(0.5 * (np.log1p(-error) - np.log(error) + np.log(max(n_classes - 1, 1))))


def row_weights(sample_weight: Floats, margin: Floats) -> Floats:
    """Return weights proportional to sample_weight * exp(-margin), of sum 1.

    The largest exponent is taken out first. A row's margin is the sum of alpha over the
    stumps that were right about it less those that were wrong: y F(x) for two classes.
    """
    weight = sample_weight * np.exp(margin.min() - margin)
    return weight / weight.sum()


def loss_factor(error: float, alpha: float) -> float:
    """Return (1 - error) exp(-alpha) + error exp(alpha).

    A stump with this error and vote multiplies the exponential loss by that much.
    """
    return float((1 - error) * np.exp(-alpha) + error * np.exp(alpha))


def exponential_loss(margin: Floats, sample_weight: Floats | None = None) -> float:
    """Return the (weighted) mean of exp(-margin) over the rows."""
    return float(np.average(np.exp(-margin), weights=sample_weight))


def error_bound(errors: ArrayLike) -> Floats:
    """Return prod 2 sqrt(e_t (1 - e_t)) after each of the rounds, shape (rounds,).

    With two classes and a learning rate of 1, the training error is at most that.
    """
    errors = np.asarray(errors, dtype=np.float64)
    return np.cumprod(2 * np.sqrt(errors * (1 - errors)))


class AdaBoostClassifier(Classifier):
    """AdaBoost on decision stumps; SAMME for more than two classes.

    Parameters
    ----------
    n_estimators : int >= 1
        Rounds at most.
    criterion : "gini" or "error"
        How a stump picks its cut; see ``DecisionStump``. "gini" is what scikit-learn's
        default stumps do; "error" is what the exponential loss asks for.
    learning_rate : float > 0
        Multiplies alpha. At 1 a step goes to the minimum of the exponential loss along
        its stump; at 2, with two classes, it would go to the point of equal loss on the
        far side of that minimum, and beyond 2 the loss grows.
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

    Training stops early after a stump without error (its alpha is finite, see
    ``vote_weight``), and before one that does no better than guessing, error
    >= 1 - 1/K. When that is the first one, there is nothing to vote and ``fit`` raises
    ValueError. With ``resample`` a stump that fails because of an unlucky draw gets up
    to ten draws.
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
        rate = check_number("learning_rate", self.learning_rate, above=0)
        check_bool("resample", self.resample)
        rng = random_generator(self.random_state) if self.resample else None
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
            if error == 0:
                break
        if not stumps:
            raise ValueError(
                "No stump does better than guessing a class: boosting cannot start. "
                "Add features, or products of features, that say something on their own."
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
        """Yield ``decision_function`` after 1, 2, ... rounds."""
        for votes in self._staged_votes(self._check_new_data(X)):
            yield votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes.copy()

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
        """Yield the votes for each class, (m, K): one array, which goes on growing."""
        votes = np.zeros((len(X), len(self.classes_)))
        rows = np.arange(len(X))
        for stump, alpha in zip(self.estimators_, self.estimator_weights_, strict=True):
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
