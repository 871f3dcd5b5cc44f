"""The types of arrays: floating-point values, numbers of examples, positions among labels, truth values."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
Codes = NDArray[np.intp]
Booleans = NDArray[np.bool_]
# Floats, or the complex numbers by which formulas are differentiated.
Numbers = NDArray[Any]
