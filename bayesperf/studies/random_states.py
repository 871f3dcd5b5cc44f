"""scikit-learn estimators of which every random part is seeded."""

from __future__ import annotations

from typing import Any

import numpy as np


def with_random_state(estimator: Any, rng: np.random.Generator) -> Any:
    """Set every ``random_state`` of an estimator and of its parts."""
    names = [name for name in estimator.get_params() if name == "random_state" or name.endswith("__random_state")]
    return estimator.set_params(**{name: int(rng.integers(2**31)) for name in names})
