"""Judges: is an output right, and was it come by honestly?"""
