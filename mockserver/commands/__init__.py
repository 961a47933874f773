"""Commands of the command line beside those that run a server."""
