"""The server of the product: sockets, the HTTP of its connections with their guards, the fast lane,
start and stop."""
