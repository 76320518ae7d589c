"""The command line: one module a subcommand, each with `configure(parser)` and `execute(options) -> status`."""
