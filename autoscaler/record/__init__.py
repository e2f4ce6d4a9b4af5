"""The durable state: what autoscalers remember, and the history of every decision with its reasons."""
