"""What candidates, records and sources come to over one past, held against one another."""
