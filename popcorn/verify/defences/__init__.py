"""One file a defence; each says what it catches and what it does not."""
