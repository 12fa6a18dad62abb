"""The evaluation service: the same question over HTTP, for remote hardware and for training loops. Its client is popcorn.client."""
