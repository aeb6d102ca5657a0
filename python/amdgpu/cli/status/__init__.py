"""Commands about this machine: overview, devices, pick, info, doctor."""
