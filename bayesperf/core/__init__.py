"""What every room builds on: checks of arguments, random streams, types of arrays, warnings."""
