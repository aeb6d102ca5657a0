"""Tasks that spiking networks learn; what they reach is in docs/spiking_learning.md."""
