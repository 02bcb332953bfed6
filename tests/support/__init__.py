"""What several tests need: small models, corpora and runs, a scripted search, a client, a publisher."""
