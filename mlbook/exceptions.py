"""The errors and warnings of the book; scikit-learn's own when it is loaded."""

from __future__ import annotations

import sys
import warnings


class NotFittedError(ValueError, AttributeError):
    """An estimator was used before ``fit``."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it met its tolerance."""


class DataConversionWarning(UserWarning):
    """Data arrived in another shape than expected and were converted."""


def counterpart(own: type) -> type:
    """Return scikit-learn's class of that name if it is loaded, else our own."""
    return getattr(sys.modules.get("sklearn.exceptions"), own.__name__, own)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside this package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("mlbook."):
        level, frame = level + 1, frame.f_back
    # level 1 would be the line below, level 2 the caller of this function
    warnings.warn(message, category, stacklevel=level)


def warn_not_converged(message: str) -> None:
    """Warn that ``fit`` stopped early; say after how many iterations and what helps."""
    warn(message, counterpart(ConvergenceWarning))
