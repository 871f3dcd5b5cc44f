"""The report and the command line: they read files, call the library, and show what it says."""
