"""A million inputs for every parser of foreign text: no crash, no hang, bounded memory."""
