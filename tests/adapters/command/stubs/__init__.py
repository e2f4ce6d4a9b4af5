"""Programs that stand for clouds' tools: each file says which documented answers it gives."""
