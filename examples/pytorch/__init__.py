"""PyTorch on the device `rdna`: training, fine-tuning, generation, a spiking layer with kernels of its own (docs/pytorch.md)."""
