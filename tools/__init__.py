"""The four steps of an alarm, as LangChain tools that answer in a closed vocabulary of statuses."""
