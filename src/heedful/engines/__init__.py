"""Engines that run a trained model faster than PyTorch does."""
