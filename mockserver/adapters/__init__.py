"""The edges that touch the outside: files, sockets, certificates, real time."""
