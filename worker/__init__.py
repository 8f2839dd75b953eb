"""The line itself: intake, dispatch, and the agent that works each alarm through to its order."""
