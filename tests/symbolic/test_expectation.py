"""Expectation as a linear operator: what follows from linearity, and nothing else."""

import pytest
from sympy import IndexedBase, Integer, KroneckerDelta, Sum, Symbol, exp, stats, symbols

from mlbook.symbolic import (
    Expect,
    identical,
    linear,
    partial,
    random_array,
    random_symbol,
)
from mlbook.symbolic.expectation import is_random

n, d = symbols("n d", integer=True, positive=True)
i, j, k = symbols("i j k", integer=True)
b, c, s, mu = symbols("b c s mu", real=True)
a, K = IndexedBase("a", real=True), IndexedBase("K", real=True)
X, Y, Z = (random_symbol(name) for name in "XYZ")
T, eps = random_array("T"), random_array("eps")


def test_trap_sympy_drops_the_expectation_of_a_sum():
    plain = IndexedBase("T")
    raw = stats.Expectation(Sum(plain[i], (i, 1, n)))
    assert raw == Sum(plain[i], (i, 1, n)) or raw.has(stats.Expectation)
    ours = linear(Expect(Sum(T[i], (i, 1, n))))
    assert identical(ours, Sum(Expect(T[i]), (i, 1, n)))
    assert ours.has(Expect) and not identical(ours, Sum(T[i], (i, 1, n)))


def test_trap_an_expectation_inside_is_a_constant():
    V = stats.Normal("V", 0, 1)
    raw = stats.Expectation(stats.Expectation(V) * V).expand()
    assert raw == stats.Expectation(V)**2 or raw.has(stats.Expectation)
    assert identical(linear(Expect(Expect(X) * X)), Expect(X)**2)


@pytest.mark.parametrize("inner, right", [
    (3 * X + c, 3 * Expect(X) + c),
    (X - Expect(X), 0),
    ((X - c)**2, Expect(X**2) - 2 * c * Expect(X) + c**2),
    ((X - Expect(X))**2, Expect(X**2) - Expect(X)**2),
    (Sum(a[i] * T[i], (i, 1, n)), Sum(a[i] * Expect(T[i]), (i, 1, n))),
    (c**2, c**2), (Expect(X), Expect(X))])
def test_linearity(inner, right):
    assert identical(linear(Expect(inner)), right)


@pytest.mark.parametrize("inner, wrong", [
    (X**2, Expect(X)**2), (X * Y, Expect(X) * Expect(Y)), (exp(X), exp(Expect(X))),
    ((1 - X)**n, (1 - X)**n), ((1 - X)**n, (1 - Expect(X))**n),
    (1 / X, 1 / Expect(X)), (Sum(T[i]**2, (i, 1, n)), Sum(Expect(T[i])**2, (i, 1, n)))])
def test_what_does_not_follow(inner, wrong):
    assert not identical(linear(Expect(inner)), wrong)


def test_variables_of_different_names_stay_apart():
    assert Expect(X) != Expect(Y)
    assert is_random(X * c) and is_random(T[i]) and not is_random(Expect(X) + a[i])


# -------------------------------------------------------------------- moments

WHITE = [(eps[j], Integer(0)), (eps[j] * eps[k], s**2 * KroneckerDelta(j, k))]


@pytest.mark.parametrize("inner, right", [
    (eps[i]**2, s**2), (eps[1] * eps[2], 0), (eps[i], 0), (eps[i] * c, 0),
    (Sum(eps[i], (i, 1, n))**2, n * s**2),
    ((Sum(a[i] * eps[i], (i, 1, n)))**2, s**2 * Sum(a[i]**2, (i, 1, n))),
    (Sum(K[i, j] * eps[i] * eps[j], (i, 1, n), (j, 1, n)),
     s**2 * Sum(K[i, i], (i, 1, n)))])
def test_white_noise(inner, right):
    assert identical(linear(Expect(inner), WHITE), right)


@pytest.mark.parametrize("inner", [eps[i]**3, eps[i]**2 * eps[j], exp(eps[i]), X])
def test_a_moment_says_nothing_of_other_moments(inner):
    assert linear(Expect(inner), WHITE).has(Expect)


def test_a_square_is_the_case_of_equal_indices():
    rho = [(T[j] * T[k], b + (c - b) * KroneckerDelta(j, k))]
    assert identical(linear(Expect(T[i]**2), rho), c)
    total = linear(Expect(Sum(T[i], (i, 1, n))**2), rho)
    assert identical(total, n * c + n * (n - 1) * b)


def test_a_moment_for_one_entry_is_not_one_for_all():
    assert linear(Expect(eps[1]), [(eps[1], Integer(0))]) == 0
    assert linear(Expect(eps[2]), [(eps[1], Integer(0))]) == Expect(eps[2])
    diagonal = [(eps[j] * T[j], c)]
    assert linear(Expect(eps[1] * T[2]), diagonal).has(Expect)


def test_a_moment_captures_nothing():
    known = [(T[i], Sum(K[i, k], (k, 1, n)))]
    assert identical(linear(Expect(T[k]), known), Sum(K[k, j], (j, 1, n)))
    crossed = [(T[j] * eps[k], K[j, k])]
    assert identical(linear(Expect(T[k] * eps[j]), crossed), K[k, j])
    nested = [(T[i], Expect(eps[i] * exp(Sum(K[i, k], (k, 1, n)))))]
    summed = linear(Expect(Sum(T[i], (i, 1, n))), nested)
    right = Sum(Expect(eps[i]) * exp(Sum(K[i, k], (k, 1, n))), (i, 1, n))
    assert identical(summed, right)


def test_deltas_under_a_sum_of_another_range():
    inner = Sum(T[j] * exp(Sum(KroneckerDelta(i, j), (i, 1, n))), (j, 1, d))
    assert not identical(linear(Expect(inner)), exp(1) * Sum(Expect(T[j]), (j, 1, d)))


def test_moments_in_a_circle():
    with pytest.raises(ValueError, match="circle"):
        linear(Expect(X), [(X, Expect(Y) + 1), (Y, Expect(X) + 1)])


# --------------------------------------------------------------- independence


def test_independent_variables():
    assert linear(Expect(X * Y), (), [[X], [Y]]) == Expect(X) * Expect(Y)
    assert linear(Expect(X**2 * Y), (), [[X], [Y]]) == Expect(X**2) * Expect(Y)
    assert linear(Expect(exp(X) * Y), (), [[X], [Y]]) == Expect(exp(X)) * Expect(Y)
    assert linear(Expect(X * Z * Y), (), [[X, Z], [Y]]) == Expect(X * Z) * Expect(Y)


@pytest.mark.parametrize("inner, families", [
    (X * Y, []), (X * Z, [[X, Z], [Y]]), (exp(X * Y), [[X], [Y]]),
    ((X + Y)**2 / Z, [[X], [Y]]), (X * Y * Z, [[X], [Y]]), (T[1] * T[2], [[T[1]]])])
def test_no_more_independence_than_was_said(inner, families):
    result = linear(Expect(inner), (), families)
    assert identical(result, linear(Expect(inner)))


def test_families_of_one_array_say_nothing_of_its_entries():
    assert linear(Expect(T[1] * T[2]), (), [[T[i]], [X]]) == Expect(T[1] * T[2])


def test_overlapping_families_are_refused():
    with pytest.raises(ValueError, match="X is in two families"):
        linear(Expect(X * Y), (), [[X], [X, Y]])


# ----------------------------------------------------------------- derivatives


def test_derivative_by_a_parameter_goes_inside():
    assert identical(linear(partial(Expect((X - c)**2), c)), 2 * c - 2 * Expect(X))


def test_nothing_depends_on_what_was_averaged_over():
    assert partial(Expect(X**2), X) == 0
    assert partial(Expect(X**2) * X, X) == Expect(X**2)


def test_real_and_nonnegative():
    assert Expect(X).is_real and Expect(X**2).is_nonnegative
    assert Expect(X).is_nonnegative is None
    assert Expect(Symbol("z") * X).is_real is None


def test_a_variable_beside_a_sum_goes_under_it():
    i, j, k = symbols("i j k", integer=True)
    n = Symbol("n", integer=True, positive=True)
    eps, a = random_array("eps"), IndexedBase("a", real=True)
    s = Symbol("s", positive=True)
    cov = [(eps[j] * eps[k], s**2 * KroneckerDelta(j, k))]
    mixed = Expect(eps[i] * Sum(a[i, k] * eps[k], (k, 1, n)))
    assert identical(linear(mixed, cov), s**2 * a[i, i])
    # the sum's own index has the name of the free one: nothing is captured
    captured = Expect(eps[k] * Sum(a[1, k] * eps[k], (k, 1, n)))
    assert identical(linear(captured, cov), s**2 * a[1, k])
