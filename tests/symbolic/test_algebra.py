"""Sums with symbolic bounds: every trap that SymPy sets, and the right answer."""

import pytest
from sympy import (
    Abs,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Max,
    Piecewise,
    Product,
    Rational,
    Sum,
    Symbol,
    exp,
    log,
    nan,
    simplify,
    solve,
    sqrt,
    symbols,
    sympify,
    tan,
    zoo,
)

from mlbook.symbolic import (
    collapse,
    complete_square,
    equal_by_induction,
    evaluate,
    identical,
    impose,
    manifestly_nonnegative,
    normal_form,
    partial,
    peel_last,
    rename_bound,
    replace_indexed,
    solves_recursion,
    stationary_point,
    taylor,
)

n, d = symbols("n d", integer=True, positive=True)
i, j, k, l, t = symbols("i j k l t", integer=True)
c, u, v = symbols("c u v", real=True)
a, g, w, x, y, K = (IndexedBase(name, real=True) for name in "agwxyK")
delta = KroneckerDelta
sum_a = Sum(a[i], (i, 1, n))

NUMBERS = {a: [1.0, -2.0, 0.5, 3.0], y: [2.0, 1.0, -1.0, 0.3], w: [0.7, -0.2, 1.1, 2.0],
           g: [1.0, 2.0, -1.0, 4.0], c: 0.6, u: -1.3, v: 0.4}


def at(expr, **sizes):
    """The value at small sizes, by plain arithmetic."""
    values = {"n": 4, "d": 3, **sizes}
    known = {n: values["n"], d: values["d"], l: values.get("l", 2)}
    table = [[(r + 1) * 0.3 - (s - 1) ** 2 for s in range(4)] for r in range(4)]
    return float(evaluate(expr, {**NUMBERS, K: table, x: table, **known}))


# ------------------------------------------------------------- traps of SymPy


def test_trap_subs_captures_a_bound_index():
    nested = Sum(a[i] * y[j], (i, 1, n))
    captured = nested.subs(j, i)
    right = y[i] * sum_a.xreplace({i: k})
    if captured != nested.xreplace({j: i}):  # a SymPy that renames
        assert identical(captured, right)
    assert identical(replace_indexed(nested, j, i), right)
    assert not identical(replace_indexed(nested, j, i), Sum(a[i] * y[i], (i, 1, n)))


def test_trap_derivative_by_an_entry_with_the_sums_own_letter():
    squares = Sum(a[i]**2, (i, 1, n))
    raw = squares.diff(a[i])
    assert raw == Sum(2 * a[i], (i, 1, n)) or identical(raw, 2 * a[i])
    assert partial(squares, a[i]) == 2 * a[i]


def test_trap_solve_under_a_sum():
    slope = Sum(a[i] - c, (i, 1, n))
    raw = solve(slope, c)
    assert raw == [] or raw == [sum_a / n]
    assert identical(stationary_point(Sum((a[i] - c)**2, (i, 1, n)), c), sum_a / n)


def test_trap_solve_returns_a_root_with_the_unknown_in_it():
    slope = Sum(a[i] * c, (i, 1, n)) + Sum(y[i] - c, (i, 1, n))
    assert all(root.has(c) for root in solve(slope, c)) or solve(slope, c) == []
    loss = Sum((y[i] - c * a[i])**2, (i, 1, n)) + c**2
    root = stationary_point(loss, c)
    assert not root.has(c)
    assert identical(root, Sum(a[i] * y[i], (i, 1, n)) /
                     (1 + Sum(a[i]**2, (i, 1, n))))


def test_trap_simplify_does_not_see_that_two_sums_are_equal():
    gap = sum_a - Sum(a[j], (j, 1, n))
    assert simplify(gap) in (0, gap)  # 0 in a SymPy that has learnt it
    assert identical(sum_a, Sum(a[j], (j, 1, n)))


def test_trap_piecewise_after_doit():
    squares = Sum(x[i, 1]**2, (i, 1, n))
    raw = squares.diff(x[k, 1]).doit()
    assert raw.has(Piecewise) or raw == 2 * x[k, 1]
    answer = partial(Sum(a[i]**2, (i, 1, n)), a[k])
    assert answer == 2 * a[k] and not answer.has(Piecewise, Sum, KroneckerDelta)


# ---------------------------------------------------------------- derivatives


def test_partial_of_a_square_loss():
    residual = y[i] - Sum(w[j] * x[i, j], (j, 1, d))
    slope = partial(Sum(residual**2, (i, 1, n)), w[l])
    assert identical(slope, -2 * Sum(residual * x[i, l], (i, 1, n)))
    assert not identical(slope, -Sum(residual * x[i, l], (i, 1, n)))


def test_partial_of_a_quadratic_form_has_both_halves():
    form = Sum(a[i] * a[j] * K[i, j], (i, 1, n), (j, 1, n))
    assert identical(partial(form, a[l]),
                     Sum((K[l, j] + K[j, l]) * a[j], (j, 1, n)))
    assert not identical(partial(form, a[l]), 2 * Sum(K[l, j] * a[j], (j, 1, n)))


def test_partial_of_a_triangular_sum_counts_only_the_rows_that_hold_the_entry():
    triangle = Sum(w[i], (i, 1, j), (j, 1, n))
    slope = partial(triangle, w[l])
    for entry in (1, 2, 4):
        assert at(slope, l=entry) == 4 - entry + 1
    assert not identical(slope, n)


def test_partial_of_a_product():
    slope = partial(Product(a[i], (i, 1, n)), a[l])
    assert at(slope, l=2) == pytest.approx(1.0 * 0.5 * 3.0)


@pytest.mark.parametrize("expr, variable, match", [
    (Sum(w[i], (i, 1, n)) * Sum(w[j], (j, 1, d)), w[l], "two ranges"),
    (a[t] * c, t, "index"), (Sum(a[i] * n, (i, 1, n)), n, "bound"),
    (c**2, c**2, "symbol or an entry"), (c**2, 2, "symbol or an entry")])
def test_partial_refuses(expr, variable, match):
    with pytest.raises((ValueError, TypeError), match=match):
        partial(expr, variable)


# ----------------------------------------------------- deltas, ranges and bounds


@pytest.mark.parametrize("expr, right", [
    (Sum(delta(i, n) * a[i], (i, 1, n)), a[n]),
    (Sum(delta(i, n) * a[i], (i, 1, n - 1)), 0),
    (Sum(delta(i, 1) * a[i], (i, 2, n)), 0),
    (Sum(delta(i, 2) * a[i], (i, 2, n)), a[2]),
    (Sum(delta(i, n + 1) * a[i], (i, 1, n)), 0),
    (Sum(delta(i, l) * a[i], (i, 1, n)), a[l]),
    (Sum(delta(i, l)**2 * a[i], (i, 1, n)), a[l]),
    (Sum(delta(i, j) * K[i, j], (i, 1, n), (j, 1, n)), Sum(K[k, k], (k, 1, n))),
    (Sum(delta(i, j) * a[i], (i, 1, n), (j, 1, n - 1)), Sum(a[i], (i, 1, n - 1))),
    (Sum(delta(i, j + 1) * a[i], (i, 1, n), (j, 1, n - 1)),
     Sum(a[j + 1], (j, 1, n - 1)))])
def test_deltas_at_the_edges(expr, right):
    assert identical(expr, right)


@pytest.mark.parametrize("expr", [
    Sum(delta(i, j) * a[i], (i, 1, n), (j, 1, d)),
    Product(1 + Sum(delta(i, j) * a[i], (i, 1, n)), (j, 1, d)),
    Sum(exp(Sum(delta(i, j) * a[i], (i, 1, n))), (j, 1, d)),
    Sum(Sum(delta(i, j) * a[i], (i, 1, j - 1)), (j, 1, d)),
    Sum(delta(i, l) * a[i], (i, 1, j), (j, 1, n))],
    ids=["sum", "product", "function", "empty triangle", "triangle"])
@pytest.mark.parametrize("sizes", [{"n": 4, "d": 2}, {"n": 2, "d": 4}])
def test_a_bound_index_lies_in_its_own_range_only(expr, sizes):
    """The sum over i finds j only where j's range lies inside i's."""
    assert at(normal_form(expr), **sizes) == pytest.approx(at(expr, **sizes))
    assert at(collapse(expr), **sizes) == pytest.approx(at(expr, **sizes))


def test_an_entry_outside_a_range_that_does_not_grow_is_not_found():
    for limits in ((i, t, n), (i, 1, 5 - n)):
        assert normal_form(Sum(delta(i, 3) * a[i], limits)).has(KroneckerDelta)


@pytest.mark.parametrize("expr, wrong", [
    (Sum(1, (j, i + 2, n), (i, 1, n)), Sum(n - i - 1, (i, 1, n))),
    (Sum(1, (j, 1, i - 3), (i, 1, n)), Sum(i - 3, (i, 1, n)))])
def test_a_sum_of_fewer_than_no_terms_is_not_counted(expr, wrong):
    assert at(expr) != at(wrong)
    assert not identical(expr, wrong)


@pytest.mark.parametrize("expr, right", [
    (Sum(c, (i, 2, n)), (n - 1) * c),
    (Sum(c, (j, 1, i), (i, 1, n)), c * Sum(i, (i, 1, n))),
    (Sum(1, (j, i + 1, n), (i, 1, n)), Sum(n - i, (i, 1, n))),
    (Sum(a[i], (i, 1, n), (j, 2, n)), (n - 1) * sum_a)])
def test_counts(expr, right):
    assert identical(expr, right)


def test_a_free_index_cannot_lie_in_two_ranges():
    with pytest.raises(ValueError, match=r"index l would have to lie in 1\.\.[dn]"):
        normal_form(Sum(delta(i, l) * a[i], (i, 1, n))
                    + Sum(delta(j, l) * w[j], (j, 1, d)))


@pytest.mark.parametrize("limits", [(i, 2, n), (i, 1, n - 1), (i, 1, d), (i, 0, n)])
def test_bounds_count(limits):
    """A normal form that ignores a bound would call these equal."""
    assert not identical(Sum(a[i], limits), sum_a)
    assert not identical(Sum(a[i] * y[j], limits, (j, 1, n)),
                         sum_a * Sum(y[j], (j, 1, n)))
    form = normal_form(Sum(a[i], (i, 2, n)))
    assert at(form) == pytest.approx(-2 + 0.5 + 3)


# ------------------------------------------------------------------- equality


@pytest.mark.parametrize("left, right", [
    (sum_a**2, Sum(a[i] * a[j], (i, 1, n), (j, 1, n))),
    (Sum(a[i] * y[j], (i, 1, n), (j, 1, n)), sum_a * Sum(y[k], (k, 1, n))),
    (Sum((a[i] - sum_a / n)**2, (i, 1, n)), Sum(a[i]**2, (i, 1, n)) - sum_a**2 / n),
    (exp(Sum(a[i], (i, 1, n))), exp(Sum(a[k], (k, 1, n)))),
    (Sum(exp(Sum(K[i, j], (j, 1, n))), (i, 1, n)),
     Sum(exp(Sum(K[j, i], (i, 1, n))), (j, 1, n))),
    (Product(Sum(K[i, j], (j, 1, n)), (i, 1, n)),
     Product(Sum(K[j, i], (i, 1, n)), (j, 1, n))),
    (Sum(a[i] / (1 + c), (i, 1, n)) * (1 + c), sum_a),
    (c**n * c, c**(n + 1)),
    (Sum(a[i] * Sum(a[i], (i, 1, n)), (i, 1, n)), sum_a**2),
    (Sum(Rational(1, 2) * a[i], (i, 1, n)) * 2, sum_a)])
def test_identical_affirms(left, right):
    assert identical(left, right)


@pytest.mark.parametrize("left, right", [
    (sum_a**2, Sum(a[i]**2, (i, 1, n))),
    (Sum(K[i, j] * a[i], (i, 1, n)), Sum(K[j, i] * a[i], (i, 1, n))),
    (Sum(a[i], (i, 1, j), (j, 1, n)), Sum(a[i], (i, 1, n), (j, 1, n))),
    (Sum(a[i] * y[i], (i, 1, n)), sum_a * Sum(y[i], (i, 1, n))),
    (sqrt(u**2), u), (sqrt(u * v), sqrt(u) * sqrt(v)), (log(u * v), log(u) + log(v)),
    ((u**2)**c, u**(2 * c)), ((u * v)**c, u**c * v**c), (Abs(u + v), Abs(u) + Abs(v)),
    (exp(u * v), exp(u) * exp(v)), ((u + v)**n, u**n + v**n), ((-1)**n, 1)])
def test_identical_does_not_affirm(left, right):
    assert not identical(left, right)


def test_not_a_number_equals_nothing():
    assert not identical(nan, nan)
    assert not identical(zoo * u, zoo * u)


def test_piecewise_and_max_keep_their_sums_apart():
    branches = Piecewise((sum_a, c > 0), (0, True))
    assert identical(2 * branches, branches + branches)
    assert not identical(branches, sum_a)
    assert identical(Max(sum_a, c), Max(c, Sum(a[j], (j, 1, n))))


def test_names_of_a_normal_form_are_not_captured():
    """An index the normal form would choose itself, left free in an expression."""
    free = normal_form(sum_a).variables[0]
    expr = exp(Sum(K[free, k], (k, 1, n)))
    form = normal_form(expr)
    assert free in form.free_symbols
    assert not identical(expr, exp(Sum(K[k, k], (k, 1, n))))


# --------------------------------------------------------------- substitution


@pytest.mark.parametrize("expr, pattern, value, right", [
    (K[i, j], K[j, i], x[j, i], x[i, j]),
    (Sum(w[i] * a[j], (j, 1, n)), w[l], Sum(K[l, j], (j, 1, n)),
     Sum(a[j], (j, 1, n)) * Sum(K[i, k], (k, 1, n))),
    (Sum(w[i], (i, 1, n)), w[l], a[i], n * a[i]),
    (Sum(w[i], (i, 1, n)), w[l], l * w[l], Sum(i * w[i], (i, 1, n))),
    (w[1] + w[2], w[1], c, c + w[2]),
    (K[j, k], K[i, i], Integer(1), K[j, k]),
    (K[j, j], K[i, i], Integer(1), 1),
    (Sum(a[i], (i, 1, n)), i, Integer(5), sum_a),
    (Sum(c * a[i], (i, 1, n)), c, y[i], y[i] * Sum(a[k], (k, 1, n)))])
def test_replacing_entries(expr, pattern, value, right):
    assert identical(replace_indexed(expr, pattern, value), right)


def test_replacing_a_shifted_entry_leaves_other_entries_alone():
    expr = Sum(g[i - 1], (i, 1, n))
    assert identical(replace_indexed(expr, g[i - 1], a[i]), expr)


def test_rename_bound_renames_only_what_clashes():
    renamed = rename_bound(Sum(a[i] * y[j], (i, 1, n), (j, 1, i)), {j})
    assert renamed.variables[0] == i and renamed.variables[1] != j
    assert rename_bound(sum_a, {j}) == sum_a


@pytest.mark.parametrize("expr, right", [
    (Sum(a[i] * y[i], (i, 1, n)), 5),
    (c + 2 * Sum(a[j] * y[j], (j, 1, n)), c + 10),
    (Sum(a[i] * y[i], (i, 1, n))**2, 25),
    (exp(Sum(a[i] * y[i], (i, 1, n))), exp(5)),
    (Sum(a[i] * y[i], (i, 1, n - 1)), Sum(a[i] * y[i], (i, 1, n - 1))),
    (Sum(a[i] * y[i] * w[i], (i, 1, n)), Sum(a[i] * y[i] * w[i], (i, 1, n)))])
def test_impose_a_constraint(expr, right):
    result = impose(expr, Sum(a[i] * y[i], (i, 1, n)), Integer(5))
    assert identical(result, right)


def test_impose_for_every_row():
    rows = Sum(K[i, j], (j, 1, n))
    assert impose(Sum(K[l, j], (j, 1, n)), rows, Integer(1)) == 1
    # the value has the letter of the row it is used for, and a sum of its own over it
    result = impose(Sum(K[k, j], (j, 1, n)), rows, Sum(x[i, k], (k, 1, n)))
    assert identical(result, Sum(x[k, j], (j, 1, n)))


@pytest.mark.parametrize("expr", [
    Sum(a[i] * y[j], (j, 1, i), (i, 1, n)), Sum(K[j, j], (j, 1, n)),
    Sum(a[i] * y[i], (i, 1, d)), Sum(a[i]**2, (i, 1, n))])
def test_impose_leaves_alone_what_is_not_the_known_sum(expr):
    for known in (sum_a, Sum(K[i, j], (j, 1, n))):
        assert at(impose(expr, known, Integer(100))) == pytest.approx(at(expr))


def test_impose_divides_only_by_what_cannot_vanish_unseen():
    """c S = 0 does not make S vanish: complementary slackness, a_i (S - 1) = 0."""
    for constraint, value in ((c * sum_a, 0), (c * sum_a, c), (sum_a * (1 - c), 0),
                              (a[i] * (Sum(K[i, j], (j, 1, n)) - 1), 0)):
        with pytest.raises(ValueError, match="says nothing of"):
            impose(sum_a + Sum(K[i, j], (j, 1, n)), constraint, sympify(value))
    assert impose(sum_a, 2 * sum_a - 4, Integer(0)) == 2
    assert identical(impose(sum_a, (1 - c) * sum_a, 1 - c**n), (1 - c**n) / (1 - c))


@pytest.mark.parametrize("left, right, equal", [
    ((1 - c)**(n - 1) * (1 - c), (1 - c)**n, True),
    ((1 - c)**(n - 1) * (1 - c), (1 - c)**(n + 1), False),
    ((1 - c)**n * c, (1 - c)**n - (1 - c)**(n + 1), True),
    ((1 - c)**n * c, (1 - c)**n + (1 - c)**(n + 1), False),
    ((1 - c)**n * (1 + c)**n, (1 - c**2)**n, False),
    ((1 - u * v)**n * u * v + (1 - u * v)**(n + 1), (1 - u * v)**n, True)])
def test_powers_of_a_base_written_out(left, right, equal):
    assert identical(left, right) is equal


# ----------------------------------------------------------- solving, shaping


@pytest.mark.parametrize("expr, variable, match", [
    (u**3 / 3 - u, u, "2 roots"), (u, u, "0 roots"), (exp(u), u, "0 roots"),
    (Max(0, u), u, "cannot solve"), (u + c / u, u, "2 roots"),
    (Sum((y[i] - Sum(K[i, j] * w[j], (j, 1, n)))**2, (i, 1, n)), w[l],
     "still contains|0 roots"),
    (-log(tan(u)), u, "roots|cannot")])
def test_no_unique_stationary_point(expr, variable, match):
    with pytest.raises(ValueError, match=match):
        stationary_point(expr, variable)


def test_stationary_point_of_every_entry():
    pull = Sum(a[i] * x[i, j] * w[j], (i, 1, n), (j, 1, d))
    loss = Sum(w[j]**2, (j, 1, d)) / 2 - pull
    assert identical(stationary_point(loss, w[l]), Sum(a[i] * x[i, l], (i, 1, n)))


def test_complete_square():
    expr = Sum((a[i] - u)**2, (i, 1, n))
    square = complete_square(expr, u)
    assert identical(square, expr)
    assert identical(square, n * (u - sum_a / n)**2
                     + Sum(a[i]**2, (i, 1, n)) - sum_a**2 / n)
    assert complete_square(u**2 + 2 * u, u) == (u + 1)**2 - 1
    for wrong, match in ((u**3, "degree 3"), (exp(u), "not a polynomial")):
        with pytest.raises(ValueError, match=match):
            complete_square(wrong, u)


def test_taylor():
    assert taylor(exp(u), u, Integer(0), v, 2) == 1 + v + v**2 / 2
    # the point has the letter that the sum binds
    expanded = taylor(Sum(a[i] * u**2, (i, 1, n)), u, a[i], v, 2)
    total = Sum(a[k], (k, 1, n))
    assert identical(expanded, total * (a[i] + v)**2)
    with pytest.raises(ValueError, match="order"):
        taylor(exp(u), u, Integer(0), v, -1)
    with pytest.raises(TypeError, match="symbol"):
        taylor(w[l], w[l], Integer(0), v, 1)


def test_peel_last():
    peeled = peel_last(sum_a)
    assert peeled == Sum(a[i], (i, 1, n - 1)) + a[n]
    assert peel_last(sum_a + Sum(y[j], (j, 1, d)), n).has(Sum(y[j], (j, 1, d)))
    assert identical(peel_last(Sum(K[i, n], (i, 1, n)), n),
                     Sum(K[i, n], (i, 1, n - 1)) + K[n, n])


# ------------------------------------------------------------------ induction


b = Symbol("b", positive=True)


def unrolled(power):
    return (1 - b) * Sum(b**(t - k + power) * g[k], (k, 1, t))


def average(before):
    return b * before + (1 - b) * g[t]


def test_a_recursion_is_solved():
    assert solves_recursion(unrolled(0), average, t, Integer(0))


@pytest.mark.parametrize("claim, start", [
    (unrolled(1), 0), (unrolled(0), 1), (2 * unrolled(0), 0), (unrolled(0) + b**t, 0)])
def test_a_wrong_claim_or_start_is_not(claim, start):
    assert not solves_recursion(claim, average, t, Integer(start))


def test_equality_by_induction():
    assert equal_by_induction((1 - b) * Sum(b**(t - k), (k, 1, t)), 1 - b**t, t)
    assert equal_by_induction(Sum(k, (k, 1, t)), t * (t + 1) / 2, t)
    assert not equal_by_induction(Sum(k, (k, 1, t)), t**2 / 2, t)
    assert not equal_by_induction(Sum(k, (k, 1, t)), t * (t + 1) / 2 + 1, t)


def test_a_ratio_that_is_infinite_once_proves_nothing():
    """c t = t/(t-1) c (t-1) holds for t > 1 and says nothing of the step to 1."""
    left = Sum(t * a[k], (k, 1, t)) + c * t
    assert not equal_by_induction(left, t * Sum(a[k], (k, 1, t)), t)


@pytest.mark.parametrize("claim", [Sum(1, (k, 3, t)) - t + 2,
                                   Sum(1, (k, 1, t - 2)) - t + 2])
def test_no_induction_through_sums_of_fewer_than_no_terms(claim):
    with pytest.raises(ValueError, match="the first case has a sum over k"):
        equal_by_induction(claim, Integer(0), t)
    assert equal_by_induction(Sum(1, (k, 3, t)), t - 2, t, first=2)


def test_induction_on_a_bound_index_is_refused():
    with pytest.raises(ValueError, match="summation index"):
        equal_by_induction(Sum(t, (t, 1, n)), Integer(0), t)


# --------------------------------------------------------------- inequalities


@pytest.mark.parametrize("expr, known", [
    (u**2 + Sum((a[i] - y[i])**2, (i, 1, n)), ()), (Abs(u) * exp(v), ()),
    (c * u**2, (c,)), ((1 - c) * u**2, (1 - c,)),
    (Sum(a[i] * u**2, (i, 1, n)), (a[i],)),
    ((u - v)**2 / (1 - c), (1 - c,)), (Sum(u**2, (i, 1, n))**3, ())])
def test_visibly_nonnegative(expr, known):
    assert manifestly_nonnegative(expr, known)


@pytest.mark.parametrize("expr, known", [
    (u * v, ()), (u, ()), (u**3, ()), (u**2 - v**2, ()), (c * u, (c,)),
    (sqrt(Symbol("z")), ()), (Symbol("z")**2, ()), (u**2 + v, ()),
    # known of one free index, not of all those of a sum
    (Sum(i - 3, (i, 1, n)), (i - 3,)), (Sum((i - 3) * a[i]**2, (i, 1, n)), (i - 3,)),
    # positive in places only
    (u * (u - 1), ()), (log(1 + u**2) - 1, ())])
def test_not_visibly_nonnegative(expr, known):
    assert not manifestly_nonnegative(expr, known)
