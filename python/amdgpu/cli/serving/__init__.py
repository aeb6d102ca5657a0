"""Commands that show telemetry to others: serve, metrics."""
