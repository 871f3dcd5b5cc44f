from .agreement import agreement as agreement
from .areas import areas as areas
from .bands import bands as bands
from .calibration import calibration as calibration
from .dependence import dependence as dependence
from .expected import expected_performance as expected_performance
from .pairing import pairing as pairing
from .sites import sites as sites
