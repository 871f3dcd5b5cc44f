from ._bootstrap import bootstrap as bootstrap
from ._delta import delta as delta
from ._delta import wilson_f1 as wilson_f1
from ._proportion import proportion as proportion
from ._proportion_difference import proportion_difference as proportion_difference
