"""The bridge: a formula against a function, and every way the two can differ."""

import numpy as np
import pytest

from mlbook.symbolic import (
    Disagreement,
    agree,
    fraction,
    index,
    key_lines,
    log,
    matrix,
    rows,
    scalars,
    sequence,
    sizes,
    total,
    vector,
)

n, d = sizes("n d")
i, j = index("i", n), index("j", d)
w, x, y = vector("w", d), rows("x", n, d), sequence("y", n)
c, u = scalars("c u")
rate = scalars("eta", positive=True)
A = matrix("A", n, d)
loss = total((y[i] - w @ x[i])**2, i) / n
SIZES = {n: (2, 6), d: (1, 4)}


def mean_square(w, x, y):
    """The loss as the package would have it."""
    return np.mean((y - x @ w) ** 2)


def test_what_agrees_is_reported():
    report = agree(loss, mean_square, [w, x, y], sizes=SIZES, name="mean_square")
    assert report.trials == 50 and report.largest < 1e-12
    assert str(report) == (
        "mean_square agrees with the formula on 50 random inputs with n = 2 to 6, "
        "d = 1 to 4: largest difference below 1e-12")
    assert "mean_square" in agree(loss, mean_square, [w, x, y], sizes=SIZES).name


def test_every_size_is_drawn():
    met = set()

    def spy(w, x, y):
        met.add(x.shape)
        return mean_square(w, x, y)

    agree(loss, spy, [w, x, y], sizes=SIZES, trials=200)
    assert met == {(rows, columns) for rows in range(2, 7) for columns in range(1, 5)}


@pytest.mark.parametrize("wrong", [
    lambda w, x, y: mean_square(w, x, y) * (1 + 1e-9),
    lambda w, x, y: np.sum((y - x @ w) ** 2),
    lambda w, x, y: np.mean((y + x @ w) ** 2),
    lambda w, x, y: mean_square(w, x, y) + (0.1 if len(w) == 3 else 0),
    lambda w, x, y: np.nan,
    lambda w, x, y: np.inf,
    lambda w, x, y: None,
    lambda w, x, y: (y - x @ w) ** 2,
    lambda w, x, y: np.array([mean_square(w, x, y)])],
    ids=["digits", "no mean", "sign", "one size", "nan", "inf", "none", "vector",
         "1x1"])
def test_what_differs_is_not(wrong):
    with pytest.raises(Disagreement, match="returned"):
        agree(loss, wrong, [w, x, y], sizes=SIZES, name="wrong")


def test_the_message_shows_inputs_and_outputs():
    with pytest.raises(Disagreement) as caught:
        agree(c + u, lambda c, u: c - u, [c, u], trials=1, name="minus")
    message = str(caught.value)
    for part in ("minus returned", "the formula gives", "c = 0.1257", "u = -0.1321"):
        assert part in message


def test_an_array_formula_is_compared_entry_by_entry():
    scores = x @ w  # shape (n,)
    agree(scores, lambda x, w: x @ w, [x, w], sizes=SIZES)
    gradient = total((w @ x[i] - y[i]) * x[i], i)
    agree(gradient, lambda w, x, y: x.T @ (x @ w - y), [w, x, y], sizes=SIZES)
    with pytest.raises(Disagreement, match="shape"):
        agree(A @ w, lambda A, w: (A @ w)[:, np.newaxis], [A, w], sizes=SIZES)
    with pytest.raises(Disagreement):
        agree(A.T @ y, lambda A, y: np.sort(A.T @ y), [A, y],
              sizes={n: (3, 3), d: (4, 4)})


def test_an_implementation_that_spoils_its_input_changes_nothing():
    def spoil(w, x, y):
        result = mean_square(w, x, y)
        for array in (w, x, y):
            array[:] = np.nan
        return result

    agree(loss, spoil, [w, x, y], sizes=SIZES)

    def spoil_and_lie(w, x, y):
        spoil(w, x, y)
        return 0.0

    with pytest.raises(Disagreement) as caught:
        agree(loss, spoil_and_lie, [w, x, y], sizes=SIZES)
    assert "nan" not in str(caught.value)


def test_whole_numbers_are_arguments_too():
    agree(total(y[i], i) / n, lambda y, n: y.sum() / n, [y, n], sizes={n: (1, 5)})
    agree(fraction(1, n), lambda n: 1 / n, [n], sizes={n: (1, 9)})
    with pytest.raises(ValueError, match="depends on n"):
        agree(fraction(1, n), lambda c: 1.0, [c])


def test_ranges_and_assumptions():
    drawn = []
    agree(log(rate), lambda eta: drawn.append(eta) or np.log(eta), [rate])
    assert 0.1 <= min(drawn) and max(drawn) <= 2
    drawn.clear()
    agree(c * 1, lambda c: drawn.append(c) or c, [c], ranges={c: (5, 6)})
    assert 5 <= min(drawn) and max(drawn) <= 6


def test_the_formula_must_be_a_number_where_it_is_compared():
    with pytest.raises(ValueError, match="not a number"):
        agree(log(c), lambda c: np.log(abs(c)), [c])


def test_an_argument_the_formula_does_not_depend_on():
    agree(c * 2, lambda c, u: 2 * c, [c, u])
    with pytest.raises(Disagreement):
        agree(c * 2, lambda c, u: 2 * c + 1e-3 * u, [c, u])


@pytest.mark.parametrize("arguments, options, match", [
    ([w, x], {"sizes": SIZES}, "depends on y"),
    ([w, x, y], {"sizes": {n: (1, 3)}}, "depends on d"),
    ([w, x, y], {"sizes": {n: (0, 0), d: (1, 1)}}, "1 <= smallest"),
    ([w, x, y], {"sizes": {n: (3, 2), d: (1, 1)}}, "1 <= smallest"),
    ([w, x, y], {"sizes": SIZES, "trials": 0}, "at least 1"),
    ([w, x, y], {"sizes": SIZES, "ranges": {c: (0, 1)}}, "ranges for c"),
    ([w, x[1], y], {"sizes": SIZES}, "whole array"),
    ([w, x, y, n], {"sizes": {d: (1, 2)}}, "no value given for n")])
def test_bad_input_is_named(arguments, options, match):
    with pytest.raises((ValueError, TypeError, KeyError), match=match):
        agree(loss, lambda *q: mean_square(*q[:3]), arguments, **options)


def test_the_same_inputs_every_time():
    seen = [[], []]
    for log_of in seen:
        agree(loss, lambda w, x, y: log_of.append(y.tolist()) or mean_square(w, x, y),
              [w, x, y], sizes=SIZES, random_state=3)
    assert seen[0] == seen[1]


def test_key_lines_leave_the_docstring_out():
    assert key_lines(mean_square) == ("def mean_square(w, x, y):\n"
                                      "    return np.mean((y - x @ w) ** 2)")
