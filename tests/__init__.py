"""The tests: unit mirrors the code, integration has real servers, e2e runs the whole line."""
