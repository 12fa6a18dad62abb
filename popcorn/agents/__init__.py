"""Agents: any model in a tool loop, on Inspect. Only this package knows Inspect; nothing that judges kernels imports it."""
