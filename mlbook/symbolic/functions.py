"""The logistic sigmoid and softplus as functions of their own.

Written out as 1/(1 + exp(-z)) a sigmoid fills every formula with fractions that no
reader wants and that SymPy simplifies slowly. As opaque functions with their own
derivative they stay as readable as on paper.
"""

from __future__ import annotations

from sympy import Expr, Function, Rational, exp, log


class sigmoid(Function):
    """1 / (1 + exp(-z)); its derivative is sigmoid(z) (1 - sigmoid(z))."""

    nargs = 1

    @classmethod
    def eval(cls, z: Expr) -> Expr | None:
        return Rational(1, 2) if z.is_zero else None

    def fdiff(self, argindex: int = 1) -> Expr:
        return self * (1 - self)

    def _eval_is_positive(self) -> bool | None:
        return True if self.args[0].is_extended_real else None

    def _eval_is_real(self) -> bool | None:
        return self.args[0].is_extended_real

    def _eval_rewrite_as_exp(self, z: Expr, **hints) -> Expr:
        return 1 / (1 + exp(-z))

    def _eval_evalf(self, prec: int) -> Expr:
        return self.rewrite(exp)._eval_evalf(prec)

    def _latex(self, printer, exp=None) -> str:
        shown = rf"\sigma\left({printer.doprint(self.args[0])}\right)"
        return shown if exp is None else rf"{shown}^{{{exp}}}"


class softplus(Function):
    """log(1 + exp(z)); its derivative is sigmoid(z)."""

    nargs = 1

    @classmethod
    def eval(cls, z: Expr) -> Expr | None:
        return log(2) if z.is_zero else None

    def fdiff(self, argindex: int = 1) -> Expr:
        return sigmoid(self.args[0])

    def _eval_is_positive(self) -> bool | None:
        return True if self.args[0].is_extended_real else None

    def _eval_is_real(self) -> bool | None:
        return self.args[0].is_extended_real

    def _eval_rewrite_as_exp(self, z: Expr, **hints) -> Expr:
        return log(1 + exp(z))

    def _eval_evalf(self, prec: int) -> Expr:
        return self.rewrite(exp)._eval_evalf(prec)


def fold_reflections(expr: Expr) -> Expr:
    """sigmoid(-z) -> 1 - sigmoid(z), softplus(-z) -> softplus(z) - z, log sigmoid too.

    Of z and -z the one without the leading minus is kept, so that both sides of an
    identity end up written in the same one.
    """
    if not expr.has(sigmoid, softplus):
        return expr
    expr = expr.replace(
        lambda q: isinstance(q, log) and isinstance(q.args[0], sigmoid),
        lambda q: -softplus(-q.args[0].args[0]))
    expr = expr.replace(
        lambda q: isinstance(q, (sigmoid, softplus))
        and q.args[0].could_extract_minus_sign(),
        lambda q: 1 - sigmoid(-q.args[0]) if isinstance(q, sigmoid)
        else softplus(-q.args[0]) + q.args[0])
    return expr
