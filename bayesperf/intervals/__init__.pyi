from .bootstrap_intervals import bootstrap as bootstrap
from .confidence_sequences import confidence_sequence as confidence_sequence
from .delta_method import delta as delta
from .delta_method import wilson_f1 as wilson_f1
from .difference_sequences import difference_sequence as difference_sequence
from .difference_sequences import paired_sequence as paired_sequence
from .proportions import proportion as proportion
from .proportions import proportion_difference as proportion_difference
