"""Problems: each file readable alone."""
