"""The scenario language: what the pretend providers, the network, the webhooks, the batches and the
clock do."""
