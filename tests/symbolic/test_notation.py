"""What is typed is what is printed, and what is printed is what is checked."""

from fractions import Fraction

import numpy as np
import pytest
from sympy import IndexedBase, KroneckerDelta, Rational, Sum, Symbol, exp as sympy_exp

from mlbook.symbolic import (
    E,
    Equation,
    absolute,
    delta,
    derivative,
    evaluate,
    exp,
    fraction,
    function,
    group,
    identical,
    index,
    indices,
    log,
    matrix,
    prod,
    rows,
    scalars,
    sequence,
    sigmoid,
    sizes,
    sqrt,
    total,
    vector,
)
from mlbook.symbolic.notation import as_term

n, d = sizes("n d")
i, j = indices("i j", n)
k = index("k", d)
b, c, u, xi = scalars("b c u xi")
C = scalars("C", positive=True)
w, x, y = vector("w", d), rows("x", n, d), sequence("y", n)
alpha, slack = sequence("alpha", n), sequence("xi", n)
A = matrix("A", n, d)
f = scalars("f", random=True)

LAGRANGIAN = (w @ w / 2 + C * total(slack[i], i)
              - total(alpha[i] * (y[i] * (w @ x[i] + b) - 1 + slack[i]), i))


# ------------------------------------------------------------ as it was typed


def test_the_lagrangian_of_the_support_vector_machine():
    assert LAGRANGIAN.latex() == (
        r"\frac{\lVert \mathbf{w} \rVert^{2}}{2} + C \, \sum_{i=1}^{n} \xi_{i} - "
        r"\sum_{i=1}^{n} \alpha_{i} \, \left(y_{i} \, "
        r"\left(\mathbf{w}^{\top} \mathbf{x}_{i} + b\right) - 1 + \xi_{i}\right)")
    assert str(LAGRANGIAN) == ("|w|^2/2 + C*sum_{i=1..n} xi[i] - sum_{i=1..n} "
                               "alpha[i]*(y[i]*(w'x[i] + b) - 1 + xi[i])")


@pytest.mark.parametrize("term, shown", [
    (b + c - u, "b + c - u"), (c + b, "c + b"), (b - (c - u), "b - (c - u)"),
    (b - (c + u), "b - (c + u)"), ((b + c) * u, "(b + c)*u"),
    (u * (b + c), "u*(b + c)"),
    (b * c / u, "b*c/u"), (b / (c * u), "b/(c*u)"), (b / (c / u), "b/(c/u)"),
    ((b + c)**2, "(b + c)^2"), ((b * c)**2, "(b*c)^2"), ((b**c)**2, "(b^c)^2"),
    (b**(c + 1), "b^(c + 1)"), (-b, "-b"), ((-b)**2, "(-b)^2"), (2 * b, "2*b"),
    (b * -2, "b*(-2)"), (1 - b, "1 - b"), (total(y[i], i) * c, "(sum_{i=1..n} y[i])*c"),
    (c * total(y[i], i), "c*sum_{i=1..n} y[i]"),
    (total(y[i] + c, i), "sum_{i=1..n} (y[i] + c)"),
    (total(y[i], i)**2, "(sum_{i=1..n} y[i])^2"),
    (total(y[i], (i, 2, n - 1)), "sum_{i=2..n - 1} y[i]"),
    (prod(y[i], i), "prod_{i=1..n} y[i]"), (fraction(1, 2) * b, "1/2*b"),
    (exp(-b / 2)**2, "(exp(-b/2))^2"), (sigmoid(b + c), "sigmoid(b + c)"),
    (E(f * c) - f, "E[f*c] - f"), (group(b - c) + group(c - u), "(b - c) + (c - u)"),
    (delta(i, j), "delta[i,j]"), (A @ w, "A@w"), (w @ x[i], "w'x[i]"),
    (w @ w, "|w|^2"), ((w @ w)**2, "(|w|^2)^2"), (A.T @ (A @ w), "A^T@A@w"),
    (x[i][k], "x[i,k]"), (x[i, k], "x[i,k]"), (function("ell")(b, c), "ell(b, c)")])
def test_text_in_the_typed_order(term, shown):
    assert str(term) == shown


@pytest.mark.parametrize("term, shown", [
    (fraction(1, 2) * w, r"\frac{1}{2} \, \mathbf{w}"), (A, r"\mathbf{A}"),
    (x[i], r"\mathbf{x}_{i}"), (y[i], "y_{i}"), (x[i, k], "x_{i k}"),
    (y[i + 1], "y_{i + 1}"), (y, r"\mathbf{y}"), (vector("theta", d),
                                                 r"\boldsymbol{\theta}"),
    (A.T, r"\mathbf{A}^{\top}"), (sqrt(b), r"\sqrt{b}"),
    (absolute(b), r"\left|b\right|"),
    (2 * as_term(3), r"2 \cdot 3"), (E(f), r"\operatorname{E}\left[f\right]"),
    (scalars("beta_1")**2, r"\beta_{1}^{2}"), (log(b), r"\log\left(b\right)"),
    (scalars("mhat"), r"\hat{m}"),
    (derivative(w @ w, w), r"\frac{\partial}{\partial \mathbf{w}} "
                           r"\left(\lVert \mathbf{w} \rVert^{2}\right)")])
def test_latex(term, shown):
    assert term.latex() == shown


def test_a_power_of_a_sympy_exponential_is_valid_latex():
    shown = (as_term(sympy_exp(Symbol("z", real=True))) ** 2).latex()
    assert shown == r"\left(e^{z}\right)^{2}"


# ---------------------------------------------- what is printed is what is meant


def parse(text, names):
    """Read printed scalar text by Python's own rules of precedence."""
    return eval(text.replace("^", "**"), {"__builtins__": {}}, names)  # our own text


def test_printed_scalars_read_back_as_what_they_mean():
    """Random formulas, printed, read by Python and compared with their meaning."""
    rng = np.random.default_rng(0)
    names = {"b": 1.3, "c": 0.7, "u": 2.1}
    values = {q.symbol: names[q.symbol.name] for q in (b, c, u)}

    def draw(depth):
        if depth == 0:
            return [b, c, u, as_term(2), fraction(1, 3), as_term(-1)][rng.integers(6)]
        left, right = draw(depth - 1), draw(depth - 1 - rng.integers(2) * (depth > 1))
        kind = rng.integers(7)
        return [lambda: left + right, lambda: left - right, lambda: left * right,
                lambda: left / (1 + right * right), lambda: -left, lambda: left**2,
                lambda: right - left][kind]()

    for _ in range(400):
        term = draw(3)
        meant = float(evaluate(term.meaning, values))
        assert parse(str(term), names) == pytest.approx(meant, rel=1e-9), str(term)


def test_the_meaning_is_in_coordinates():
    residual = (y[i] - w @ x[i]).meaning
    base_w, base_x, base_y = (IndexedBase(q, real=True) for q in "wxy")
    q = Symbol("q", integer=True)
    right = base_y[i.meaning] - Sum(base_w[q] * base_x[i.meaning, q], (q, 1, d.meaning))
    assert identical(residual, right)
    assert (A.T @ y).shape == (d.meaning,)
    entry = (A.T @ y).at(k.meaning)
    assert identical(entry, total(A[i, k] * y[i], i).meaning)
    assert delta(i, j).meaning == KroneckerDelta(i.meaning, j.meaning)


def test_sums_nest_and_take_bounds():
    triangle = total(y[i] * y[j], j, (i, 1, j))
    numbers = {IndexedBase("y", real=True): [1.0, 2.0, 3.0], n.meaning: 3}
    assert evaluate(triangle.meaning, numbers) == 1 + 2 * 3 + 3 * 6
    product = prod(y[i], i).meaning
    assert evaluate(product, numbers) == 6


def test_gradients_of_arrays_have_their_shape():
    slope = derivative(total((y[i] - w @ x[i])**2, i), w)
    assert slope.shape == (d.meaning,)
    right = -2 * total((y[i] - w @ x[i]) * x[i], i)
    mark = Symbol("m", integer=True)
    assert identical(slope.at(mark), right.at(mark))
    # the letter of the entry is also the letter of the sum
    own = derivative(total(y[i]**2, i), y[i])
    assert identical(own.meaning, (2 * y[i]).meaning)


# ------------------------------------------------------------------- bad input


@pytest.mark.parametrize("make, error, match", [
    (lambda: w + y, ValueError, "cannot add shapes"),
    (lambda: w + 1, ValueError, "cannot add shapes"),
    (lambda: w * x[i], ValueError, "use @"),
    (lambda: w @ y, ValueError, "sizes d and n differ"),
    (lambda: w @ 2, ValueError, "both sides of @"),
    (lambda: b / w, ValueError, "cannot divide by"),
    (lambda: w**2, ValueError, "only scalars have powers"),
    (lambda: exp(w), ValueError, "expected a scalar"),
    (lambda: w.T, ValueError, "only a matrix has a transpose"),
    (lambda: w.meaning, TypeError, "only a scalar has a meaning"),
    (lambda: w[1, 2], IndexError, "1 indices, got 2"),
    (lambda: 0.5 * b, TypeError, "write exact numbers"),
    (lambda: b + True, TypeError, "write exact numbers"),
    (lambda: b + "c", TypeError, "cannot stand in a formula"),
    (lambda: bool(b), TypeError, "neither true nor false"),
    (lambda: list(w), TypeError, "cannot be iterated"),
    (lambda: total(y[i], index("k")), ValueError, "has no size"),
    (lambda: total(total(y[i], i), i), ValueError, "already runs inside"),
    (lambda: scalars(""), ValueError, "no name given"),
    (lambda: Equation(b, c, "~"), ValueError, "expected one of"),
    (lambda: Equation(b, w), ValueError, "has shape")])
def test_bad_formulas_are_named(make, error, match):
    with pytest.raises(error, match=match):
        make()


def test_exact_numbers():
    assert (fraction(1, 2) * b).meaning == Rational(1, 2) * b.meaning
    assert as_term(Fraction(1, 3)).meaning == Rational(1, 3)
    assert str(Equation(b, c, "<=")) == "b <= c"
    assert Equation(b, c, "<=").render("latex") == r"b \le c"


def test_an_index_of_another_range_is_refused():
    n, d = sizes("n d")
    i, j = index("i", n), index("j", d)
    x = rows("x", n, d)
    assert str(x[i, j]) == "x[i,j]"
    assert str(x[index("k"), j]) == "x[k,j]"  # an index without a range fits anywhere
    with pytest.raises(ValueError, match="index j runs to d, this place to n"):
        x[j]
    with pytest.raises(ValueError, match="index i runs to n, this place to d"):
        x[i, i]
