"""Sweeps: a matrix becomes jobs with stable ids, an engine carries out those that are missing, records and runs stay where everybody looks for them.

matrix.py → jobs.py → plan.py → working.py (here, or as one of many workers) → records, runs, done.py
"""
