"""Source text to a loadable kernel, for every language, cached by content."""
