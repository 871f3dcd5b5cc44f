"""Areas under ROC curves, and other scores that can be weighted."""
