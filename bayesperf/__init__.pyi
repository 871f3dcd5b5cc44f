from . import datasets as datasets
from . import metrics as metrics
from . import plots as plots
from . import prior as prior
from .counts import ConfusionMatrix as ConfusionMatrix
from .marginals import Marginal as Marginal
from .metrics import score as score
from .paired import PairedConfusionMatrix as PairedConfusionMatrix
from .posterior import Posterior as Posterior
from .posterior import posterior as posterior

__version__: str
