"""The site: static pages made from tables and runs alone. Reads, never measures; free of torch."""
