"""Types of the keys of the file, and expressions of PromQL: what the sections of `config` and of rules are made of."""
