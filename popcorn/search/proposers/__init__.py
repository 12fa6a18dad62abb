"""Who makes new texts: scripted mutators, models, a replay, an endpoint. Each is a Proposer of asking.py."""
