"""The nouns. Frozen pydantic models: all that crosses a process or reaches a disk. Imports nothing of ours."""
