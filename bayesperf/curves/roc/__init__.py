"""ROC, precision–recall and DET curves with bands, and operating points on them."""
