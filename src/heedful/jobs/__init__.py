"""Jobs over corpora: a verb done to many shards by many processes, each output exactly once."""
