"""What a candidate's text shows before it runs: findings on the parse tree, advice first, few refusals. Free of torch."""
