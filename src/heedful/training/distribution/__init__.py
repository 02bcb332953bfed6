"""Training by several processes: who they are, what each of them does, and how PyTorch's wrappers hold the loss."""
