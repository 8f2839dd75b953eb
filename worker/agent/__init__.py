"""One alarm's run: a LangChain agent, the guard around its questions, the runbook in its place."""
