"""The ledger: right steps pass with their evidence, wrong ones raise and say why.

Most tests here are attacks: each tries to have something false affirmed.
"""

import warnings

import pytest

from mlbook.symbolic import (
    Derivation,
    DerivationError,
    E,
    Equation,
    delta,
    derivative,
    exp,
    fraction,
    function,
    index,
    indices,
    log,
    matrix,
    rows,
    scalars,
    sequence,
    sizes,
    sqrt,
    total,
    vector,
)
from mlbook.symbolic.ledger import readable

n, d = sizes("n d")
i, j = indices("i j", n)
k = indices("k", d)
t, s = indices("t s", n)
b, c, u, v, z = scalars("b c u v z")
beta = scalars("beta", positive=True)
L, M = scalars("L M")
w, x, y = vector("w", d), rows("x", n, d), sequence("y", n)
a, m, g, h = (sequence(name, n) for name in "amgh")
K = matrix("K", n, n)
f, eps, X, Y, Z = scalars("f eps X Y Z", random=True)
T = sequence("T", n, random=True)


@pytest.fixture
def D():
    return Derivation("A test")


# ---------------------------------------------------------------- right steps


def test_a_derivation_from_definition_to_minimum(D):
    loss = D.define(L, total((y[i] - w @ x[i])**2, i) / n, "The mean square.")
    slope = D.differentiate(loss, w, -2 * total((y[i] - w @ x[i]) * x[i], i) / n,
                            "In every direction.")
    D.prove(slope.right, 2 * total((w @ x[i] - y[i]) * x[i], i) / n, "Turned round.")
    D.rewrite(2 * (total((w @ x[i]) * x[i], i) - total(y[i] * x[i], i)) / n, "Apart.")
    assert [q.kind for q in D.steps] == ["definition"] + 3 * ["proved"]
    assert [q.number for q in D.steps] == [1, 2, 3, 4]
    assert D.evidence() == "A test: 4 steps, 1 definition, 3 proved"
    assert "proved for every size" in repr(slope)


def test_the_mean_minimises_the_squares(D):
    loss = D.define(L, total((y[i] - c)**2, i), "Squares.")
    best = D.stationary(loss, c, total(y[i], i) / n, "Where the slope is 0.")
    assert best.render("text") == "c = sum_{i=1..n} y[i]/n"
    with pytest.raises(DerivationError, match="not at"):
        D.stationary(loss, c, total(y[i], i), "A sum is no mean.")


def test_markdown_and_text_show_reason_evidence_and_formula(D):
    step = D.define(L, b + c, "A sum.")
    assert step._repr_markdown_() == ("**(1)** A sum. · *definition*\n\n"
                                      "$$\nL = b + c\n$$\n")
    assert repr(step) == "(1) A sum. [definition]\n    L = b + c"
    assert repr(D) == f"A test\n{step!r}"


def test_a_vector_step_holds_for_every_entry(D):
    D.prove(total(a[i] * x[i], i) + total(y[i] * x[i], i),
            total((a[i] + y[i]) * x[i], i), "In every direction.")
    with pytest.raises(DerivationError):
        D.prove(total(a[i] * x[i], i), total(a[i], i) * x[1], "Not so.")
    with pytest.raises(DerivationError):
        D.prove(K.T, K, "A matrix is not symmetric.")
    with pytest.raises(ValueError, match="shape"):
        D.prove(total(a[i], i), x[1], "A number is not a vector.")


# ----------------------------------------------- a wrong last step, everywhere

ATTEMPTS = {
    "sign": lambda D: D.prove(total((y[i] - c)**2, i), total((y[i] + c)**2, i), "r"),
    "factor": lambda D: D.prove(total(y[i] + c, i), total(y[i], i) + c, "r"),
    "index": lambda D: D.prove(total(K[i, j] * y[i], i, j),
                               total(K[i, j] * y[j], i, j), "r"),
    "bound": lambda D: D.prove(total(y[i], i), total(y[i], (i, 2, n)), "r"),
    "exponent": lambda D: D.prove(total(y[i]**2, i), total(y[i]**3, i), "r"),
    "square of a sum": lambda D: D.prove(total(y[i], i)**2, total(y[i]**2, i), "r"),
    "gradient": lambda D: D.differentiate(Equation(L, w @ w), w, w, "r"),
    "expectation": lambda D: D.prove(E(X**2), E(X)**2, "r"),
    "dependence": lambda D: D.prove(E(X * Y), E(X) * E(Y), "r"),
    "correction": lambda D: D.prove(
        (1 - beta) * total(beta**(t - s) * c, (s, 1, t)) / (1 - beta), c, "r"),
    "rewrite": lambda D: (D.define(L, c * (u + v), "r"), D.rewrite(c * u + v, "r"))}


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS)
def test_a_wrong_step_raises_and_shows_the_difference(D, attempt):
    with pytest.raises(DerivationError, match=r"does not follow: .* is .*, not 0"):
        attempt(D)
    assert all(q.kind == "definition" for q in D.steps), "no wrong step is kept"


def test_the_difference_is_readable(D):
    with pytest.raises(DerivationError) as caught:
        D.prove(total(y[i], i), total(2 * y[j], j), "r")
    shown = "is -Sum(y[i], (i, 1, n)), not 0; at a random point it is"
    assert shown in str(caught.value)


def test_a_difference_that_vanishes_for_equal_indices_only_is_shown(D):
    p = index("p", d)
    q = index("q", d)
    slope = derivative(derivative(total(w[q]**4, q), w[k]), w[p])
    D.prove(slope, 12 * delta(p, k) * w[k]**2, "A diagonal.")
    with pytest.raises(DerivationError, match="at a random point it is -"):
        D.prove(slope, 12 * w[k]**2, "Without delta.")


def test_no_warning_from_the_random_point(D):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DerivationError, match="not 0"):
            D.prove(log(u), sqrt(v), "Roots and logarithms of what may be negative.")


def test_letters_of_a_message_follow_the_order_of_the_indices():
    message = []
    for _ in range(3):
        with pytest.raises(DerivationError) as caught:
            Derivation("D").prove(K.T @ K, K, "r")
        message.append(str(caught.value))
    assert len(set(message)) == 1
    assert readable(total(y[i], i).meaning) == "Sum(y[i], (i, 1, n))"


# ------------------------------------------------------- attacks: definitions


@pytest.mark.parametrize("attack, match", [
    (lambda D: D.define(b, b + 1, "r"), "by itself"),
    (lambda D: (D.define(b, c + 1, "r"), D.define(c, b + 1, "r")), "by itself"),
    (lambda D: (D.define(b, c, "r"), D.define(b, u, "r")), "not a new name"),
    (lambda D: (D.given(b, 1, "r"), D.define(b, 2, "r")), "not a new name"),
    (lambda D: (D.define(a[i], 1, "r"), D.define(a[j], 2, "r")), "not a new name"),
    (lambda D: (D.define(w, 2 * x[1], "r"), D.define(w[1], 2, "r")), "not a new name"),
    (lambda D: D.define(m[t], m[t] + 1, "r"), "by itself"),
    (lambda D: (D.define(m[t], h[t - 1] + 1, "r"), D.define(h[t], m[t + 1], "r")),
     "by itself"),
    (lambda D: D.define(b + c, u, "r"), "not a name"),
    (lambda D: D.define(E(X), u, "r"), "not a name"),
    (lambda D: D.define(b, X, "r"), "random=True"),
    (lambda D: D.define(b, c, ""), "gives its reason"),
    (lambda D: D.rewrite(b, "r"), "ledger is empty")])
def test_bad_definitions(D, attack, match):
    with pytest.raises(ValueError, match=match):
        attack(D)


def test_recursions_may_be_defined(D):
    D.define(m[t], beta * m[t - 1] + g[t], "A recursion.")
    D.define(m[0], 0, "Its start.")
    D.define(h[t], m[t] - m[t - 1], "On top of it.")
    assert len(D.steps) == 3


# -------------------------------------------------------- attacks: derivatives


def test_a_name_does_not_hide_what_it_depends_on(D):
    D.define(z, u**2, "An inner function.")
    loss = D.define(L, z**3, "An outer one.")
    for attack in (lambda: D.differentiate(loss, u, 0, "r"),
                   lambda: D.prove(derivative(L, u), 0, "r"),
                   lambda: D.prove(2 * derivative(z, u) + 1, 1, "r"),
                   lambda: D.stationary(loss, u, 0, "r")):
        with pytest.raises(ValueError, match="depends on u by an earlier step"):
            attack()
    D.differentiate(loss, z, 3 * z**2, "By the inner function itself it is right.")


def test_yesterdays_value_is_a_constant_of_today(D):
    cell = D.define(m[t], g[t] * m[t - 1] + h[t], "A cell.")
    D.differentiate(cell, g[t], m[t - 1], "The cell's past does not know today's gate.")


def test_derivative_of_an_inequality_is_no_step(D):
    bound = D.bound(0, u**2, "A square.", gap=u**2)
    for attack in (lambda: D.differentiate(bound, u, 2 * u, "r"),
                   lambda: D.stationary(bound, u, 0, "r")):
        with pytest.raises(ValueError, match="cannot be used as an equation"):
            attack()
    with pytest.raises(ValueError, match="is an inequality"):
        D.rewrite(u**2, "r")
    with pytest.raises(ValueError, match="cannot be used as an equation"):
        D.prove(u, 0, "r", using=[bound])


# -------------------------------------------------------------- attacks: facts


def test_facts_are_for_every_index_and_capture_nothing(D):
    fact = D.given(a[i], total(K[i, j], j), "Row sums.")
    D.prove(a[j], total(K[j, i], i), "Another letter.", using=[fact])
    with pytest.raises(DerivationError):
        D.prove(a[j], total(K[i, i], i), "Captured.", using=[fact])


def test_a_fact_about_the_diagonal_is_not_one_about_the_matrix(D):
    fact = D.given(K[i, i], 1, "A correlation.")
    D.prove(total(K[i, i], i), n, "The trace.", using=[fact])
    with pytest.raises(DerivationError):
        D.prove(K[i, j], 1, "Everywhere.", using=[fact])
    with pytest.raises(DerivationError):
        D.prove(total(K[i, j], i, j), n**2, "Everywhere.", using=[fact])


def test_a_power_is_known_for_every_index_without_capture(D):
    labels = D.given(y[i]**2, 1, "Labels are 1 and -1.")
    D.prove(total(a[j] * y[j]**2, j), total(a[i], i), "In a sum.", using=[labels])
    with pytest.raises(DerivationError):
        D.prove(total(a[j] * y[j]**3, j), total(a[i], i), "A cube.", using=[labels])
    norms = D.given(g[i]**2, total(K[i, j], j), "Squares by rows.")
    with pytest.raises(DerivationError):
        D.prove(g[j]**2, total(K[i, i], i), "Captured.", using=[norms])
    D.prove(g[j]**2, total(K[j, i], i), "Renamed.", using=[norms])


def test_a_recursion_is_used_without_capture(D):
    fact = D.given(m[t], m[t - 1] + y[i], "With a free index.")
    with pytest.raises(DerivationError):
        D.prove(total(m[t] * a[i], i), total((m[t - 1] + y[i]) * a[i], i), "Captured.",
                using=[fact])
    D.prove(total(m[t] * a[j], j), (m[t - 1] + y[i]) * total(a[j], j), "Not captured.",
            using=[fact])


def test_a_known_sum_is_not_imposed_on_a_part_of_it(D):
    balance = D.given(total(a[i], i), 0, "In balance.")
    D.prove(total(a[i] * y[j], i, j), 0, "The whole.", using=[balance])
    for part in (total(a[i], (i, 1, n - 1)), total(a[i] * y[i], i),
                 total(a[i] * y[j], j, (i, 1, j))):
        with pytest.raises(DerivationError):
            D.prove(part, 0, "A part.", using=[balance])


def test_the_facts_are_cited(D):
    fact = D.given(b, c, "A fact.")
    other = Derivation("Elsewhere").given(u, v, "Another.")
    step = D.prove(b + u, c + v, "Both.", using=[fact, other, Equation(z, 1)])
    assert "using (1), (1) of Elsewhere and z = 1" in repr(step)


@pytest.mark.parametrize("fact, match", [
    (Equation(b, c, "<="), "cannot be used as an equation"),
    (Equation(b + c, u), "its left side must be a name"),
    (Equation(exp(b), u), "its left side must be a name")])
def test_facts_that_cannot_be_used_are_refused(D, fact, match):
    with pytest.raises(ValueError, match=match):
        D.prove(b, c, "r", using=[fact])


# ------------------------------------------------------- attacks: substitution


def test_substitution_is_simultaneous(D):
    D.define(L, u - 2 * v, "Two letters.")
    step = D.substitute({u: v, v: u}, "Exchanged.")
    assert str(step.right) == "-2*u + v"


def test_what_holds_for_certain_values_is_no_fact(D):
    loss = D.define(L, u**2, "A square.")
    at_one = D.substitute({u: 1}, "At one.")
    also = D.rewrite(fraction(2, 2), "The same.")
    square = D.prove(u**2, L, "The definition.", using=[loss])
    for conditional in (at_one, also):
        with pytest.raises(ValueError, match="holds only for the values"):
            D.prove(square.left, 1, "Everywhere?", using=[conditional])


def test_what_known_values_give_is_a_fact(D):
    D.define(L, u**2 + v, "A loss.")
    D.given(u, 3 * v, "Known.")
    D.prove(L, u**2 + v, "Again.", using=[D.steps[0]])
    step = D.substitute({u: 3 * v}, "What is known.")
    D.prove(L, 9 * v**2 + v, "Used.", using=[step])


def test_substitution_under_an_expectation(D):
    D.define(L, E(X * Y), "A mean.")
    step = D.substitute({X: 3}, "A constant.")
    assert str(step.right) == "E[3*Y]"
    D.rewrite(3 * E(Y), "Linear.")


# ----------------------------------------------------------- attacks: induction


def rule(array=m):
    return Equation(array[t], beta * array[t - 1] + (1 - beta) * g[t])


UNROLLED = (1 - beta) * total(beta**(t - s) * g[s], (s, 1, t))


def test_induction(D):
    step = D.induct(m[t], UNROLLED, "Unrolled.", on=t, recursion=rule(),
                    start=Equation(m[0], 0))
    assert "proved for every t, by induction" in repr(step)
    D.induct((1 - beta) * total(beta**(t - s), (s, 1, t)), 1 - beta**t, "Weights.",
             on=t)


@pytest.mark.parametrize("claim, start", [
    (UNROLLED, Equation(m[0], 1)), (2 * UNROLLED, Equation(m[0], 0)),
    (UNROLLED / (1 - beta), Equation(m[0], 0)),
    ((1 - beta) * total(beta**(t - s) * g[s], (s, 0, t)), Equation(m[0], 0)),
    ((1 - beta) * total(beta**(t - s) * g[t], (s, 1, t)), Equation(m[0], 0)),
    (UNROLLED + beta**t, Equation(m[0], 0))])
def test_wrong_base_or_step(D, claim, start):
    with pytest.raises(DerivationError, match="does not follow by induction"):
        D.induct(m[t], claim, "r", on=t, recursion=rule(), start=start)


@pytest.mark.parametrize("left, right, wrong_rule, start, match", [
    (m[t], UNROLLED, rule(h), Equation(m[0], 0), "recursion is for h"),
    (m[t], UNROLLED, rule(), Equation(h[0], 0), "start must be an entry such as m"),
    (m[t], UNROLLED, rule(), Equation(m[s], 0), "start must be an entry such as m"),
    (m[t], UNROLLED, rule(), Equation(b, 0), "start must be an entry such as m"),
    # off by one: m[t + 1] = 2 m[t], m[0] = 1 makes m[t + 1] = 2^(t + 1), not 2^t
    (m[t + 1], 2**t, Equation(m[t + 1], 2 * m[t]), Equation(m[0], 1), r"entry \[t\]"),
    (m[t], UNROLLED, Equation(m[t], m[t - 1], "<="), Equation(m[0], 0), "equation"),
    (m[t], UNROLLED, None, Equation(m[0], 0), "needs its recursion")])
def test_inductions_that_do_not_fit_are_refused(D, left, right, wrong_rule, start,
                                                match):
    with pytest.raises(ValueError, match=match):
        D.induct(left, right, "r", on=t, recursion=wrong_rule, start=start)


def test_induction_over_an_empty_or_shorter_sum(D):
    """At t = 0 the sum over 1..t is 0; that over 3..t would have to be -2 terms."""
    with pytest.raises(DerivationError):
        D.induct(total(beta**s, (s, 1, t)) + 1, total(beta**s, (s, 1, t)), "r", on=t)
    with pytest.raises(ValueError, match="first case"):
        D.induct(total(c, (s, 3, t)), c * (t - 2), "r", on=t)
    with pytest.raises(DerivationError):
        D.induct(total(t * a[s], (s, 1, t)) + c * t, t * total(a[s], (s, 1, t)), "r",
                 on=t)


# ---------------------------------------------------------- attacks: inequality


def test_cauchy_and_schwarz(D):
    step = D.bound(total(y[i], i)**2, n * total(y[i]**2, i), "Cauchy and Schwarz.",
                   gap=total((y[i] - y[j])**2, i, j) / 2)
    assert "inequality, the difference shown" in repr(step)
    assert repr(step).endswith(">= 0") and str(step).count("\n") == 2


@pytest.mark.parametrize("left, right, gap, using, match", [
    (0, u * v, u * v, (), "not visibly non-negative"),
    (u, u**2, u**2 - u, (), "not visibly non-negative"),
    (0, u**2, v**2, (), "it is off by"),
    (u**2, 0, u**2, (), "it is off by"),
    (0, total((a[i] - 1)**3, i), total((a[i] - 1)**3, i), (), "not visibly"),
    (0, total(i - 3, i), total(i - 3, i), [Equation(i, 3, ">")], "not visibly"),
    (0, c * u**2, c * u**2, [Equation(b, 0, ">")], "not visibly")])
def test_wrong_inequalities(D, left, right, gap, using, match):
    with pytest.raises(DerivationError, match=match):
        D.bound(left, right, "r", gap=gap, using=using)


def test_facts_of_both_directions(D):
    share = D.given(c, 1, "A share.", "<")
    D.bound(0, (1 - c) * u**2, "What is left.", gap=(1 - c) * u**2, using=[share])
    with pytest.raises(DerivationError):
        D.bound(0, (c - 1) * u**2, "r", gap=(c - 1) * u**2, using=[share])
    with pytest.raises(ValueError, match="expected '<=' or '>='"):
        D.bound(0, u**2, "r", gap=u**2, relation="<")


# -------------------------------------------------------- attacks: expectation


def test_independence_is_used_and_shown(D):
    step = D.prove(E(X * Y), E(X) * E(Y), "Independent.", independent=[[X], [Y]])
    assert "X and Y independent" in repr(step)
    step = D.prove(E(X * Y), E(X) * E(Y), "A family.", independent=[[X, Z], [Y]])
    assert "(X, Z) and Y independent" in repr(step)
    with pytest.raises(ValueError, match="both families rest on X"):
        D.prove(E(X * Y), E(X) * E(Y), "r", independent=[[X], [X, Y]])
    with pytest.raises(TypeError, match="not a name"):
        D.prove(E(X * Y), E(X) * E(Y), "r", independent=[[X + 1], [Y]])


def test_what_is_defined_through_the_other_is_not_independent(D):
    D.define(Y, X**2, "A square.")
    with pytest.raises(ValueError, match="both families rest on X"):
        D.prove(E(X * Y), E(X) * E(Y), "r", independent=[[X], [Y]])
    D.define(Z, T[1] + T[2], "Of an array.")
    with pytest.raises(ValueError, match="both families rest on T"):
        D.prove(E(T[1] * Z), E(T[1]) * E(Z), "r", independent=[[T], [Z]])


def test_bias_and_variance(D):
    noise = D.given(E(eps), 0, "No noise on average.")
    D.prove(E((c + eps - f)**2), (c - E(f))**2 + E((f - E(f))**2) + E(eps**2),
            "Three parts.", using=[noise], independent=[[f], [eps]])
    with pytest.raises(DerivationError):
        D.prove(E((c + eps - f)**2), (c - E(f))**2 + E((f - E(f))**2) + E(eps**2),
                "Without independence.", using=[noise])
    with pytest.raises(DerivationError):
        D.prove(E((c + eps - f)**2), (c - E(f))**2 + E((f - E(f))**2),
                "Without noise.", using=[noise], independent=[[f], [eps]])


# ----------------------------------------------------------- attacks: checking


def test_a_check_says_that_it_is_one(D):
    step = D.prove(total(y[i], i) - total(y[i], (i, 1, n - 1)), y[n], "The last.",
                   check_at={n: 3})
    assert "checked at random points, n = 3" in repr(step)
    assert D.evidence() == "A test: 1 step, 1 checked at random points"


@pytest.mark.parametrize("left, right", [
    (total(y[i], i), 3 * y[1]), (total(K[i, j], i, j), total(K[i, i], i)),
    (total(E(T[i]), i) * total(y[j], j), n * total(y[i] * E(T[i]), i)),
    (total(function("ell")(y[i]), i) * total(y[j], j),
     n * total(y[i] * function("ell")(y[i]), i)),
    (sqrt(u**2), u)])
def test_a_false_check_fails(D, left, right):
    with pytest.raises(DerivationError):
        D.prove(left, right, "r", check_at={n: 3})


def test_a_check_at_which_nothing_is_a_number(D):
    with pytest.raises(DerivationError, match="declare what is positive"):
        D.prove(sqrt(u * v), sqrt(u) * sqrt(v), "r", check_at={})
