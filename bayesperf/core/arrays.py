"""Types of arrays, by what they hold: real values, numbers of examples, positions among labels, truth values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.intp]
Booleans = NDArray[np.bool_]
# Real numbers, or complex ones where formulas are differentiated by the complex-step method.
Numbers = NDArray[Any]
