"""The relational algebra of a model: one expression tree, one evaluator each for sets, bounds and solvers."""
