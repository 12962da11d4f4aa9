"""Values on their way out of Python: shares in sentences, numbers in JSON."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np


def percent(share: float) -> str:
    """A share in per cent, rounded to one decimal: ``12.5 %``, ``80 %``."""
    return f"{round(100 * share, 1):g} %"


def exact_percent(share: float) -> str:
    """A share that someone chose, such as a confidence level, in per cent with all its digits: ``99.95 %``."""
    return f"{100 * share:.10g} %"


def json_ready(value: Any) -> Any:
    """The value in types that JSON knows; a number that is not finite becomes None."""
    if type(value) is float:  # most values of a report
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return json_ready(value.tolist())
    if isinstance(value, list | tuple):
        return [json_ready(item) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
