"""Looking into a model: what it attends to, what it considered, what its parts are good for."""
