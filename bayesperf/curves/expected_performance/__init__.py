"""Expected performance curves: thresholds chosen on some examples, tested on others."""
