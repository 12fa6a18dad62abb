"""The tools of an agent, one file each: plain asynchronous functions that know neither Inspect nor MCP."""
