"""`alarm-worker eval`: how a model does with each layer around it, scenario by scenario."""
