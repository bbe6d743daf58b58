"""Formulas as an author types them: printed in that order, checked in coordinates.

SymPy sorts terms its own way, so a formula that went through it no longer looks like
the textbook's. Here a formula is a small tree that remembers what was typed::

    n, d = sizes("n d")
    i = index("i", n)
    w, x, y = vector("w", d), rows("x", n, d), sequence("y", n)
    loss = w @ w / 2 + total((y[i] - w @ x[i]) ** 2, i)

The tree prints as LaTeX or as text in the typed order, with vectors in vector notation.
Its ``meaning`` is the SymPy expression in coordinates that every check works on, so
what a reader sees and what the machine checks are one object.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import sympy
from sympy import Dummy, Expr, IndexedBase, KroneckerDelta, Symbol, latex, sympify

from mlbook.symbolic import functions
from mlbook.symbolic.algebra import partial
from mlbook.symbolic.expectation import Expect, RandomVariable

# how tightly a formula holds together; an operand that binds less gets parentheses
SUM, PRODUCT, POWER, ATOM = 1, 2, 3, 4


class Term:
    """A typed formula: a scalar, or an array of scalars with a symbolic shape.

    Subclasses give ``at`` (the scalar at some indices, as SymPy sees it) and
    ``render`` (LaTeX or text).
    """

    shape: tuple[Expr, ...] = ()
    binding = ATOM

    def at(self, *indices: Expr) -> Expr:
        """The entry at these indices, in coordinates."""
        raise NotImplementedError

    def render(self, style: str) -> str:
        """The formula in ``style`` "latex" or "text"."""
        raise NotImplementedError

    @property
    def meaning(self) -> Expr:
        """The scalar in coordinates, as a SymPy expression."""
        if self.shape:
            raise TypeError(f"{self} has shape {self.shape}; only a scalar has a "
                            "meaning of its own: take an entry, or .at(k)")
        return self.at()

    def latex(self) -> str:
        """The formula as LaTeX, in the typed order."""
        return self.render("latex")

    def __str__(self) -> str:
        return self.render("text")

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

    def _inside(self, style: str, least: int) -> str:
        """Rendered, in parentheses if it binds less tightly than ``least``."""
        shown = self.render(style)
        return _parentheses(shown, style) if self.binding < least else shown

    def __add__(self, other: object) -> Term:
        return Addition([(1, self), (1, as_term(other))])

    def __radd__(self, other: object) -> Term:
        return Addition([(1, as_term(other)), (1, self)])

    def __sub__(self, other: object) -> Term:
        return Addition([(1, self), (-1, as_term(other))])

    def __rsub__(self, other: object) -> Term:
        return Addition([(1, as_term(other)), (-1, self)])

    def __neg__(self) -> Term:
        return Addition([(-1, self)])

    def __mul__(self, other: object) -> Term:
        # Python reads -a * b as (-a) * b; on paper it is -(a b)
        if isinstance(self, Addition) and self.is_negation:
            return -(self.parts[0][1] * other)
        return Multiplication([self, as_term(other)])

    def __rmul__(self, other: object) -> Term:
        return Multiplication([as_term(other), self])

    def __truediv__(self, other: object) -> Term:
        if isinstance(self, Addition) and self.is_negation:
            return -(self.parts[0][1] / other)
        return Division(self, as_term(other))

    def __rtruediv__(self, other: object) -> Term:
        return Division(as_term(other), self)

    def __pow__(self, other: object) -> Term:
        return Power(self, as_term(other))

    def __rpow__(self, other: object) -> Term:
        return Power(as_term(other), self)

    def __matmul__(self, other: Term) -> Term:
        return Contraction(self, as_term(other))

    def __bool__(self) -> bool:
        raise TypeError(f"{self} is a formula: it is neither true nor false")


def _parentheses(shown: str, style: str) -> str:
    return rf"\left({shown}\right)" if style == "latex" else f"({shown})"


def as_term(value: object) -> Term:
    """A number, a SymPy expression or a formula as a formula."""
    if isinstance(value, Term):
        return value
    if isinstance(value, bool) or isinstance(value, float):
        raise TypeError(f"{value!r} in a formula: write exact numbers, such as "
                        "fraction(1, 2)")
    if isinstance(value, (int, Fraction, Expr)):
        return Plain(sympify(value))
    raise TypeError(f"{value!r} cannot stand in a formula")


# --------------------------------------------------------------------- atoms


class Plain(Term):
    """A SymPy expression as it is: numbers, and results of SymPy's own operations."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        if expr.is_Add or (expr.is_number and expr.is_negative):
            self.binding = SUM
        elif expr.is_Mul or isinstance(expr, (sympy.Sum, sympy.Rational)) \
                and not expr.is_integer:
            self.binding = PRODUCT
        elif expr.is_Pow or isinstance(expr, sympy.exp):  # printed as e^z
            self.binding = POWER

    def at(self, *indices: Expr) -> Expr:
        return self.expr

    def render(self, style: str) -> str:
        return latex(self.expr) if style == "latex" else str(self.expr)


class Scalar(Term):
    """A named number; sizes and indices are whole ones."""

    def __init__(self, symbol: Symbol, size: Expr | None = None) -> None:
        self.symbol = symbol
        self.size = size

    def at(self, *indices: Expr) -> Expr:
        return self.symbol

    def render(self, style: str) -> str:
        return latex(self.symbol) if style == "latex" else self.symbol.name


class Array(Term):
    """A named vector, matrix, sequence or family of vectors; entries count from 1.

    With some indices ``fixed`` it is a part: rows x[i] are vectors, g[t] is a number.
    """

    def __init__(self, base: IndexedBase, shape: tuple[Expr, ...],
                 fixed: tuple[Term, ...] = ()) -> None:
        self.symbol, self.full_shape, self.fixed = base, shape, fixed
        self.shape = shape[len(fixed):]

    def __getitem__(self, indices: object) -> Array:
        indices = indices if isinstance(indices, tuple) else (indices,)
        fixed = self.fixed + tuple(as_term(q) for q in indices)
        if len(fixed) > len(self.full_shape):
            raise IndexError(f"{self.symbol.label} has {len(self.full_shape)} indices, "
                             f"got {len(fixed)}")
        for place, size in zip(fixed, self.full_shape):
            own = getattr(place, "size", None)
            if own is not None and own != size:
                raise ValueError(f"{self.symbol.label}[..., {place}, ...]: index {place} "
                                 f"runs to {own}, this place to {size}")
        return Array(self.symbol, self.full_shape, fixed)

    def __iter__(self):
        raise TypeError(f"{self} has a symbolic length: it cannot be iterated over")

    def at(self, *indices: Expr) -> Expr:
        return self.symbol[(*(q.meaning for q in self.fixed), *indices)]

    def render(self, style: str) -> str:
        name = self.symbol.label
        if style == "text":
            inner = ",".join(q.render(style) for q in self.fixed)
            return f"{name}[{inner}]" if inner else str(name)
        shown = latex(name)
        if self.shape:
            # what is left to index is a vector or a matrix: bold
            head, mark, tail = shown.partition("_")
            bold = rf"\boldsymbol{{{head}}}" if "\\" in head else rf"\mathbf{{{head}}}"
            shown = bold + mark + tail
        if not self.fixed:
            return shown
        parts = [q.render(style) for q in self.fixed]
        simple = all(len(q) == 1 or q.startswith("\\") and q[1:].isalpha()
                     for q in parts)
        separator = " " if simple else ","
        return f"{shown}_{{{separator.join(parts)}}}"

    @property
    def T(self) -> Term:
        return Transposed(self)


# ---------------------------------------------------------------- operations


def _common_shape(terms: Iterable[Term], what: str) -> tuple[Expr, ...]:
    shapes = {q.shape for q in terms}
    if len(shapes) > 1:
        raise ValueError(f"cannot {what} shapes {sorted(map(str, shapes))}")
    return shapes.pop()


class Addition(Term):
    """A sum of signed terms in the typed order."""

    binding = SUM

    def __init__(self, parts: list[tuple[int, Term]]) -> None:
        flat: list[tuple[int, Term]] = []
        for position, (sign, term) in enumerate(parts):
            # (a + b) + c is typed as a + b + c; a + (b + c) keeps its parentheses
            if position == 0 and sign == 1 and isinstance(term, Addition):
                flat += term.parts
            else:
                flat.append((sign, term))
        self.parts = flat
        self.shape = _common_shape((q for _, q in flat), "add")

    @property
    def is_negation(self) -> bool:
        """Is this -a and nothing else?"""
        return len(self.parts) == 1 and self.parts[0][0] < 0

    def at(self, *indices: Expr) -> Expr:
        return sympy.Add(*[sign * q.at(*indices) for sign, q in self.parts])

    def render(self, style: str) -> str:
        shown = ""
        for position, (sign, term) in enumerate(self.parts):
            mark = ("-" if sign < 0 else "") if position == 0 else (
                " - " if sign < 0 else " + ")
            alone = position == 0 and sign > 0
            shown += mark + term._inside(style, SUM if alone else PRODUCT)
        return shown


class Multiplication(Term):
    """A product in the typed order; at most one factor is an array."""

    binding = PRODUCT

    def __init__(self, factors: list[Term]) -> None:
        flat: list[Term] = []
        for factor in factors:
            flat += factor.factors if isinstance(factor, Multiplication) else [factor]
        arrays = [q for q in flat if q.shape]
        if len(arrays) > 1:
            raise ValueError(f"{' times '.join(map(str, arrays))}: use @ for a product "
                             "of vectors or matrices")
        self.factors = flat
        self.shape = arrays[0].shape if arrays else ()

    def at(self, *indices: Expr) -> Expr:
        return sympy.Mul(*[q.at(*indices) if q.shape else q.at() for q in self.factors])

    def render(self, style: str) -> str:
        shown = []
        last = len(self.factors) - 1
        for position, factor in enumerate(self.factors):
            # an open sum in front would swallow the factors behind it
            closed = position < last and isinstance(factor, Repeated)
            shown.append(factor._inside(style, ATOM if closed else PRODUCT))
        if style == "text":
            return "*".join(shown)
        result = shown[0]
        for before, this in zip(shown, shown[1:]):
            digits = this[0].isdigit() or (before[-1].isdigit() and this[0].isdigit())
            result += (r" \cdot " if digits else r" \, ") + this
        return result


class Division(Term):
    """A fraction."""

    binding = PRODUCT

    def __init__(self, numerator: Term, denominator: Term) -> None:
        if denominator.shape:
            raise ValueError(f"cannot divide by {denominator}: it has shape "
                             f"{denominator.shape}")
        self.numerator, self.denominator = numerator, denominator
        self.shape = numerator.shape

    def at(self, *indices: Expr) -> Expr:
        return self.numerator.at(*indices) / self.denominator.at()

    def render(self, style: str) -> str:
        if style == "latex":
            return (rf"\frac{{{self.numerator.render(style)}}}"
                    rf"{{{self.denominator.render(style)}}}")
        return (f"{self.numerator._inside(style, PRODUCT)}/"
                f"{self.denominator._inside(style, POWER)}")


class Power(Term):
    """A power of a scalar."""

    binding = POWER

    def __init__(self, base: Term, exponent: Term) -> None:
        if base.shape or exponent.shape:
            raise ValueError(f"({base})**({exponent}): only scalars have powers")
        self.base, self.exponent = base, exponent

    def at(self, *indices: Expr) -> Expr:
        return self.base.at() ** self.exponent.at()

    def render(self, style: str) -> str:
        open_base = isinstance(self.base, (Application, Partial))
        base = self.base._inside(style, ATOM)
        if open_base:
            base = _parentheses(base, style)
        if style == "latex":
            return f"{base}^{{{self.exponent.render(style)}}}"
        return f"{base}^{self.exponent._inside(style, ATOM)}"


class Contraction(Term):
    """The product u @ v: inner product, matrix times vector, matrix times matrix."""

    binding = PRODUCT

    def __init__(self, left: Term, right: Term) -> None:
        if not left.shape or not right.shape:
            raise ValueError(f"{left} @ {right}: both sides of @ must be arrays")
        if left.shape[-1] != right.shape[0]:
            raise ValueError(f"{left} @ {right}: sizes {left.shape[-1]} and "
                             f"{right.shape[0]} differ")
        self.left, self.right = left, right
        self.shape = left.shape[:-1] + right.shape[1:]
        if self._is_square():
            self.binding = POWER

    def _is_square(self) -> bool:
        return len(self.left.shape) == 1 and not self.shape and (
            self.left is self.right or str(self.left) == str(self.right))

    def at(self, *indices: Expr) -> Expr:
        k = Dummy("k", integer=True)
        split = len(self.left.shape) - 1
        body = self.left.at(*indices[:split], k) * self.right.at(k, *indices[split:])
        return sympy.Sum(body, (k, 1, self.left.shape[-1]))

    def render(self, style: str) -> str:
        if self._is_square():
            inner = self.left.render(style)
            return (rf"\lVert {inner} \rVert^{{2}}" if style == "latex"
                    else f"|{inner}|^2")
        left = self.left._inside(style, PRODUCT)
        right = self.right._inside(style, PRODUCT)
        if style == "text":
            return f"{left}'{right}" if len(self.left.shape) == 1 else f"{left}@{right}"
        if len(self.left.shape) > 1:
            return f"{left} {right}"
        return f"{self.left._inside(style, POWER)}^{{\\top}} {right}"

    @property
    def T(self) -> Term:
        return Transposed(self)


class Transposed(Term):
    """The transpose of a matrix."""

    binding = POWER

    def __init__(self, inner: Term) -> None:
        if len(inner.shape) != 2:
            raise ValueError(f"{inner} has shape {inner.shape}: only a matrix has a "
                             "transpose (u @ v is the inner product of vectors)")
        self.inner, self.shape = inner, inner.shape[::-1]

    def at(self, *indices: Expr) -> Expr:
        return self.inner.at(indices[1], indices[0])

    def render(self, style: str) -> str:
        shown = self.inner._inside(style, ATOM)
        return f"{shown}^{{\\top}}" if style == "latex" else f"{shown}^T"

    @property
    def T(self) -> Term:
        return self.inner


class Repeated(Term):
    """A sum or product over one index."""

    binding = PRODUCT

    def __init__(self, body: Term, over: Scalar, low: Term, high: Term,
                 kind: type = sympy.Sum) -> None:
        self.body, self.over, self.kind = body, over, kind
        self.low, self.high = low, high
        self.shape = body.shape
        inner = body
        while isinstance(inner, Repeated):
            if inner.over.symbol == over.symbol:
                raise ValueError(f"{over} already runs inside: take another index")
            inner = inner.body

    def at(self, *indices: Expr) -> Expr:
        return self.kind(self.body.at(*indices),
                         (self.over.symbol, self.low.at(), self.high.at()))

    def render(self, style: str) -> str:
        body = self.body._inside(style, PRODUCT)
        low, high = self.low.render(style), self.high.render(style)
        if style == "latex":
            sign = r"\sum" if self.kind is sympy.Sum else r"\prod"
            return f"{sign}_{{{self.over.render(style)}={low}}}^{{{high}}} {body}"
        word = "sum" if self.kind is sympy.Sum else "prod"
        return f"{word}_{{{self.over.render(style)}={low}..{high}}} {body}"


class Grouped(Term):
    """Parentheses that the author wants to be seen."""

    def __init__(self, inner: Term) -> None:
        self.inner, self.shape = inner, inner.shape

    def at(self, *indices: Expr) -> Expr:
        return self.inner.at(*indices)

    def render(self, style: str) -> str:
        return _parentheses(self.inner.render(style), style)


class Application(Term):
    """A function of scalars."""

    _LATEX = {"exp": r"\exp", "log": r"\log", "sigmoid": r"\sigma",
              "softplus": r"\operatorname{softplus}", "tanh": r"\tanh",
              "sign": r"\operatorname{sign}", "Max": r"\max", "Min": r"\min"}

    def __init__(self, function: type, *args: Term) -> None:
        for arg in args:
            if arg.shape:
                raise ValueError(f"{function.__name__} of {arg}: expected a scalar, "
                                 f"got shape {arg.shape}")
        self.function, self.args = function, args

    def at(self, *indices: Expr) -> Expr:
        return self.function(*(q.at() for q in self.args))

    def render(self, style: str) -> str:
        inner = ", ".join(q.render(style) for q in self.args)
        name = getattr(self.function, "__name__", str(self.function))
        if style == "text":
            return f"E[{inner}]" if self.function is Expect else f"{name}({inner})"
        if self.function is Expect:
            return rf"\operatorname{{E}}\left[{inner}\right]"
        if self.function is sympy.sqrt:
            return rf"\sqrt{{{inner}}}"
        if self.function is sympy.Abs:
            return rf"\left|{inner}\right|"
        shown = self._LATEX.get(name) or latex(Symbol(name))
        return rf"{shown}\left({inner}\right)"


class Delta(Term):
    """Kronecker's delta: 1 if the indices are equal, else 0."""

    def __init__(self, left: Term, right: Term) -> None:
        self.left, self.right = left, right

    def at(self, *indices: Expr) -> Expr:
        return KroneckerDelta(self.left.at(), self.right.at())

    def render(self, style: str) -> str:
        pair = self.left.render(style), self.right.render(style)
        return rf"\delta_{{{' '.join(pair)}}}" if style == "latex" else \
            f"delta[{','.join(pair)}]"


class Partial(Term):
    """The partial derivative of a scalar by a scalar, an entry or a whole array."""

    binding = PRODUCT

    def __init__(self, inner: Term, variable: Term, shown: Term | None = None) -> None:
        self.inner, self.variable, self.name = inner, variable, shown
        self.shape = variable.shape

    def at(self, *indices: Expr) -> Expr:
        return partial(self.inner.meaning, self.variable.at(*indices))

    def render(self, style: str) -> str:
        variable = self.variable.render(style)
        if self.name is None:
            inner = self.inner._inside(style, ATOM)
            return (rf"\frac{{\partial}}{{\partial {variable}}} {inner}"
                    if style == "latex" else f"d/d{variable} {inner}")
        name = self.name.render(style)
        return (rf"\frac{{\partial {name}}}{{\partial {variable}}}"
                if style == "latex" else f"d{name}/d{variable}")


# ------------------------------------------------------- what an author types


def _names(names: str) -> list[str]:
    found = names.replace(",", " ").split()
    if not found:
        raise ValueError("no name given")
    return found


def _one_or_all(made: list):
    return made[0] if len(made) == 1 else tuple(made)


def sizes(names: str):
    """Positive whole numbers: ``n, d = sizes("n d")``."""
    return _one_or_all([Scalar(Symbol(q, integer=True, positive=True))
                        for q in _names(names)])


def scalars(names: str, random: bool = False, **assumptions: bool):
    """Real numbers, or random ones: ``eta = scalars("eta", positive=True)``."""
    kind = RandomVariable if random else Symbol
    return _one_or_all([Scalar(kind(q, **{"real": True, **assumptions}))
                        for q in _names(names)])


def index(name: str, size: object | None = None) -> Scalar:
    """A summation index that runs from 1 to ``size``."""
    bound = None if size is None else as_term(size).meaning
    return Scalar(Symbol(name, integer=True), bound)


def indices(names: str, size: object | None = None):
    """Several indices over the same range: ``i, j = indices("i j", n)``."""
    return _one_or_all([index(q, size) for q in _names(names)])


def _array(name: str, shape: tuple, random: bool, assumptions: dict) -> Array:
    assumptions = {"real": True, **assumptions}
    if random:
        base = IndexedBase(RandomVariable(name, **assumptions))
    else:
        base = IndexedBase(name, **assumptions)
    return Array(base, tuple(as_term(q).meaning for q in shape))


def vector(name: str, size: object, random: bool = False, **assumptions: bool) -> Array:
    """A vector, printed bold: ``w = vector("w", d)``; ``w[k]`` is an entry."""
    return _array(name, (size,), random, assumptions)


def sequence(name: str, size: object, random: bool = False,
             **assumptions: bool) -> Array:
    """Numbers in a row, such as y[i] for i = 1..n or g[t] over time."""
    return _array(name, (size,), random, assumptions)


def rows(name: str, count: object, size: object, random: bool = False,
         **assumptions: bool) -> Array:
    """A family of vectors: ``x = rows("x", n, d)``; ``x[i]`` is one of them."""
    return _array(name, (count, size), random, assumptions)


def matrix(name: str, count: object, size: object, random: bool = False,
           **assumptions: bool) -> Array:
    """A matrix, printed as a bold upright capital: ``A = matrix("A", n, d)``."""
    return _array(name, (count, size), random, assumptions)


def _repeat(body: object, over: tuple, kind: type) -> Term:
    result = as_term(body)
    for item in reversed(over):
        if isinstance(item, tuple):
            run, low, high = item
        else:
            run, low, high = item, 1, item.size
            if high is None:
                raise ValueError(f"index {run} has no size: give bounds, ({run}, 1, n)")
        result = Repeated(result, run, as_term(low), as_term(high), kind)
    return result


def total(body: object, *over: object) -> Term:
    """A sum: ``total(f, i)`` over the range of i, ``total(f, (i, 1, t))`` over 1..t."""
    return _repeat(body, over, sympy.Sum)


def prod(body: object, *over: object) -> Term:
    """A product over indices, as ``total`` is a sum."""
    return _repeat(body, over, sympy.Product)


def fraction(numerator: object, denominator: object) -> Term:
    """An exact fraction, printed as one: ``fraction(1, 2)``, ``fraction(1, n)``."""
    return Division(as_term(numerator), as_term(denominator))


def group(inner: object) -> Term:
    """Parentheses to be seen, as in (f - g) + (g - h)."""
    return Grouped(as_term(inner))


def E(inner: object) -> Term:
    """Expectation over everything random inside."""
    return Application(Expect, as_term(inner))


def delta(left: object, right: object) -> Term:
    """1 if the two indices are equal, else 0."""
    return Delta(as_term(left), as_term(right))


def derivative(inner: Term, variable: Term) -> Term:
    """Partial derivative; by an array it is the array of partial derivatives."""
    return Partial(inner, variable)


def function(name: str):
    """An unknown function of scalars: ``ell = function("ell")``; ``ell(y, z)``."""
    symbol = sympy.Function(name, real=True)
    return lambda *args: Application(symbol, *map(as_term, args))


def _applied(function: type):
    def apply(inner: object) -> Term:
        return Application(function, as_term(inner))

    apply.__doc__ = f"{function.__name__} of a scalar formula."
    return apply


exp, log, sqrt = _applied(sympy.exp), _applied(sympy.log), _applied(sympy.sqrt)
absolute, sign, tanh = _applied(sympy.Abs), _applied(sympy.sign), _applied(sympy.tanh)
sigmoid, softplus = _applied(functions.sigmoid), _applied(functions.softplus)


class Equation:
    """left = right (or <=, >=, >): an assumption, a definition or a known result."""

    _LATEX = {"<=": r"\le", ">=": r"\ge", "=": "=", ">": ">", "<": "<"}

    def __init__(self, left: object, right: object, relation: str = "=") -> None:
        if relation not in self._LATEX:
            raise ValueError(f"relation {relation!r}: expected one of "
                             f"{', '.join(self._LATEX)}")
        self.left, self.right = as_term(left), as_term(right)
        self.relation = relation
        if self.right.shape and self.right.shape != self.left.shape:
            raise ValueError(f"{self.left} has shape {self.left.shape}, {self.right} "
                             f"has {self.right.shape}")

    def render(self, style: str) -> str:
        relation = self._LATEX[self.relation] if style == "latex" else self.relation
        return f"{self.left.render(style)} {relation} {self.right.render(style)}"

    def __str__(self) -> str:
        return self.render("text")

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.render('latex')}$"
