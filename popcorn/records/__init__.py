"""Memory: JSONL written as each record is made, Parquet to read, DuckDB to ask."""
