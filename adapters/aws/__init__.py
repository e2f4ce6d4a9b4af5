"""What the adapters of AWS share: requests, credentials, the request budget, errors and the memory of writes."""
