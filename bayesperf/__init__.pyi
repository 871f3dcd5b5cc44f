from . import datasets as datasets
from . import metrics as metrics
from . import models as models
from . import plots as plots
from . import prior as prior
from . import sequences as sequences
from . import studies as studies
from ._warnings import ConvergenceWarning as ConvergenceWarning
from ._warnings import DependenceWarning as DependenceWarning
from ._warnings import PriorWarning as PriorWarning
from .counts import ConfusionMatrix as ConfusionMatrix
from .marginals import Marginal as Marginal
from .metrics import score as score
from .paired import PairedConfusionMatrix as PairedConfusionMatrix
from .pooling import Pooled as Pooled
from .pooling import pool as pool
from .posterior import Posterior as Posterior
from .posterior import posterior as posterior
from .sampling import fit as fit
from .sensitivity import prior_sensitivity as prior_sensitivity

__version__: str
