"""Instruments: a callable in, a number with its spread out. They know no op, no problem, no agent."""
