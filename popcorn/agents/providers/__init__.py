"""Models that need no key and no network: scripted policies, replays of transcripts, the baselines. Needs Inspect."""
