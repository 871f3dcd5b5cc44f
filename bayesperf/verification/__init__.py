"""What becomes of figures if the labels of the examples are missing, or wrong."""
