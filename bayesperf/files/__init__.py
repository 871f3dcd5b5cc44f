"""Files of predictions as people have them: read, checked and counted."""
