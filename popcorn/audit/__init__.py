"""The audit: cheats that must be caught and honest candidates that must not be accused. Their files are texts to be judged; none is imported."""
