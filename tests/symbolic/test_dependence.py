"""Which name rests on which, followed through definitions and shifted indices."""

from sympy import Dummy, Function, IndexedBase, Sum, Symbol, exp, symbols

from mlbook.symbolic.dependence import common, hides, is_circular, overlap

i, j, t = symbols("i j t", integer=True)
r, s, u = symbols("r s u", real=True)
c, f, h, z = (IndexedBase(name, real=True) for name in "cfhz")


def test_circles():
    assert is_circular([(s, s + 1)])
    assert is_circular([(s, u + 1), (u, r), (r, s)])
    assert is_circular([(h[t], h[t] + 1)])
    assert is_circular([(h[t], h[t + 1])])
    assert is_circular([(h[t], h[j])])
    assert is_circular([(h[t], c[t - 1]), (c[t], h[t + 1])])
    assert is_circular([(h[t], s), (s, Sum(h[i], (i, 1, 3)))])


def test_recursions_are_no_circles():
    assert not is_circular([(h[t], h[t - 1] + 1)])
    assert not is_circular([(h[t + 1], h[t] + 1)])
    assert not is_circular([(h[t], c[t]), (c[t], h[t - 1])])
    assert not is_circular([(h[0], s), (h[t], h[t - 1])])
    assert not is_circular([(s, u), (r, u + s)])


def test_overlap():
    assert overlap(h[i], h[j]) and overlap(s, s) and overlap(h[t + 1], h[t])
    assert overlap(h[Dummy()], h[1]), "a whole array and one of its entries"
    assert not overlap(h[0], h[t]), "the start of a recursion"
    assert not overlap(h[1], h[2]) and not overlap(s, u) and not overlap(h[t], c[t])


def test_hidden_dependence():
    chain = [(z[i], s * f[i]), (u, Sum(z[i]**2, (i, 1, 3)))]
    assert hides(u, s, chain) == u
    assert hides(u, f[j], chain) == u
    assert hides(exp(z[j]), f[j], chain) == z[j]
    assert hides(u, z[j], []) is None
    assert hides(s**2 + r, s, chain) is None
    assert hides(z[1] * s, z[i], chain) is None, "s does not rest on z"


def test_yesterday_does_not_depend_on_today():
    cell = [(c[t], f[t] * c[t - 1])]
    assert hides(f[t] * c[t - 1], f[t], cell) is None
    assert hides(c[t], f[t], cell) == c[t]
    assert hides(c[t + 1], f[t], cell) == c[t + 1]


def test_functions_are_names_too():
    p = Function("p", real=True)(s)
    assert hides(p, u, [(p, u * s)]) == p


def test_common_ground():
    pairs = [(u, exp(s)), (r, u + 1)]
    assert Symbol("s", real=True) in common([r], [s], pairs)
    assert common([u], [f], pairs) == set()
