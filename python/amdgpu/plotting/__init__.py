"""Pictures of networks and their activity, drawn by matplotlib, which is imported when the first one is asked for."""
