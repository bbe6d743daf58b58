"""The ledger of a derivation: every line is checked before it may be shown.

Each step is an equation (or inequality) in the author's notation together with the
reason for taking it and the evidence that it holds:

- *definition*: a new name for something;
- *given*: an assumption, named so that it can be used and criticised;
- *proved for every size*: the two sides have the same normal form, or an induction;
- *checked at random points*: equal to rounding at random numbers of the stated sizes;
- *substituted*: the machine itself put values into the step before;
- *inequality*: the difference is shown, built from squares and non-negative factors.

A step that fails raises ``DerivationError`` with the difference of its two sides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from sympy import (
    Dummy,
    Expr,
    Indexed,
    IndexedBase,
    Pow,
    Sum,
    Symbol,
    Wild,
    factor,
    sympify,
)
from sympy.core.function import AppliedUndef

from mlbook.symbolic.algebra import (
    bound_symbols,
    equal_by_induction,
    impose,
    is_zero,
    manifestly_nonnegative,
    normal_form,
    rename_bound,
    replace_indexed,
    solves_recursion,
    stationary_point,
)
from mlbook.symbolic.dependence import common, hides, is_circular, is_name, overlap
from mlbook.symbolic.expectation import Expect, RandomVariable, is_random, linear
from mlbook.symbolic.notation import (
    Addition,
    Application,
    Array,
    Equation,
    Partial,
    Scalar,
    Term,
    as_term,
)
from mlbook.symbolic.numeric import evaluate, random_values

DEFINITION, GIVEN, SUBSTITUTED = "definition", "given", "substituted"
PROVED, CHECKED, INEQUALITY = "proved", "checked", "inequality"


class DerivationError(AssertionError):
    """A step that does not follow; the message shows the difference."""


class Step(Equation):
    """One line of a ledger: an equation, its reason and its evidence."""

    def __init__(self, left: Term, right: Term, relation: str, title: str, number: int,
                 reason: str, kind: str, evidence: list,
                 gap: Term | None = None) -> None:
        super().__init__(left, right, relation)
        self.title, self.number, self.reason = title, number, reason
        self.label = str(number)
        self.kind, self.evidence, self.gap = kind, evidence, gap
        self.conditional = False  # does it hold only for values put in by substitute()?

    def shown_evidence(self, style: str) -> str:
        """The evidence as text; formulas in it as LaTeX between dollars, or as text."""
        return "".join(
            part if isinstance(part, str)
            else f"${part.render(style)}$" if style == "latex" else part.render(style)
            for part in self.evidence)

    def _lines(self, style: str) -> list[str]:
        lines = [self.render(style)]
        if self.gap is None:
            return lines
        greater, less = ((self.right, self.left) if self.relation == "<="
                         else (self.left, self.right))
        difference = f"{greater.render(style)} - {less._inside(style, 2)}"
        terms = self.gap.parts if isinstance(self.gap, Addition) else [(1, self.gap)]
        if style == "text":
            return [*lines, f"{difference} = {self.gap.render(style)} >= 0"]
        # a line for the difference and one for each of its terms fits narrow pages
        rows = [f"&{difference}"]
        for position, (sign, term) in enumerate(terms):
            mark = "=" if position == 0 else r"\quad" + (" + " if sign > 0 else " - ")
            lead = "-" if sign < 0 and position == 0 else ""
            rows.append(rf"&\quad {mark} {lead}{term._inside(style, 2)}")
        body = " \\\\\n".join(rows) + r" \;\ge\; 0"
        return [*lines, f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"]

    def __repr__(self) -> str:
        body = "\n    ".join(self._lines("text"))
        evidence = self.shown_evidence("text")
        return f"({self.label}) {self.reason} [{evidence}]\n    {body}"

    __str__ = __repr__

    def _repr_markdown_(self) -> str:
        body = "\n$$\n\n$$\n".join(self._lines("latex"))
        evidence = self.shown_evidence("latex")
        return (f"**({self.label})** {self.reason} · *{evidence}*\n\n"
                f"$$\n{body}\n$$\n")

    # the Markdown form is the one to show; a LaTeX form beside it would win in some
    # front ends and lose the reason
    _repr_latex_ = None


class Steps(tuple):
    """Several steps to be shown together."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_markdown_(self) -> str:
        return "\n".join(step._repr_markdown_() for step in self)


def show(*steps: Step) -> Steps:
    """Show several steps as the output of one notebook cell."""
    return Steps(steps)


class Derivation:
    """A chain of checked steps, numbered from 1 behind the derivation's ``label``.

    Every method that adds a step returns it, so that the last line of a notebook cell
    shows it; a step can be passed on in ``using`` to later ones.
    """

    def __init__(self, title: str, label: str = "") -> None:
        self.title, self.label = title, label
        self.steps: list[Step] = []

    # -- steps that need no proof

    def define(self, left: object, right: object, reason: str) -> Step:
        """A new name for an expression; an old name or a formula is refused."""
        left, right = as_term(left), as_term(right)
        name, meaning = _sides(left, right)
        if not is_name(name):
            raise ValueError(f"{left} is not a name: an equation that is assumed is "
                             "given(), one that follows is proved")
        for step in self._naming(DEFINITION, GIVEN):
            if overlap(_sides(step.left, step.right)[0], name):
                raise ValueError(f"{left} is not a new name: see step ({step.label})")
        if is_circular([*self._meanings(), (name, meaning)]):
            raise ValueError(f"{left} cannot be defined by itself, and {right} rests "
                             "on it")
        self._refuse_lost_randomness(left, right)
        return self._add(left, right, "=", reason, DEFINITION, [DEFINITION])

    def given(self, left: object, right: object, reason: str,
              relation: str = "=") -> Step:
        """An assumption."""
        return self._add(left, right, relation, reason, GIVEN, [GIVEN])

    # -- steps that are checked

    def prove(self, left: object, right: object, reason: str,
              using: Sequence[Equation] = (),
              independent: Sequence[Sequence[Term]] = (),
              check_at: Mapping[Term, int] | None = None) -> Step:
        """left = right, from the facts in ``using``.

        A fact about a name (w, m[t]) is substituted, for every index; a recursion,
        which has the name on both sides, only for the entry it names. A known sum or
        power is imposed, a fact E[...] = ... is a moment. ``independent`` lists
        families of random variables that are independent of each other. Only where no
        proof can be had, ``check_at`` ({n: 3, d: 2}) asks for a check at random points
        instead.
        """
        left, right = as_term(left), as_term(right)
        self._refuse_dependence(independent)
        gap = self._difference(left, right, using, independent)
        if is_zero(gap):
            return self._proved(left, right, reason, using, gap, independent)
        if check_at is None:
            raise DerivationError(self._explain(left, right, gap))
        sizes = {as_term(k).meaning: v for k, v in check_at.items()}
        self._check_numerically(left, right, gap, sizes)
        shown = [q for k, v in check_at.items() for q in (", ", Equation(k, v))]
        evidence = ["checked at random points", *shown, *self._cite(using)]
        return self._add(left, right, "=", reason, CHECKED, evidence)

    def rewrite(self, right: object, reason: str, using: Sequence[Equation] = (),
                independent: Sequence[Sequence[Term]] = (),
                check_at: Mapping[Term, int] | None = None) -> Step:
        """The quantity of the last step in another form."""
        last = self._last()
        if last.relation != "=":
            raise ValueError(f"step ({last.label}) is an inequality: use prove()")
        step = self.prove(last.right, right, reason, using, independent, check_at)
        step.left, step.conditional = last.left, last.conditional
        return step

    def induct(self, left: object, right: object, reason: str, on: Scalar,
               recursion: Equation | None = None,
               start: Equation | None = None) -> Step:
        """left = right for every whole ``on``, by induction.

        With ``recursion`` (left[t] in terms of left[t - 1]) the right side is proved to
        solve it from ``start`` (left[0] = ..., or left[0] as it stands if there is
        none); without it both sides are expressions whose difference stays zero.
        """
        left, right = as_term(left), as_term(right)
        t = on.symbol
        if recursion is None and start is not None:
            raise ValueError("a start needs its recursion")
        facts = [q for q in (recursion, start) if q is not None]
        for fact in facts:
            _refuse_inequality(fact)
        if recursion is None:
            holds = equal_by_induction(left.meaning, right.meaning, t)
            claim = left.meaning - right.meaning
        else:
            now = recursion.left.meaning
            if left.meaning != now:
                raise ValueError(f"the recursion is for {recursion.left}, not {left}")
            if not isinstance(now, Indexed) or now.indices[-1] != t:
                raise ValueError(f"expected a recursion for an entry [{on}], got one "
                                 f"for {left}")
            self._refuse_lost_randomness(left, right)
            before = now.subs(t, t - 1)
            begin = now.subs(t, 0) if start is None else start.left.meaning
            if not (isinstance(begin, Indexed) and begin.indices[-1].is_Integer
                    and now.xreplace({t: begin.indices[-1]}) == begin):
                raise ValueError(f"the start must be an entry such as "
                                 f"{now.subs(t, 0)}, got {start.left}")
            first = int(begin.indices[-1])
            value = begin if start is None else start.right.meaning
            rule = recursion.right.meaning
            holds = solves_recursion(right.meaning, lambda q: _put(rule, before, q),
                                     t, value, first)
            claim = right.meaning - _put(rule, before, right.meaning.subs(t, t - 1))
        if not holds:
            raise DerivationError(
                f"step ({self._next_label()}) does not follow by induction on {on}: "
                f"the base or the step fails; the claim was {left} = {right}, and "
                f"what should vanish is {readable(normal_form(claim))}")
        evidence = ["proved for every ", on, ", by induction", *self._cite(facts)]
        return self._add(left, right, "=", reason, PROVED, evidence)

    def differentiate(self, of: Equation, variable: Term, right: object,
                      reason: str, using: Sequence[Equation] = ()) -> Step:
        """The partial derivative of the right side of ``of``."""
        _refuse_inequality(of)
        return self.prove(Partial(of.right, variable, of.left), right, reason, using)

    def stationary(self, of: Equation, variable: Term, right: object,
                   reason: str, using: Sequence[Equation] = ()) -> Step:
        """The one place where the derivative of the right side of ``of`` vanishes."""
        _refuse_inequality(of)
        right = as_term(right)
        marks = _fresh(variable)
        self._refuse_hidden(of.right, variable)
        root = stationary_point(of.right.meaning, variable.at(*marks))
        gap = _use(root - right.at(*marks), using, ())
        if not is_zero(gap):
            raise DerivationError(
                f"the derivative of {of.left} by {variable} vanishes at "
                f"{readable(root)}, not at {right}")
        return self._proved(variable, right, reason, using, of.right.at(), ())

    def substitute(self, values: Mapping[Term, object], reason: str) -> Step:
        """Let the machine put values into the right side of the last step, all at once.

        The result holds where the names have these values. It cannot be used as a fact
        elsewhere, unless all of the values are known from earlier steps.
        """
        last = self._last()
        result = last.right.meaning
        pairs = [(as_term(k).meaning, as_term(v).meaning) for k, v in values.items()]
        marks = [_stand_in(name, k) for k, (name, _) in enumerate(pairs)]
        for (name, _), mark in zip(pairs, marks):
            result = replace_indexed(result, name, mark)
        for (_, value), mark in zip(pairs, marks):
            result = replace_indexed(result, mark, value)
        facts = [_sides(q.left, q.right) for q in self._naming() if not q.conditional]
        evidence = [f"{SUBSTITUTED} in ({last.label})"]
        step = self._add(last.left, result, last.relation, reason, SUBSTITUTED,
                         evidence)
        step.conditional = last.conditional or any(
            not any(is_zero(replace_indexed(name, *fact) - value) for fact in facts)
            for name, value in pairs)
        return step

    def bound(self, left: object, right: object, reason: str, gap: object,
              relation: str = "<=", using: Sequence[Equation] = ()) -> Step:
        """left <= right (or >=), because the difference is ``gap``, visibly >= 0.

        ``using`` may also hold facts "... > 0" for the factors of the gap.
        """
        left, right, gap = as_term(left), as_term(right), as_term(gap)
        if relation not in ("<=", ">="):
            raise ValueError(f"relation {relation!r}: expected '<=' or '>='")
        for fact in using:
            _refuse_conditional(fact)
        larger, smaller = (right, left) if relation == "<=" else (left, right)
        positive = [q.left.meaning - q.right.meaning for q in using
                    if q.relation in (">", ">=")]
        positive += [q.right.meaning - q.left.meaning for q in using
                     if q.relation in ("<", "<=")]
        facts = [q for q in using if q.relation == "="]
        difference = self._difference(larger - smaller, gap, facts, ())
        if not is_zero(difference):
            raise DerivationError(
                f"the difference of the two sides is not {gap}: it is off by "
                f"{readable(normal_form(difference))}")
        if not manifestly_nonnegative(gap.meaning, positive):
            raise DerivationError(
                f"{gap} is not visibly non-negative: write it with squares and with "
                "factors that are positive by assumption")
        evidence = ["inequality, the difference shown", *self._cite(using)]
        return self._add(left, right, relation, reason, INEQUALITY, evidence, gap)

    # -- what a reader sees

    def evidence(self) -> str:
        """How many steps rest on what."""
        names = {DEFINITION: "definition", GIVEN: "given", PROVED: "proved",
                 CHECKED: "checked at random points", SUBSTITUTED: "substituted",
                 INEQUALITY: "inequality with its difference shown"}
        counts = Counter(step.kind for step in self.steps)
        plural = {DEFINITION: "definitions",
                  INEQUALITY: "inequalities with their differences shown"}
        parts = [f"{counts[kind]} "
                 f"{plural.get(kind, name) if counts[kind] > 1 else name}"
                 for kind, name in names.items() if counts[kind]]
        steps = f"{len(self.steps)} step{'s' if len(self.steps) != 1 else ''}"
        return ", ".join([f"{self.title}: {steps}", *parts])

    def __repr__(self) -> str:
        return "\n".join([self.title, repr(Steps(self.steps))])

    def _repr_markdown_(self) -> str:
        return Steps(self.steps)._repr_markdown_()

    # -- inside

    def _meanings(self) -> list:
        """Names and what the ledger says they are."""
        return [_sides(q.left, q.right) for q in self._naming(DEFINITION, GIVEN)]

    def _naming(self, *kinds: str) -> list[Step]:
        """The steps (of these kinds) that say what a name is."""
        return [q for q in self.steps if q.relation == "="
                and (q.kind in kinds or not kinds)
                and isinstance(q.left, (Scalar, Array, Application))
                and is_name(q.left.at(*_fresh(q.left)))]

    def _refuse_hidden(self, inner: Term, variable: Term) -> None:
        """The derivative of L by w is not 0 if L is defined through w."""
        entry = variable.at(*_fresh(variable))
        hidden = hides(inner.at(), entry, self._meanings())
        if hidden is not None:
            raise ValueError(f"{hidden} depends on {variable} by an earlier step: "
                             "write out what it stands for before differentiating")

    def _refuse_dependence(self, independent: Sequence) -> None:
        """What is defined through the same random variable is not independent."""
        families = [[_random_name(q) for q in family] for family in independent]
        for one, other in combinations(families, 2):
            shared = sorted(str(q) for q in common(one, other, self._meanings())
                            if isinstance(q, (Symbol, IndexedBase)) and is_random(q))
            if shared:
                raise ValueError(f"not independent: both families rest on {shared[0]}")

    @staticmethod
    def _refuse_lost_randomness(left: Term, right: Term) -> None:
        """E would take a name for a constant that was not declared as random."""
        marks = _fresh(left)
        if is_random(right.at(*marks)) and not is_random(left.at(*marks)):
            raise ValueError(f"{right} is random: declare {left} with random=True")

    def _next_label(self) -> str:
        return f"{self.label}{len(self.steps) + 1}"

    def _last(self) -> Step:
        if not self.steps:
            raise ValueError("the ledger is empty: begin with define() or given()")
        return self.steps[-1]

    def _add(self, left: object, right: object, relation: str, reason: str, kind: str,
             evidence: list, gap: Term | None = None) -> Step:
        if not reason:
            raise ValueError("every step gives its reason")
        step = Step(as_term(left), as_term(right), relation, self.title,
                    len(self.steps) + 1, reason, kind, evidence, gap)
        step.label = f"{self.label}{step.number}"
        self.steps.append(step)
        return step

    def _proved(self, left: Term, right: Term, reason: str, using: Sequence[Equation],
                gap: Expr, independent: Sequence) -> Step:
        marks = _fresh(left)
        sides = (left.at(*marks) if left.shape else left.at(), right.at(*marks))
        general = any(_symbolic_bounds(q) for q in sides) or left.shape
        evidence: list = [PROVED + (" for every size" if general else "")]
        for family in independent:
            evidence.append(", " if family is independent[0] else " and ")
            members = [q for member in family for q in (", ", member)][1:]
            # of the members of one family nothing is said
            evidence += ["(", *members, ")"] if len(family) > 1 else members
        evidence += [" independent"] if independent else []
        evidence += self._cite(using)
        return self._add(left, right, "=", reason, PROVED, evidence)

    def _cite(self, using: Sequence[Equation]) -> list:
        if not using:
            return []
        own = [q for q in using if q in self.steps]
        cited = [f"({self.label}{k})" for k in sorted({q.number for q in own})]
        for fact in using:
            if isinstance(fact, Step) and fact not in own:
                # with a letter of its own the number says which derivation it is in
                where = "" if fact.label != str(fact.number) else f" of {fact.title}"
                cited.append(f"({fact.label}){where}")
            elif fact not in own:
                cited.append(fact)
        return [", using ", *_listed(cited)]

    def _difference(self, left: Term, right: Term, using: Sequence[Equation],
                    independent: Sequence) -> Expr:
        if right.shape and right.shape != left.shape:
            raise ValueError(f"{left} has shape {left.shape}, {right} has "
                             f"{right.shape}")
        for node in [*_partials(left), *_partials(right)]:
            self._refuse_hidden(node.inner, node.variable)
        marks = _fresh(left)
        return _use(left.at(*marks) - right.at(*marks), using, independent)

    def _explain(self, left: Term, right: Term, gap: Expr) -> str:
        message = (f"step ({self._next_label()}) does not follow: {left} minus {right} "
                   f"is {readable(_tidy(normal_form(gap)))}, not 0")
        rng = np.random.default_rng(0)
        form = normal_form(gap)
        try:
            with np.errstate(all="ignore"):
                # two free indices may happen to be equal: look at several points
                points = (float(evaluate(form, random_values([form], {}, rng)))
                          for _ in range(5))
                off = next((q for q in points if abs(q) >= 1e-9), 0)
        except (TypeError, KeyError, IndexError, ValueError):
            return message
        if off == 0:
            return (message + ". At a random point it does vanish: take a smaller "
                    "step, name the fact that is missing in using=, or ask for "
                    "check_at=")
        return message + f"; at a random point it is {off:.4g}"

    def _check_numerically(self, left: Term, right: Term, gap: Expr,
                           sizes: dict) -> None:
        rng = np.random.default_rng(0)
        form = normal_form(gap)
        for _ in range(20):
            values = random_values([form], sizes, rng)
            try:
                off = float(evaluate(form, values))
                size = sum(abs(float(evaluate(q, values)))
                           for q in form.as_ordered_terms())
            except ValueError as error:
                raise DerivationError(f"{left} = {right} cannot be checked: {error}; "
                                      "declare what is positive") from error
            if not abs(off) <= 1e-9 * (1 + size):
                raise DerivationError(self._explain(left, right, gap))


def _listed(items: Sequence) -> list:
    """a, b and c."""
    marks = [", "] * (len(items) - 2) + [" and "] * (len(items) > 1)
    return [q for pair in zip(items, [*marks, ""]) for q in pair]


def _sides(left: Term, right: Term) -> tuple[Expr, Expr]:
    """Both sides in coordinates, at the same indices."""
    marks = _fresh(left)
    return left.at(*marks), right.at(*marks)


def _put(expr: Expr, old: Expr, new: Expr) -> Expr:
    """``new`` for the very entry ``old``, capturing nothing."""
    return rename_bound(expr, old.free_symbols | new.free_symbols).xreplace({old: new})


def _stand_in(name: Expr, number: int) -> Expr:
    """A name for a name, so that several can be exchanged for each other at once."""
    kind = RandomVariable if is_random(name) else Symbol
    symbol = kind(f"_put{number}", real=True)
    return IndexedBase(symbol)[name.indices] if isinstance(name, Indexed) else symbol


def _random_name(term: Term) -> Expr:
    if not isinstance(term, (Array, Scalar)):
        raise TypeError(f"{term} is not a name: independent= takes random variables")
    return term.symbol


def _partials(term: Term) -> list[Partial]:
    """Every derivative inside a formula."""
    found = [term] if isinstance(term, Partial) else []
    for value in vars(term).values():
        parts = value if isinstance(value, (list, tuple)) else [value]
        for part in parts:
            part = part[-1] if isinstance(part, tuple) else part
            if isinstance(part, Term) and part is not term:
                found += _partials(part)
    return found


def _fresh(term: Term) -> list[Symbol]:
    return [Dummy("l", integer=True) for _ in term.shape]


def _symbolic_bounds(expr: Expr) -> bool:
    return any(limit[1].free_symbols | limit[2].free_symbols
               for node in expr.atoms(Sum) for limit in node.limits)


def _use(expr: Expr, using: Sequence[Equation], independent: Sequence) -> Expr:
    """Apply known facts: names, then moments, then powers, then known sums."""
    names, moments, powers, sums = _sorted_facts(using)
    expr = _replace_names(expr, names)
    if expr.has(Expect):
        families = [[getattr(q.symbol, "label", q.symbol) for q in family]
                    for family in independent]
        rules = [(left.args[0], right) for left, right in moments]
        expr = linear(expr, rules, families)
    for left, right in powers:
        expr = _replace_power(normal_form(expr), left, right)
    for left, right in sums:
        expr = impose(expr, left, right)
    return expr


def _refuse_inequality(fact: Equation) -> None:
    if fact.relation != "=":
        raise ValueError(f"{fact.render('text')} cannot be used as an equation")


def _refuse_conditional(fact: Equation) -> None:
    if isinstance(fact, Step) and fact.conditional:
        raise ValueError(f"step ({fact.label}) holds only for the values that were "
                         "substituted: it cannot be used as a fact")


def _sorted_facts(using: Sequence[Equation]) -> tuple[list, list, list, list]:
    """Facts by what their left side is: names, moments, powers, sums."""
    names: list = []
    others: dict[type, list] = {Expect: [], Pow: [], Sum: []}
    for fact in using:
        _refuse_inequality(fact)
        _refuse_conditional(fact)
        marks = _fresh(fact.left)
        left, right = fact.left.at(*marks), fact.right.at(*marks)
        kinds = [kind for kind in (Expect, Pow) if isinstance(left, kind)]
        kinds += [Sum] if left.has(Sum) else []
        if isinstance(left, (Symbol, Indexed, AppliedUndef)):
            names.append((left, right))
        elif kinds:
            others[kinds[0]].append((left, right))
        else:
            raise ValueError(f"cannot use {fact.render('text')}: its left side must "
                             "be a name, a "
                             "known sum, a power or an expectation")
    for kind, facts in others.items():
        # the names are gone from the expression, so they must go from the facts too
        pairs = [(_replace_names(left, names), _replace_names(right, names))
                 for left, right in facts]
        others[kind] = [new if new[0].has(kind) else old
                        for new, old in zip(pairs, facts)]
    return names, others[Expect], others[Pow], others[Sum]


def _replace_names(expr: Expr, names: list) -> Expr:
    """Put in what the names stand for, in whatever order the facts come."""
    used: set[int] = set()
    for _ in range(len(names) + 1):
        before = expr
        for position, (left, right) in enumerate(names):
            if isinstance(left, Indexed) and right.has(left.base):
                # a recursion: used once, for the very entry that it names
                if position not in used and expr.has(left):
                    used.add(position)
                    expr = _put(expr, left, right)
            else:
                expr = replace_indexed(expr, left, right)
        if expr == before:
            break
    return expr


def _replace_power(expr: Expr, power: Pow, value: Expr) -> Expr:
    """Use y[i]**2 = 1 for every index."""
    generic = {q for a in power.atoms(Indexed) for q in a.indices
               if isinstance(q, Symbol)}
    wild = {q: Wild(q.name + "_w") for q in generic}
    back = {w: q for q, w in wild.items()}
    pattern = power.xreplace(wild)

    def put(**found: Expr) -> Expr:
        names = set().union(*(q.free_symbols for q in found.values()), set())
        # a fresh name first: the exchange of indices is simultaneous
        fresh = {q: Dummy(integer=True) for q in generic}
        result = rename_bound(value, names | generic).xreplace(fresh)
        return result.xreplace({fresh[back[w]]: found[w.name] for w in back})

    return expr.replace(pattern, put) if wild else expr.xreplace({power: value})


def _tidy(expr: Expr) -> Expr:
    """A short formula in factors; a long one, or one with sums, as it is."""
    return expr if expr.has(Sum) or expr.count_ops() > 60 else factor(expr)


def readable(expr: Expr) -> str:
    """Text of an expression with the machine's index names exchanged for letters."""
    expr = sympify(expr)
    taken = {q.name for q in expr.free_symbols | bound_symbols(expr)}
    letters = iter([q for q in "ijkpqrstuv" if q not in taken]
                   + [f"i{k}" for k in range(99)])
    machine = sorted({q for q in expr.atoms(Symbol)
                      if re.match(r"_[sp]\d+_\d+$", q.name) or isinstance(q, Dummy)},
                     key=lambda q: (q.name, getattr(q, "dummy_index", 0)))
    return str(expr.xreplace({q: Symbol(next(letters), integer=True) for q in machine}))
