"""Expected performance curves: thresholds chosen on some examples, judged on others."""
