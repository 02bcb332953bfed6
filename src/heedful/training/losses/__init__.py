"""What is minimised, one file for each kind of task, and the sums they are made of."""
