"""What every room builds on: checks of arguments, random streams, array types, words of outputs, warnings."""
