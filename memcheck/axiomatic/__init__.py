"""The engine: an event structure and a model to the set of allowed final states, with z3."""
