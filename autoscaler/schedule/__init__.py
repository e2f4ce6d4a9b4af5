"""The schedule of cycles, on APScheduler, with one shard per part of an adapter connection."""
