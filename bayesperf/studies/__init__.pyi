from .agreement import agreement as agreement
from .calibration import calibration as calibration
from .dependence import dependence as dependence
from .sites import sites as sites
