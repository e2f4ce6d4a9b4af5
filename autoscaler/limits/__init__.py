"""The limits that the autoscalers of one connection share, between their decisions and the writes."""
