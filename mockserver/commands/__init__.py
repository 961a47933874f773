"""Commands of the command line beside those that run a server: one file each (docs/cli.md)."""
